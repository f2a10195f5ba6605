// Periodic, idempotent maintenance; any process may run it.

import type { BackgroundDeps } from './deps.ts'
import { indexTurns } from '../indexing/index-turns.ts'
import { startPeriodic } from '../job/periodic.ts'
import { endExpiredPresence } from '../presence.ts'
import { abortSilentTurns } from '../streaming-turn/stream.ts'

/** `run` returns how many things it changed. */
type Task = { name: string; everyMs: (deps: BackgroundDeps) => number; run(deps: BackgroundDeps): Promise<number> }

const TASKS: Task[] = [
  // Twice in a lease, so that a dead writer's turn ends within two.
  { name: 'abort turns whose writer is silent', everyMs: (deps) => deps.streamLeaseMs / 2, run: abortSilentTurns },
  { name: 'end presence that nobody renewed', everyMs: (deps) => deps.presenceTtlMs / 12, run: endExpiredPresence },
  { name: 'index turns written before there was an index', everyMs: () => 10_000, run: indexTurns },
]

async function runTask(deps: BackgroundDeps, { name, run }: Task): Promise<void> {
  try {
    const count = await run(deps)
    if (count > 0) deps.log.info({ count }, name)
  } catch (err) {
    deps.log.warn({ err }, `could not ${name}`)
  }
}

/** Runs each task at its own interval; the result stops them, once the runs under way have ended. */
export function startSweeping(deps: BackgroundDeps): () => Promise<void> {
  const stops = TASKS.map((task) => startPeriodic(task.everyMs(deps), () => runTask(deps, task)))
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}
