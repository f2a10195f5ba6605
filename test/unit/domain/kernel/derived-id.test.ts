// Ids that encode the key of an object without an id column: a participant, profile, job or viewer.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { derivedId, derivedKey, type DerivedKey } from '../../../../src/domain/kernel/derived-id.ts'
import { kindOf, newId } from '../../../../src/domain/kernel/id.ts'

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 }).filter((text) => text.isWellFormed())
const key: fc.Arbitrary<DerivedKey> = fc.oneof(
  fc.record({
    kind: fc.constant('participant' as const),
    conversationId: fc.constant(0).map(() => newId('conversation')),
    actor: name,
  }),
  fc.record({ kind: fc.constant('profile' as const), tenant: name, userId: name }),
  fc.record({ kind: fc.constant('viewer' as const), tenant: name, actor: name }),
  fc.record({ kind: fc.constant('job' as const), jobId: fc.uuid() }),
)

describe('a derived id', () => {
  it('decodes to the key that it was made from', () => {
    fc.assert(
      fc.property(key, (given) => {
        expect(derivedKey(derivedId(given))).toEqual({ ...given })
      }),
    )
  })

  it('differs for different keys, and is no id of another kind', () => {
    fc.assert(
      fc.property(key, key, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other))
        expect(derivedId(one)).not.toBe(derivedId(other))
        expect(kindOf(derivedId(one))).toBeNull()
      }),
    )
  })

  it('decodes from one spelling only', () => {
    const id = derivedId({ kind: 'viewer', tenant: 'acme', actor: 'ada' })
    expect(derivedKey(id)).toEqual({ kind: 'viewer', tenant: 'acme', actor: 'ada' })
    expect(derivedKey(`${id.slice(0, -1)}B`)).not.toEqual(derivedKey(id))
  })

  it.each(['', 'part_', 'part_x.YWRh', 'prof_YQ', 'view_YQ.b!', 'job_1', 'turn_x', newId('turn')])(
    'cannot be %j',
    (text) => {
      expect(derivedKey(text)).toBeNull()
    },
  )
})
