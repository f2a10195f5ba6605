// JSON Patches: the operations of RFC 6902, the faults of hostile ones, and patches between values, compared with another
// implementation.

import fc from 'fast-check'
import { applyPatch as applyOther, Pointer } from 'rfc6902'
import { describe, expect, it } from 'vitest'
import { applyPatch, patchBetween, type Operation } from '../../../../src/domain/kernel/json-patch.ts'
import { casesOf } from '../../../support/long.ts'

const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const replaced = (value: unknown): Operation[] => [{ op: 'replace', path: '', value }]
const apply = (value: unknown, ...operations: Operation[]) => applyPatch(clone(value), operations, 1_000)

describe('an operation', () => {
  it.each<[string, unknown, Operation, unknown]>([
    ['adds a member', { a: 1 }, { op: 'add', path: '/b', value: [2] }, { a: 1, b: [2] }],
    ['replaces a member by adding it', { a: 1 }, { op: 'add', path: '/a', value: null }, { a: null }],
    ['inserts an item', [1, 3], { op: 'add', path: '/1', value: 2 }, [1, 2, 3]],
    ['appends an item', { a: [1] }, { op: 'add', path: '/a/-', value: 2 }, { a: [1, 2] }],
    ['replaces the root', { a: 1 }, { op: 'replace', path: '', value: 7 }, 7],
    ['removes an item', [1, 2, 3], { op: 'remove', path: '/1' }, [1, 3]],
    ['removes a member that is null', { a: null }, { op: 'remove', path: '/a' }, {}],
    ['replaces an item', [1, 2], { op: 'replace', path: '/0', value: 0 }, [0, 2]],
    ['moves a member', { a: { b: 1 } }, { op: 'move', from: '/a/b', path: '/c' }, { a: {}, c: 1 }],
    ['moves an item', [1, 2, 3], { op: 'move', from: '/0', path: '/2' }, [2, 3, 1]],
    ['copies a member', { a: [1] }, { op: 'copy', from: '/a', path: '/b' }, { a: [1], b: [1] }],
    [
      'tests without regard to the order of keys',
      { a: { b: 1, c: 2 } },
      { op: 'test', path: '/a', value: { c: 2, b: 1 } },
      { a: { b: 1, c: 2 } },
    ],
    [
      'reads the escapes of pointers',
      { 'a/b': { '~1': 1 } },
      { op: 'replace', path: '/a~1b/~01', value: 2 },
      { 'a/b': { '~1': 2 } },
    ],
    ['reads the empty key', { '': 1 }, { op: 'replace', path: '/', value: 2 }, { '': 2 }],
    ['adds a member with an inherited name', {}, { op: 'add', path: '/toString', value: 1 }, { toString: 1 }],
  ])('%s', (_, before, operation, after) => {
    expect(apply(before, operation)).toEqual({ value: after })
  })

  it.each<[string, unknown, Operation, RegExp]>([
    ['below a missing member', {}, { op: 'add', path: '/a/b', value: 1 }, /no value at "\/a"/],
    ['below a text', { a: 'text' }, { op: 'add', path: '/a/length', value: 1 }, /no value at "\/a"/],
    ['that removes a missing member', {}, { op: 'remove', path: '/a' }, /no value at "\/a"/],
    ['that replaces a missing member', {}, { op: 'replace', path: '/a', value: 1 }, /no value at "\/a"/],
    ['that reads an inherited property', {}, { op: 'copy', from: '/toString', path: '/a' }, /no value/],
    ['that tests an inherited property', [], { op: 'test', path: '/length', value: 0 }, /no value/],
    [
      'beyond the end of a list',
      [1],
      { op: 'add', path: '/3', value: 1 },
      /not an index of the list, which has 1 items/,
    ],
    ['at a huge index', { items: [] }, { op: 'add', path: '/items/4294967295', value: 1 }, /not an index/],
    ['at an index with a leading zero', [1], { op: 'replace', path: '/00', value: 1 }, /no value/],
    ['that replaces the end of a list', [1], { op: 'replace', path: '/-', value: 1 }, /no value/],
    ['that removes the root', {}, { op: 'remove', path: '' }, /root cannot be removed/],
    ['that moves a value into itself', { a: {} }, { op: 'move', from: '/a', path: '/a/b' }, /into itself/],
    ['without a value', {}, { op: 'add', path: '/a' }, /needs `value`/],
    ['without from', {}, { op: 'copy', path: '/a' }, /needs `from`/],
    ['with a malformed pointer', {}, { op: 'add', path: 'a', value: 1 }, /not a JSON Pointer/],
    ['with a malformed escape', {}, { op: 'add', path: '/~2', value: 1 }, /not a JSON Pointer/],
    ['with the key __proto__', {}, { op: 'add', path: '/__proto__/x', value: 1 }, /__proto__/],
  ])('%s is a fault', (_, before, operation, message) => {
    const [, result] = [apply(before), apply(before, { op: 'test', path: '', value: before }, operation)]
    expect(result).toMatchObject({ fault: { index: 1, kind: 'INVALID', message: expect.stringMatching(message) } })
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('that fails a test is a fault of its own kind', () => {
    expect(apply({ a: 1 }, { op: 'test', path: '/a', value: '1' })).toMatchObject({ fault: { index: 0, kind: 'TEST' } })
  })

  it('fails a test of a value that is deeper than any stack', () => {
    const operations: Operation[] = [{ op: 'add', path: '/t', value: [] }]
    for (let n = 0; n < 20_000; n++) {
      operations.push({ op: 'add', path: '/u', value: [] }, { op: 'move', from: '/t', path: '/u/0' })
      operations.push({ op: 'move', from: '/u', path: '/t' })
    }
    const [before, test] = [operations.length, { op: 'test' as const, path: '/t', value: [[[]]] }]
    expect(applyPatch({}, [...operations, test], 0)).toMatchObject({ fault: { index: before, kind: 'TEST' } })
  })

  it('cannot compare more than a budget, however many tests it has', () => {
    const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, n]))
    const result = applyPatch({ many }, Array<Operation>(100).fill({ op: 'test', path: '/many', value: many }), 0)
    expect(result).toMatchObject({ fault: { kind: 'INVALID', message: expect.stringMatching(/compare too much/) } })
  })

  it('cannot copy more than the limit, however often it doubles a value', () => {
    const double: Operation = { op: 'copy', from: '/a', path: '/a/-' }
    const result = applyPatch({ a: ['text'] }, Array<Operation>(1_000).fill(double), 10_000)
    expect(result).toMatchObject({ fault: { kind: 'INVALID', message: expect.stringMatching(/copy too much/) } })
    expect((result as { fault: { index: number } }).fault.index).toBeLessThan(20)
  })

  it('does not share a value with another place, or with the operations', () => {
    const operations: Operation[] = [
      { op: 'add', path: '/a', value: [] },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/a/-', value: 1 },
    ]
    expect(applyPatch({}, operations, 100)).toEqual({ value: { a: [1], b: [] } })
    expect(operations[0]!.value).toEqual([])
  })
})

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(fc.constantFrom(null, true, 0, 1, 2, '', 'a', '~/')),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c/d', '~e', ''), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value
const pointer = fc
  .array(fc.constantFrom('a', 'b', 'c~1d', '~0e', '', '0', '1', '2', '-'), { maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token}`).join(''))
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add' as const, 'replace' as const, 'test' as const), path: pointer, value: json }),
  fc.record({ op: fc.constant('remove' as const), path: pointer }),
  fc.record({ op: fc.constantFrom('move' as const, 'copy' as const), path: pointer, from: pointer }),
)

/**
 * Applies an operation by rfc6902, in which the value is below a root that it cannot replace; null for a fault. It looks up
 * the target of a move before it removes the value, so a move is two operations, as RFC 6902 defines it.
 */
function byOther(value: unknown, { op, path, from, value: added }: Operation): { value: unknown } | null {
  const document = { root: clone(value) }
  const moved = op === 'move' ? Pointer.fromJSON(`/root${from}`).get(document) : added
  const operations =
    op === 'move' && from !== path
      ? [
          { op: 'remove', path: `/root${from}` },
          { op: 'add', path: `/root${path}`, value: moved },
        ]
      : [{ op, path: `/root${path}`, from: `/root${from}`, value: added }]
  const faults = applyOther(document, operations as never)
  return faults.every((fault) => fault === null) ? { value: document.root } : null
}

describe('applying a patch', () => {
  it('agrees with rfc6902, which applies some more operations than RFC 6902 permits', () => {
    fc.assert(
      fc.property(json, operation, (value, given) => {
        const own = applyPatch(clone(value), [given], 10_000)
        if (!('value' in own)) return
        const other = byOther(value, given)
        expect(other).toEqual({ value: own.value })
      }),
      { numRuns: casesOf(40_000) },
    )
  })
})

describe('the patch between two values', () => {
  it('changes one into the other, by both implementations', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const patch = patchBetween(before, after, 10_000)
        expect(applyPatch(clone(before), patch, 0)).toEqual({ value: after })
        let other: unknown = clone(before)
        for (const each of patch) other = byOther(other, each)!.value
        expect(other).toEqual(after)
        const { length } = JSON.stringify(patch)
        expect(length).toBeLessThanOrEqual(JSON.stringify(replaced(after)).length)
        // The limit is exact.
        expect(patchBetween(before, after, length)).toEqual(patch)
        if (patch.length > 0) expect(patchBetween(before, after, length - 1)).toEqual(replaced(after))
      }),
      { numRuns: casesOf(40_000) },
    )
  })

  it('names only what differs, and is empty for equal values', () => {
    const items = Array.from({ length: 500 }, (_, id) => ({ id, title: `item ${id}` }))
    const between = (after: unknown[]) => patchBetween({ items, a: 1 }, { items: after, a: 1 }, 1_000)
    expect(between(clone(items))).toEqual([])
    expect(between([...items.slice(0, 7), { id: -1 }, ...items.slice(7)])).toEqual([
      { op: 'add', path: '/items/7', value: { id: -1 } },
    ])
    expect(between(items.toSpliced(3, 1))).toEqual([{ op: 'remove', path: '/items/3' }])
    expect(between(items.with(9, { id: 9, title: 'new' }))).toEqual([
      { op: 'replace', path: '/items/9/title', value: 'new' },
    ])
  })

  it('replaces the root if that is shorter', () => {
    const numbers = Array.from({ length: 50 }, (_, n) => n)
    expect(patchBetween(numbers, ['x'], 10_000)).toEqual(replaced(['x']))
  })

  it('replaces the root instead of repeating a long path for each of many items', () => {
    const key = 'k'.repeat(60_000)
    const valueOf = (item: number) => ({ [key]: new Proxy(Array<number>(60_000).fill(item), reads) })
    const read: unknown[] = []
    const reads: ProxyHandler<number[]> = {
      get(items, name) {
        read.push(name)
        return Reflect.get(items, name)
      },
    }
    const after = valueOf(2)
    const [whole, ...others] = patchBetween(valueOf(1), after, 32_768)
    expect([whole!.path, whole!.value === after, others]).toEqual(['', true, []])
    // One reading to print the value, and none after the first operation, which is too large already.
    expect(read.length).toBeLessThan(60_100)
  })

  it('reads what many lists contain once for each value, not once for each list', () => {
    let reads = 0
    const counted = (last: number) => {
      const items = {}
      const get = () => void ++reads
      for (let n = 0; n < 1_000; n++) Object.defineProperty(items, `k${n}`, { enumerable: true, get })
      return Object.assign(items, { last })
    }
    const nested = (levels: number, item: unknown): unknown => (levels === 0 ? item : [0, nested(levels - 1, item)])
    const after = nested(60, counted(1))
    expect(patchBetween(nested(60, counted(2)), after, 1_000)).toEqual([
      { op: 'replace', path: `${'/1'.repeat(60)}/last`, value: 1 },
    ])
    // Printed once, and compared once on each side.
    expect(reads).toBe(3_000)
  })

  it('replaces the root of values that are too large to compare', () => {
    const items = Array<number>(600_000).fill(1)
    const after = [...items, 2]
    expect(patchBetween(items, after, 1_000)).toEqual(replaced(after))
  })
})
