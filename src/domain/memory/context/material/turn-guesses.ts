// Remembers the ranges of turns that the last context of a conversation read first. The next context reads the same
// ranges together with the conversation and its summaries, in one round trip to the database instead of two. If it needs
// other ranges, it reads them separately: a wrong guess costs one read and never changes the result. Without guesses, a
// context of 20 turns after an append takes 1.2 to 1.5 times as long (2026-11-29, `npm run bench -- guesses`).

import { LRUCache } from 'lru-cache'
import type { Viewer } from '../../../kernel/view.ts'

/** Maximum number of remembered reads, one for each viewer and key. Each takes about 300 bytes. */
const MAX_REMEMBERED = 5_000

/** The turns that a context reads first. */
export type TurnsToRead = {
  /** The position after which recent turns are read. */
  after: number
  /** Maximum number of recent turns in the first page. */
  limit: number
  /** The position through which the chosen summaries cover turns; 0 for no summary. */
  covered: number
}

/** The parts of a request that select a remembered read. */
export type GuessKey = { conversationId: string; tokenBudget: number; windowTurns: number; readsSummaries: boolean }

export type TurnGuesses = {
  /** Returns what the viewer's last context with the same key read; null if there is none. */
  guess(viewer: Viewer, key: GuessKey): TurnsToRead | null
  /** Remembers what a context read. */
  remember(viewer: Viewer, key: GuessKey, read: TurnsToRead): void
}

const textOf = ({ tenant, actor }: Viewer, { conversationId, tokenBudget, windowTurns, readsSummaries }: GuessKey) =>
  JSON.stringify([tenant, actor, conversationId, tokenBudget, windowTurns, readsSummaries])

export const areSameTurns = (a: TurnsToRead, b: TurnsToRead): boolean =>
  a.after === b.after && a.limit === b.limit && a.covered === b.covered

export function createTurnGuesses(): TurnGuesses {
  const remembered = new LRUCache<string, TurnsToRead>({ max: MAX_REMEMBERED })
  return {
    guess: (viewer, key) => remembered.get(textOf(viewer, key)) ?? null,
    remember: (viewer, key, read) => void remembered.set(textOf(viewer, key), read),
  }
}
