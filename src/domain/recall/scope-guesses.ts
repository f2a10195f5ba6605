// Remembers the conversations that recalls have searched, as their viewers saw them. If two recalls in a row have read
// the same, the next one searches that before it reads the conversation again, together with its hits: it waits once
// instead of twice. A wrong guess costs a search in memory, never a wrong result, because the read confirms it.

import { LRUCache } from 'lru-cache'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import type { Viewer } from '../view.ts'

/** Maximum number of remembered pairs of a viewer and a conversation, of about 500 bytes each. */
const MAX_REMEMBERED = 5_000

export type ScopeGuesses = {
  /** Returns what the viewer's last two recalls in the conversation have read; null if they differ. */
  guess(viewer: Viewer, embedder: string, conversationId: string): ScopeConversation | null
  /** Remembers what a recall has read. */
  remember(viewer: Viewer, embedder: string, read: ScopeConversation): void
}

const keyOf = ({ tenant, actor }: Viewer, embedder: string, conversationId: string) =>
  JSON.stringify([tenant, actor, embedder, conversationId])

/** Whether a search of one would find the same as a search of the other. */
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
