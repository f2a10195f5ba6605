// Tells this process's own workers which rooms have grown. It may lose anything: they find out by themselves, later.

export type Growths = {
  grew(room: string): void
  /** The result ends it. Listeners must be quick, and must not throw. */
  listen(listener: (room: string) => void): () => void
}

export function createGrowths(): Growths {
  const listeners = new Set<(room: string) => void>()
  return {
    grew(room) {
      for (const listener of listeners) listener(room)
    },
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
