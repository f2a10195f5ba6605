// Tells this process's own workers which conversations have grown. It may lose anything: they find out by themselves, later.

export type JournalGrowth = {
  grew(conversationId: string): void
  /** The result ends it. Listeners must be quick, and must not throw. */
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
