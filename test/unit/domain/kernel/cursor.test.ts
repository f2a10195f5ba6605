// Opaque cursors: each format decodes its own cursors, and rejects all others with an error that names the argument.
// No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cursorFormat } from '../../../../src/domain/kernel/cursor.ts'
import { InvalidInput } from '../../../../src/errors.ts'

type Position = { shelf: number; name: string }

const books = cursorFormat<Position>(
  ({ shelf, name }) => `book:${shelf}:${name}`,
  /^book:(\d{1,10}):(\w{1,8})$/,
  (shelf, name) => (Number(shelf) < 2 ** 31 ? { shelf: Number(shelf), name } : null),
)
const maps = cursorFormat<Position>(
  ({ shelf, name }) => `map:${shelf}:${name}`,
  /^map:(\d{1,10}):(\w{1,8})$/,
  (shelf, name) => ({ shelf: Number(shelf), name }),
  'the list of maps',
)

const positions = fc.record({ shelf: fc.nat(2 ** 31 - 1), name: fc.stringMatching(/^\w{1,8}$/) })
const base64url = (text: string) => Buffer.from(text).toString('base64url')

describe('a cursor', () => {
  it('decodes to the position it encodes', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(books.decode(books.encode(position), 'after')).toEqual(position)
      }),
    )
  })

  it('needs no escaping in a URL', () => {
    fc.assert(
      fc.property(positions, (position) => {
        const cursor = books.encode(position)
        expect(encodeURIComponent(cursor)).toBe(cursor)
      }),
    )
  })

  it('is rejected with InvalidInput, naming the argument, if no position encodes to it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string().map(base64url)), (text) => {
        const decoded = Buffer.from(text, 'base64url').toString()
        fc.pre(!decoded.startsWith('book:'))
        expect(() => books.decode(text, 'before')).toThrow(
          new InvalidInput([{ path: ['before'], message: `${JSON.stringify(text)} is not a cursor of this list` }]),
        )
      }),
    )
  })

  it.each(['book:1:', 'book:-1:a', 'book:1:a:b', 'a book:1:a', `book:${2 ** 31}:a`, 'book:1:a\n'])(
    'is rejected with InvalidInput if it contains %j',
    (decoded) => {
      expect(() => books.decode(base64url(decoded), 'after')).toThrow(InvalidInput)
    },
  )

  it('of one list is rejected by another list, whose error names that other list', () => {
    const cursor = books.encode({ shelf: 1, name: 'a' })
    expect(() => maps.decode(cursor, 'after')).toThrow(`after: "${cursor}" is not a cursor of the list of maps`)
  })
})
