// The outcomes of the actions of the panel, in words.

import { describe, expect, it } from 'vitest'
import type { Participant } from '../../../../src/client/index.ts'
import { formatNumber, percentOf } from '../../../../src/web/kit/text.ts'
import {
  compactedText,
  extractedText,
  isPresent,
  planText,
  policyText,
  reconciledText,
  refusalOf,
} from '../../../../src/web/memory/outcome.ts'

describe('refusalOf', () => {
  it.each([
    [['READ', 'WRITE'], true, null],
    [['READ', 'WRITE', 'MANAGE'], false, null],
    [['READ', 'WRITE'], false, 'Changing the memory needs a participant of the conversation, or the right manage.'],
    [['READ'], true, 'Changing the memory needs the right write.'],
    [['READ', 'MANAGE'], true, 'Changing the memory needs the right write.'],
  ])('with %j and presence %j', (rights, isPresent, expected) =>
    expect(refusalOf({ rights }, isPresent)).toBe(expected),
  )
})

it.each([
  ['is present', 'ada', [{ actor: 'ada', leftAt: null }], true],
  ['has left', 'ada', [{ actor: 'ada', leftAt: '2026-01-01T00:00:00Z' }], false],
  ['is not among the participants that were read', 'ada', [{ actor: 'ben', leftAt: null }], true],
  ['never joined', null, [{ actor: 'ada', leftAt: null }], false],
])('a viewer that %s', (_, viewer, participants, expected) =>
  expect(isPresent({ viewer, participants: participants as Participant[] })).toBe(expected),
)

describe('planText', () => {
  it.each([
    [{ candidates: 1, vectorSearch: 'EXACT', reranked: 0 }, '1 memory ranked, all vectors compared.'],
    [{ candidates: 9, vectorSearch: 'NONE', reranked: 0 }, '9 memories ranked, found by words only.'],
    [
      { candidates: 9, vectorSearch: 'APPROXIMATE', reranked: 5 },
      '9 memories ranked, their vectors found by an index, 5 of them scored by the reranker.',
    ],
  ] as const)('of %j', (plan, expected) => expect(planText(plan)).toBe(expected))
})

describe('extractedText', () => {
  it.each([
    [{ facts: [], hasMore: false }, 'No new facts were found.'],
    [{ facts: [1], hasMore: false }, '1 new fact found.'],
    [{ facts: [1, 2], hasMore: true }, '2 new facts found. Some turns are not read yet: extract again to continue.'],
  ])('of %j', (outcome, expected) => expect(extractedText(outcome)).toBe(expected))
})

describe('reconciledText', () => {
  it.each([
    [{ merged: 0, contradicted: 0, kept: 4 }, 'No duplicates or contradictions among 4 facts.'],
    [{ merged: 1, contradicted: 2, kept: 3 }, '1 merged from duplicates, 2 contradicted, 3 kept.'],
  ])('of %j', (outcome, expected) => expect(reconciledText(outcome)).toBe(expected))
})

describe('compactedText', () => {
  const compacted = { summaries: [1], turnsCovered: 30, tokensBefore: 800, tokensAfter: 200 }
  it.each([
    [{}, `30 turns summarised: 800 tokens before, 200 after (${percentOf(-0.75)}).`],
    [{ turnsCovered: 0, tokensAfter: 800 }, 'There was nothing to compact.'],
    [{ turnsCovered: null, tokensBefore: null, tokensAfter: null }, '1 summary written.'],
    [{ summaries: [], turnsCovered: null, tokensBefore: null, tokensAfter: null }, 'Compacted.'],
  ])('of %j', (changes, expected) => expect(compactedText({ ...compacted, ...changes })).toBe(expected))
})

describe('policyText', () => {
  const policy = { strategy: 'ROLLING', triggerTurns: 50, triggerTokens: 800, summarizerModel: 'extractive' } as const
  it.each([
    [{}, 'Written from sentences of the turns when 50 turns or 800 tokens are not summarised.'],
    [
      { summarizerModel: 'a/b', triggerTokens: 8_000 },
      `Written by a/b when 50 turns or ${formatNumber(8_000)} tokens are not summarised.`,
    ],
    [{ strategy: 'NEVER' as const }, 'Summaries are written on request only, from sentences of the turns.'],
  ])('of %j', (changes, expected) => expect(policyText({ ...policy, ...changes })).toBe(expected))
})
