// Notifies the workers of this process when a conversation has new journal entries. A lost notification only delays the
// work: each worker also searches for work periodically.

export type JournalNotifier = {
  /** Notifies every listener. */
  notify(conversationId: string): void
  /** Adds a listener and returns a function that removes it. Listeners must be quick and must not throw. */
  listen(listener: (conversationId: string) => void): () => void
}

export function createJournalNotifier(): JournalNotifier {
  const listeners = new Set<(conversationId: string) => void>()
  return {
    notify(conversationId) {
      for (const listener of listeners) listener(conversationId)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
