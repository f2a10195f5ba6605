// The invariants of a conversation's summaries, checked by plain queries.

import { expect } from 'vitest'
import type { Deps } from '../../src/domain/deps.ts'
import type { Said, Summarizer } from '../../src/providers/ports/summarizer.ts'

type Turn = {
  id: string
  seq: number
  rootSeq: number
  status: string
  tokenCount: number
  audience: string[]
  supersededBy: string | null
  parts: unknown
}
type Part = { type: string; callId: string }

/** Every committed turn without audience is covered by exactly one current summary or follows all of them. */
export async function expectCovering({ db }: Deps, conversationId: string) {
  const turns = (await db.turn.findMany({
    where: { conversationId },
    orderBy: [{ rootSeq: 'asc' }, { seq: 'asc' }],
  })) as Turn[]
  const current = await db.summary.findMany({
    where: { conversationId, supersededBy: null, stale: false },
    orderBy: { fromSeq: 'asc' },
  })
  const journal = await db.journal.findUniqueOrThrow({ where: { conversationId } })
  const open = turns.filter(({ audience, supersededBy }) => audience.length === 0 && supersededBy === null)
  const committed = open.filter(({ status }) => status === 'COMMITTED')
  const through = current.at(-1)?.toSeq ?? 0
  const coverers = (turn: Turn) =>
    current.filter(({ fromSeq, toSeq }) => fromSeq <= turn.rootSeq && turn.rootSeq <= toSeq)

  for (const turn of committed) {
    const by = coverers(turn)
    expect(by.length, `summaries over ${turn.rootSeq}`).toBe(turn.rootSeq <= through ? 1 : 0)
    // The summary covers this very version.
    if (by[0]) expect(turn.seq).toBeLessThanOrEqual(by[0].newestSeq)
    if (by[0]) expect(turn.seq).toBeLessThan(by[0].seq)
  }
  for (const turn of open) if (turn.status === 'STREAMING') expect(turn.rootSeq).toBeGreaterThan(through)
  const covered = committed.filter(({ rootSeq }) => rootSeq <= through)
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
  // A call is on the same side of every boundary as its result.
  const makers = new Map<string, Turn>()
  for (const turn of committed) {
    const parts = (Array.isArray(turn.parts) ? turn.parts : []) as Part[]
    for (const { type, callId } of parts) {
      const maker = makers.get(callId)
      if (type === 'toolResult' && maker) {
        expect(coverers(maker).map(({ id }) => id)).toEqual(coverers(turn).map(({ id }) => id))
      }
      if (type === 'toolCall') makers.set(callId, turn)
    }
  }
  return { current, covered, standing: committed.filter(({ rootSeq }) => rootSeq > through), through }
}

/** A summarizer that records its requests, and runs a test's callback before it answers. */
export function createFakeSummarizer(model = 'fake') {
  const asked: { previous: string | null; turns: Said[]; maxTokens: number }[] = []
  const fake = {
    model,
    asked,
    before: async () => {},
    async summarize(request: { previous: string | null; turns: readonly Said[]; maxTokens: number }) {
      asked.push({ ...request, turns: [...request.turns] })
      await fake.before()
      return { content: `summary ${asked.length}`, model }
    },
    async close() {},
  }
  return fake satisfies Summarizer
}

/** The deps with that summarizer as the server's own. */
export const withSummarizer = (deps: Deps, standard: Summarizer): Deps => ({
  ...deps,
  summarizers: {
    standard,
    byModel: new Map([
      ['extractive', standard],
      [standard.model, standard],
    ]),
    close: async () => {},
  },
})
