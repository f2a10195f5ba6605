// Keeps the events of a streaming turn in memory, so that an iteration may start late or stop early.

/** Any number of iterations may run at the same time. Each yields all events, from the first one. */
export type EventLog<Event> = AsyncIterable<Event> & {
  push(event: Event): void
  /** Ends the iterations after the last event. With an error, the iterations throw it. */
  end(error?: unknown): void
}

export function createEventLog<Event>(): EventLog<Event> {
  const events: Event[] = []
  let ended: { error?: unknown } | null = null
  let wake = () => {}
  let changed = new Promise<void>((resolve) => (wake = resolve))
  const announce = () => {
    const awaken = wake
    changed = new Promise((resolve) => (wake = resolve))
    awaken()
  }
  return {
    push(event) {
      events.push(event)
      announce()
    },
    end(error) {
      ended = error === undefined ? {} : { error }
      announce()
    },
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ;) {
        while (next < events.length) yield events[next++]!
        if (ended && 'error' in ended) throw ended.error
        if (ended) return
        await changed
      }
    },
  }
}
