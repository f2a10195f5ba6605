// Periodic work: a task at a fixed interval, never twice at once in this process.

/**
 * Runs the task each time the interval has passed, unless the last run has not ended; `atOnce`, now too.
 * @param task must not fail
 * @returns what stops it, once a run under way has ended
 */
export function startPeriodic(
  intervalMs: number,
  task: () => Promise<void>,
  { atOnce = false } = {},
): () => Promise<void> {
  let running: Promise<void> | null = null
  const run = () => {
    running ??= task().finally(() => {
      running = null
    })
  }
  const timer = setInterval(run, intervalMs)
  timer.unref()
  if (atOnce) run()
  return async () => {
    clearInterval(timer)
    await running
  }
}
