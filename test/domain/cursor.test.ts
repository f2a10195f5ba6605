// Opaque cursors: each format decodes what it encodes, and refuses everything else, naming the argument. No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cursorFormat } from '../../src/domain/cursor.ts'
import { InvalidInput } from '../../src/errors.ts'

type Place = { shelf: number; name: string }

const books = cursorFormat<Place>(
  ({ shelf, name }) => `book:${shelf}:${name}`,
  /^book:(\d{1,10}):(\w{1,8})$/,
  (shelf, name) => (Number(shelf) < 2 ** 31 ? { shelf: Number(shelf), name } : null),
)
const maps = cursorFormat<Place>(
  ({ shelf, name }) => `map:${shelf}:${name}`,
  /^map:(\d{1,10}):(\w{1,8})$/,
  (shelf, name) => ({ shelf: Number(shelf), name }),
  'the list of maps',
)

const places = fc.record({ shelf: fc.nat(2 ** 31 - 1), name: fc.stringMatching(/^\w{1,8}$/) })
const base64url = (text: string) => Buffer.from(text).toString('base64url')

describe('a cursor', () => {
  it('decodes to the position it encodes', () => {
    fc.assert(
      fc.property(places, (place) => {
        expect(books.decode(books.encode(place), 'after')).toEqual(place)
      }),
    )
  })

  it('needs no escaping in a URL', () => {
    fc.assert(
      fc.property(places, (place) => {
        const cursor = books.encode(place)
        expect(encodeURIComponent(cursor)).toBe(cursor)
      }),
    )
  })

  it('is InvalidInput, naming the argument, for any text that no position encodes to', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string().map(base64url)), (text) => {
        const printed = Buffer.from(text, 'base64url').toString()
        fc.pre(!printed.startsWith('book:'))
        expect(() => books.decode(text, 'before')).toThrow(
          new InvalidInput([{ path: ['before'], message: `${JSON.stringify(text)} is not a cursor of this list` }]),
        )
      }),
    )
  })

  it.each(['book:1:', 'book:-1:a', 'book:1:a:b', 'a book:1:a', `book:${2 ** 31}:a`, 'book:1:a\n'])(
    'is InvalidInput if it decodes to %j',
    (printed) => {
      expect(() => books.decode(base64url(printed), 'after')).toThrow(InvalidInput)
    },
  )

  it('of one list is refused by another list, which names itself', () => {
    const cursor = books.encode({ shelf: 1, name: 'a' })
    expect(() => maps.decode(cursor, 'after')).toThrow(`after: "${cursor}" is not a cursor of the list of maps`)
  })
})
