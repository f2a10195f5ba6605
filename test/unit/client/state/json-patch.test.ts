// The client's patches come to the same as those of the server, and of another implementation, and change no value.

import fc from 'fast-check'
import { applyPatch as applyOther } from 'rfc6902'
import { expect, it } from 'vitest'
import { applyMerge, applyPatch } from '../../../../src/client/state/json-patch.ts'
import { applyPatch as applyOnServer, patchBetween, type Operation } from '../../../../src/domain/kernel/json-patch.ts'
import { mergePatch } from '../../../../src/domain/kernel/merge-patch.ts'
import { casesOf } from '../../../support/long.ts'

const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const KEYS = ['a', 'b', 'c/d', '~e', '~1', '', 'length', '0']
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(null, true, 0, 1, 'a', '~/'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value
const pointer = fc
  .array(fc.constantFrom('a', 'b', 'c~1d', '~0e', '~01', '', '0', '1', '-'), { maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token}`).join(''))
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ op: fc.constantFrom('add' as const, 'replace' as const, 'test' as const), path: pointer, value: json }),
  fc.record({ op: fc.constant('remove' as const), path: pointer }),
  fc.record({ op: fc.constantFrom('move' as const, 'copy' as const), path: pointer, from: pointer }),
)

it('a patch that the server applies has the same result, and leaves the value as it was', () => {
  let applied = 0
  fc.assert(
    fc.property(json, fc.array(operation, { minLength: 1, maxLength: 3 }), (value, operations) => {
      const result = applyOnServer(clone(value), operations, 10_000)
      if (!('value' in result)) return
      applied += 1
      const before = clone(value)
      expect(clone(applyPatch(value, operations))).toEqual(clone(result.value))
      expect(value).toEqual(before)
    }),
    { numRuns: casesOf(40_000) },
  )
  expect(applied).toBeGreaterThan(casesOf(1_000))
})

it('a patch between two values has the same result, also by rfc6902', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const patch = patchBetween(before, after, 10_000)
      expect(clone(applyPatch(before, patch))).toEqual(after)
      const document = { root: clone(before) }
      applyOther(document, patch.map((each) => ({ ...each, path: `/root${each.path}` })) as never)
      expect(document.root).toEqual(after)
    }),
    { numRuns: casesOf(40_000) },
  )
})

it('a merge patch has the same result', () => {
  const object = fc.dictionary(fc.constantFrom(...KEYS), json, { noNullPrototype: true })
  fc.assert(
    fc.property(object, object, (value, merge) => {
      expect(applyMerge(value, merge)).toEqual(mergePatch(value, merge))
    }),
    { numRuns: casesOf(20_000) },
  )
})

it.each<[Operation, unknown]>([
  [{ op: 'remove', path: '/a' }, {}],
  [{ op: 'replace', path: '/0', value: 1 }, []],
  [{ op: 'add', path: '/a/b', value: 1 }, { a: 'text' }],
  [{ op: 'copy', from: '/length', path: '/0' }, [1]],
  [{ op: 'test', path: '/toString', value: 1 }, {}],
])('%j of %j throws', (given, value) => {
  expect(() => applyPatch(value, [given])).toThrow(TypeError)
})
