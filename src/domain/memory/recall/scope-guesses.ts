// Remembers the state of each conversation that a viewer's last recalls have read. If the last two recalls have read
// the same state, the next recall searches this state in memory, and then reads the current state and its hits in one
// round trip to the database instead of two. It searches again if the current state is another one, so that a wrong
// guess costs a search in memory but never changes the result. Without guesses, a repeated recall in a conversation of
// 1,000 turns takes 1.16 times as long, and a context with recall 1.14 times (2026-11-29, `npm run bench -- guesses`).
// After an append, there is no guess.

import { LRUCache } from 'lru-cache'
import type { ScopeConversation } from '../../../store/sql/memory/recall/scope.ts'
import type { Viewer } from '../../kernel/view.ts'

/** Maximum number of remembered states, one for each viewer, conversation and embedder. Each takes about 500 bytes. */
const MAX_REMEMBERED = 5_000

export type ScopeGuesses = {
  /**
   * Returns the state that the viewer's last two recalls in the conversation have read; null if they read different
   * ones.
   */
  guess(viewer: Viewer, embedder: string, conversationId: string): ScopeConversation | null
  /** Remembers the state that a recall has read. */
  remember(viewer: Viewer, embedder: string, read: ScopeConversation): void
}

const keyOf = ({ tenant, actor }: Viewer, embedder: string, conversationId: string) =>
  JSON.stringify([tenant, actor, embedder, conversationId])

/** Whether a search returns the same result in both states. */
export function isSameScope(one: ScopeConversation, other: ScopeConversation): boolean {
  const [a, b] = [one.index, other.index]
  return (
    one.id === other.id
    && one.publicTurns === other.publicTurns
    && one.hasFacts === other.hasFacts
    && a.state.lastSeq === b.state.lastSeq
    && a.state.removedThrough === b.state.removedThrough
    && a.state.embeddedThrough === b.state.embeddedThrough
    && a.view.actor === b.view.actor
    && a.view.addressed === b.view.addressed
    && a.view.windows.join() === b.view.windows.join()
  )
}

export function createScopeGuesses(): ScopeGuesses {
  const remembered = new LRUCache<string, { read: ScopeConversation; isSteady: boolean }>({ max: MAX_REMEMBERED })
  return {
    guess(viewer, embedder, conversationId) {
      const known = remembered.get(keyOf(viewer, embedder, conversationId))
      return known?.isSteady ? known.read : null
    },
    remember(viewer, embedder, read) {
      const key = keyOf(viewer, embedder, read.id)
      const known = remembered.get(key)
      remembered.set(key, { read, isSteady: known !== undefined && isSameScope(known.read, read) })
    },
  }
}
