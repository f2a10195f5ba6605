// Keeps the runs that this process executes, and limits their number. The token budget of the context and the maximum
// size of a turn limit the memory that each run uses.

import { LimitReached } from '../../../errors.ts'

/** Maximum number of runs that one process executes at a time. */
export const MAX_ACTIVE_RUNS = 256

/** Reasons to stop a run that has not ended: cancelRun, or the shutdown of the process. */
export type StopReason = 'CANCELLED' | 'SHUTDOWN'

export type ActiveRuns = {
  readonly size: number
  /** @throws LimitReached if the process executes MAX_ACTIVE_RUNS runs, or is shutting down */
  requireCapacity(): void
  /** Executes a run. `work` never rejects; its signal aborts with a StopReason. */
  start(runId: string, work: (signal: AbortSignal) => Promise<void>): void
  /** Stops the run, and resolves when it has stopped. Resolves at once if this process does not execute it. */
  stop(runId: string, reason: StopReason): Promise<void>
  /** Resolves when the run has stopped; false if this process does not execute it. */
  wait(runId: string): Promise<boolean>
  /** Stops all runs. Afterwards, requireCapacity throws. */
  close(): Promise<void>
}

export function createActiveRuns(): ActiveRuns {
  const active = new Map<string, { controller: AbortController; done: Promise<void> }>()
  let isClosed = false
  const runs: ActiveRuns = {
    get size() {
      return active.size
    },
    requireCapacity() {
      if (isClosed) throw new LimitReached('The server is shutting down. Send the request to another server.', 0)
      if (active.size >= MAX_ACTIVE_RUNS) {
        throw new LimitReached(
          `This process executes ${MAX_ACTIVE_RUNS} runs, the maximum. Try again later.`,
          MAX_ACTIVE_RUNS,
        )
      }
    },
    start(runId, work) {
      const controller = new AbortController()
      const done = work(controller.signal).finally(() => active.delete(runId))
      active.set(runId, { controller, done })
    },
    async stop(runId, reason) {
      const run = active.get(runId)
      run?.controller.abort(reason)
      await run?.done
    },
    async wait(runId) {
      const run = active.get(runId)
      await run?.done
      return run !== undefined
    },
    async close() {
      isClosed = true
      await Promise.all([...active.keys()].map((runId) => runs.stop(runId, 'SHUTDOWN')))
    },
  }
  return runs
}
