// Checks the invariants of a conversation's summaries with plain SQL queries, and creates fake summarizers.

import { expect } from 'vitest'
import type { Deps } from '../../src/domain/deps.ts'
import type { SummarizerTurn, Summarizer } from '../../src/providers/ports/summarizer.ts'
import { SYSTEM } from '../../src/store/db/scope.ts'

type Turn = {
  id: string
  seq: number
  position: number
  status: string
  tokenCount: number
  audience: string[]
  supersededBy: string | null
  parts: unknown
}
type Part = { type: string; callId: string }

/**
 * Expects that each committed turn without audience is covered by exactly one current summary or follows all of them,
 * and that the journal's counters agree.
 */
export async function expectCovering({ db }: Deps, conversationId: string) {
  const turns = (await db
    .of(SYSTEM)
    .turn.findMany({ where: { conversationId }, orderBy: [{ position: 'asc' }, { seq: 'asc' }] })) as Turn[]
  const current = await db
    .of(SYSTEM)
    .summary.findMany({ where: { conversationId, supersededBy: null, stale: false }, orderBy: { fromPosition: 'asc' } })
  const journal = await db.of(SYSTEM).journal.findUniqueOrThrow({ where: { conversationId } })
  const publicTurns = turns.filter(({ audience, supersededBy }) => audience.length === 0 && supersededBy === null)
  const committed = publicTurns.filter(({ status }) => status === 'COMMITTED')
  const through = current.at(-1)?.toPosition ?? 0
  const summariesOf = (turn: Turn) =>
    current.filter(({ fromPosition, toPosition }) => fromPosition <= turn.position && turn.position <= toPosition)

  for (const turn of committed) {
    const coveredBy = summariesOf(turn)
    expect(coveredBy.length, `summaries that cover position ${turn.position}`).toBe(turn.position <= through ? 1 : 0)
    // The summary was created from this version, not from an older one.
    if (coveredBy[0]) expect(turn.seq).toBeLessThanOrEqual(coveredBy[0].newestSeq)
    if (coveredBy[0]) expect(turn.seq).toBeLessThan(coveredBy[0].seq)
  }
  for (const turn of publicTurns) if (turn.status === 'STREAMING') expect(turn.position).toBeGreaterThan(through)
  const covered = committed.filter(({ position }) => position <= through)
  expect(current.reduce((sum, { turns: n }) => sum + n, 0)).toBe(covered.length)
  expect({
    through: journal.summarizedThrough,
    turns: journal.summarizedTurns,
    tokens: Number(journal.summarizedTokens),
    all: journal.turnCount,
  }).toEqual({
    through,
    turns: covered.length,
    tokens: covered.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
    all: committed.length,
  })
  // A tool call and its result are covered by the same summaries.
  const callTurns = new Map<string, Turn>()
  for (const turn of committed) {
    const parts = (Array.isArray(turn.parts) ? turn.parts : []) as Part[]
    for (const { type, callId } of parts) {
      const callTurn = callTurns.get(callId)
      if (type === 'toolResult' && callTurn) {
        expect(summariesOf(callTurn).map(({ id }) => id)).toEqual(summariesOf(turn).map(({ id }) => id))
      }
      if (type === 'toolCall') callTurns.set(callId, turn)
    }
  }
  return { current, covered, uncovered: committed.filter(({ position }) => position > through), through }
}

/** A summarizer that records requests for summaries. Awaits `before`, which a test may replace, before each answer. */
export function createFakeSummarizer(model = 'fake') {
  const requests: { previous: string | null; turns: SummarizerTurn[]; maxTokens: number }[] = []
  const fake = {
    model,
    requests,
    before: async () => {},
    async summarize(request: { previous: string | null; turns: readonly SummarizerTurn[]; maxTokens: number }) {
      requests.push({ ...request, turns: [...request.turns] })
      await fake.before()
      return { content: `summary ${requests.length}`, model }
    },
    async title(turns: readonly SummarizerTurn[]): Promise<string | null> {
      await fake.before()
      return `title of ${turns.length} turns`
    },
    async close() {},
  }
  return fake satisfies Summarizer
}

/** Returns the deps with `summarizer` as the default, as `extractive`, and under the name of its model. */
export const withSummarizer = (deps: Deps, summarizer: Summarizer): Deps => ({
  ...deps,
  summarizers: {
    default: summarizer,
    byModel: new Map([
      ['extractive', summarizer],
      [summarizer.model, summarizer],
    ]),
    close: async () => {},
  },
})
