// The history of facts.

import { describe, expect, it } from 'vitest'
import { dateOf } from '../../../../src/web/kit/text.ts'
import { historyOf, periodText, supersededText } from '../../../../src/web/memory/history.ts'
import type { FactDetails } from '../../../../src/web/memory/queries.ts'
import { factOf } from './facts.ts'

const at = (hour: number) => `2026-05-01T${String(hour).padStart(2, '0')}:30:00.000Z`
const paris = { id: 'f2', subject: 'Ada', predicate: 'lives in', object: 'Paris' }

describe('historyOf', () => {
  it.each<[string, Partial<FactDetails>[], string[]]>([
    ['no facts', [], []],
    [
      'events, oldest first, of a subject in any case',
      [
        { id: 'b', subject: 'ADA', observedAt: at(9) },
        { id: 'a', subject: 'Ada', observedAt: at(8), supersededAt: at(9) },
      ],
      ['ADA: a stated, b stated, a superseded'],
    ],
    [
      'a fact that was made active again',
      [{ id: 'a', observedAt: at(8), restoredAt: at(10) }],
      ['Ada: a stated, a restored'],
    ],
    [
      'a fact that was restored, and superseded once more',
      [{ id: 'a', observedAt: at(8), restoredAt: at(10), supersededAt: at(11) }],
      ['Ada: a stated, a restored, a superseded'],
    ],
    [
      'the subject with the newest event first',
      [
        { id: 'a', subject: 'Ada', observedAt: at(9) },
        { id: 'b', subject: 'Ben', observedAt: at(8), supersededAt: at(10) },
      ],
      ['Ben: b stated, b superseded', 'Ada: a stated'],
    ],
  ])('returns %s', (_, facts, expected) => {
    const histories = historyOf(facts.map(factOf))
    const texts = histories.map(
      ({ subject, events }) => `${subject}: ${events.map(({ fact, kind }) => `${fact.id} ${kind}`).join(', ')}`,
    )
    expect(texts).toEqual(expected)
  })
})

describe('supersededText', () => {
  it.each<[Partial<FactDetails>, string | null]>([
    [{}, null],
    [{ supersedeReason: 'CONTRADICTED', supersededBy: paris }, 'Contradicted by “Ada lives in Paris”'],
    [{ supersedeReason: 'CONTRADICTED' }, 'Contradicted by a fact that is not visible'],
    [{ supersedeReason: 'DUPLICATED', supersededBy: paris }, 'Merged into “Ada lives in Paris”'],
    [{ supersedeReason: 'RETRACTED' }, 'Retracted'],
    [{ supersedeReason: 'RETRACTED', supersedeNote: 'a joke' }, 'Retracted: a joke'],
    [{ supersedeReason: 'UNDONE', supersedeNote: 'two people' }, 'The merge was undone: two people'],
    [{ supersedeReason: 'UPDATED' }, 'The turn that stated it was edited'],
  ])('of %j is %j', (fields, text) => expect(supersededText(factOf(fields))).toBe(text))
})

describe('periodText', () => {
  const noon = '2026-05-01T12:34:56.000Z'
  const day = new Date('2026-05-01T00:00:00Z').toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
  it.each([
    [null, null, null],
    [noon, null, `since ${dateOf(noon)}`],
    [null, noon, `until ${dateOf(noon)}`],
    ['2026-05-01T00:00:00.000Z', noon, `${day} to ${dateOf(noon)}`],
  ])('from %j to %j is %j', (validFrom, validTo, text) => expect(periodText({ validFrom, validTo })).toBe(text))
})
