// Notifies this process's own workers of conversations with new journal entries. A lost notification only delays them:
// they also look for work periodically.

export type JournalGrowth = {
  grew(conversationId: string): void
  /** Returns a function that removes the listener. Listeners must be quick and must not throw. */
  listen(listener: (conversationId: string) => void): () => void
}

export function createJournalGrowth(): JournalGrowth {
  const listeners = new Set<(conversationId: string) => void>()
  return {
    grew(conversationId) {
      for (const listener of listeners) listener(conversationId)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
