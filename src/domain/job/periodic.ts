// Periodic work: a task at a fixed interval, never twice at once in this process.

/**
 * Runs the task each time the interval has passed, unless the last run has not ended.
 * @param task must not fail
 * @returns what stops it, once a run under way has ended
 */
export function startPeriodic(intervalMs: number, task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  const timer = setInterval(() => {
    running ??= task().finally(() => {
      running = null
    })
  }, intervalMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
