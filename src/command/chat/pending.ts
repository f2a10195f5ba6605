// What a chat waits for before it ends: the runs that it has started, and the events of its own turns. The end of a run may
// arrive before the answer to the request that started it.

/** Number of ended runs that are remembered. */
const MAX_OVER = 1_000

export type Pending = {
  /** A run was started. */
  started(runId: string): void
  /** The state of a run has changed. */
  changed(run: { id: string; state: string }): void
  /** A turn with this seq was appended. */
  sent(seq: number): void
  /** An event with this seq was shown. */
  seen(seq: number): void
  /** No further event will arrive. */
  end(): void
  /** The runs that were started and have not ended. */
  runs(): string[]
  /** Resolves when each turn was shown, and each run has ended or waits for a decision or a tool. */
  settled(): Promise<void>
}

export function createPending(): Pending {
  const mine = new Map<string, 'runs' | 'waits'>()
  const over = new Set<string>()
  let [newestSeen, newestSent] = [0, 0]
  let isOver = false
  let waiting: (() => void)[] = []

  const isSettled = () => isOver || (newestSeen >= newestSent && ![...mine.values()].includes('runs'))
  function check(): void {
    if (!isSettled()) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    started(runId) {
      if (!over.has(runId)) mine.set(runId, 'runs')
    },
    changed({ id, state }) {
      if (state === 'RUNNING' || state.startsWith('WAITING')) {
        if (mine.has(id)) mine.set(id, state === 'RUNNING' ? 'runs' : 'waits')
      } else {
        mine.delete(id)
        over.add(id)
        if (over.size > MAX_OVER) over.delete(over.values().next().value!)
      }
      check()
    },
    sent(seq) {
      newestSent = Math.max(newestSent, seq)
    },
    seen(seq) {
      newestSeen = Math.max(newestSeen, seq)
      check()
    },
    end() {
      isOver = true
      check()
    },
    runs: () => [...mine.keys()],
    settled: () => (isSettled() ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve))),
  }
}
