// Runs a task at a fixed interval, never concurrently with itself in this process.

import type { Clock } from '../../clock.ts'

/**
 * Runs the task once per interval. Skips a run if the previous one is still running. With `atOnce`, the first run
 * starts immediately; by default, it starts after one interval.
 * @param task must not throw
 * @returns a function that stops the task and resolves when the current run has ended
 */
export function startPeriodic(
  clock: Pick<Clock, 'setInterval' | 'clearInterval'>,
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
  const timer = clock.setInterval(run, intervalMs)
  timer.unref()
  if (atOnce) run()
  return async () => {
    clock.clearInterval(timer)
    await running
  }
}
