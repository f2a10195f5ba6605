// Relay's paging arguments: parsing, validation, and pages built from rows. No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { paging, slice, type PageRequest, type Paging } from '../../../../src/domain/kernel/page.ts'
import { InvalidInput } from '../../../../src/errors.ts'

describe('paging', () => {
  const none = { after: null, before: null }
  it.each<[Paging, limit: number, PageRequest]>([
    [{}, 200, { size: 50, backwards: false, ...none }],
    [{}, 10, { size: 10, backwards: false, ...none }],
    [{ first: null, last: null, after: null, before: undefined }, 200, { size: 50, backwards: false, ...none }],
    [{ first: 0 }, 200, { size: 0, backwards: false, ...none }],
    [{ first: 200 }, 200, { size: 200, backwards: false, ...none }],
    [{ last: 7 }, 200, { size: 7, backwards: true, ...none }],
    [{ last: 0 }, 200, { size: 0, backwards: true, ...none }],
    [{ first: 3, after: 'a', before: 'b' }, 200, { size: 3, backwards: false, after: 'a', before: 'b' }],
    [{ last: 3, before: 'b' }, 200, { size: 3, backwards: true, after: null, before: 'b' }],
    [{ after: '' }, 200, { size: 50, backwards: false, after: '', before: null }],
  ])('with %j and a limit of %d reads %j', (args, limit, request) => {
    expect(paging(args, limit)).toEqual(request)
  })

  it.each<[Paging, string]>([
    [{ first: -1 }, 'first: is -1; it must be 0 to 200'],
    [{ first: 201 }, 'first: is 201; it must be 0 to 200'],
    [{ last: -1 }, 'last: is -1; it must be 0 to 200'],
    [{ last: 201 }, 'last: is 201; it must be 0 to 200'],
    [{ first: 1.5 }, 'first: is 1.5; it must be 0 to 200'],
    [{ last: NaN }, 'last: is NaN; it must be 0 to 200'],
    [{ first: Infinity }, 'first: is Infinity; it must be 0 to 200'],
    [{ first: 1, last: 1 }, 'last: give first or last, not both'],
    [{ first: 0, last: 0 }, 'last: give first or last, not both'],
  ])('with %j is rejected', (args, message) => {
    expect(() => paging(args, 200)).toThrow(InvalidInput)
    expect(() => paging(args, 200)).toThrow(message)
  })
})

describe('slice', () => {
  const list = fc.uniqueArray(fc.nat(100), { maxLength: 12 }).map((all) => all.sort((a, b) => a - b))

  it("turns one row more than requested into a page in the list's order, and reports whether more follow", () => {
    fc.assert(
      fc.property(
        list,
        fc.nat(12),
        fc.boolean(),
        fc.option(fc.constant('a')),
        fc.option(fc.constant('b')),
        (all, size, backwards, after, before) => {
          const read = (backwards ? all.toReversed() : all).slice(0, size + 1)
          const page = slice([...read], { size, backwards, after, before })
          expect(page.items).toEqual(backwards ? all.slice(Math.max(0, all.length - size)) : all.slice(0, size))
          const more = all.length > size
          expect(backwards ? page.hasPreviousPage : page.hasNextPage).toBe(more)
          expect(backwards ? page.hasNextPage : page.hasPreviousPage).toBe((backwards ? before : after) !== null)
        },
      ),
    )
  })
})
