// Starts all background work of a process, except embedding, which createDeps starts.

import type { BackgroundDeps } from './deps.ts'
import { startJobs } from './jobs.ts'
import { startSweeping } from './sweep.ts'

/**
 * Starts the tasks of sweep.ts and the jobs of jobs.ts. Any number of processes may run them: concurrent runs never
 * write a result twice.
 *
 * Returns before the jobs have started. If the job queue cannot be created, logs the error and runs only the tasks.
 * @returns a function that stops the work and resolves when running tasks and jobs have ended
 */
export function startBackground(deps: BackgroundDeps): () => Promise<void> {
  const stopSweeping = startSweeping(deps)
  const starting = startJobs(deps).catch((err: unknown) => {
    deps.log.error({ err }, 'could not create the job queue: no background jobs will run')
    return async () => {}
  })
  return async () => {
    const stopJobs = await starting
    await Promise.all([stopSweeping(), stopJobs()])
  }
}
