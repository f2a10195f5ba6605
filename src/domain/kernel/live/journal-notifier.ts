// Notifies the workers of this process when a conversation has new journal entries, and when facts about users change
// without a journal entry. A lost notification only delays the work: each worker also searches for work periodically.

import type { Subject } from '../../../store/jobs/job-queue.ts'

export type JournalListener = {
  /** The conversation has new journal entries. */
  conversationChanged(conversationId: string): void
  /** The facts about the users changed. */
  usersChanged(users: readonly Subject[]): void
}

export type JournalNotifier = JournalListener & {
  /** Adds a listener and returns a function that removes it. Listeners must be quick and must not throw. */
  listen(listener: JournalListener): () => void
}

export function createJournalNotifier(): JournalNotifier {
  const listeners = new Set<JournalListener>()
  return {
    conversationChanged(conversationId) {
      for (const listener of listeners) listener.conversationChanged(conversationId)
    },
    usersChanged(users) {
      for (const listener of listeners) listener.usersChanged(users)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
