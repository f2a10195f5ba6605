// JSON Merge Patch: the examples of RFC 7396 in which target and patch are objects, the key __proto__, and idempotence.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergePatch } from '../../../../src/domain/kernel/merge-patch.ts'

describe('mergePatch', () => {
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('merges %j and %j into %j', (target, patch, merged) => {
    const before = JSON.stringify([target, patch])
    expect(mergePatch(target, patch)).toEqual(merged)
    expect(JSON.stringify([target, patch])).toBe(before)
  })

  it('stores every key as data, __proto__ included', () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, unknown>
    const merged = mergePatch({}, patch)
    expect(Object.keys(merged)).toEqual(['__proto__'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('applied twice changes nothing more', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<Record<string, unknown>>
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const once = mergePatch(target, patch)
        expect(mergePatch(once, patch)).toEqual(once)
      }),
    )
  })
})
