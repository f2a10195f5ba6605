// What has to be done by and by, by whoever comes first: named, idempotent tasks that any number of processes may run.

import type { BackgroundDeps } from './deps.ts'
import { endExpiredPresence } from '../presence.ts'
import { indexTurns } from '../indexing/index-turns.ts'
import { abortSilentTurns } from '../streaming-turn/stream.ts'

type Task = { name: string; everyMs: (deps: BackgroundDeps) => number; run(deps: BackgroundDeps): Promise<number> }

const TASKS: Task[] = [
  // Twice in a lease, so that a dead writer's turn ends within two.
  { name: 'abort turns whose writer is silent', everyMs: (deps) => deps.streamLeaseMs / 2, run: abortSilentTurns },
  { name: 'end presence that nobody renewed', everyMs: (deps) => deps.presenceTtlMs / 12, run: endExpiredPresence },
  { name: 'index turns of before by their words', everyMs: () => 10_000, run: indexTurns },
]

/** Runs the tasks, each in its own rhythm; the result stops them once what runs has ended. */
export function startSweeping(deps: BackgroundDeps): () => Promise<void> {
  const running = new Set<Promise<void>>()
  const timers = TASKS.map(({ name, everyMs, run }) => {
    let busy = false
    const timer = setInterval(() => {
      if (busy) return
      busy = true
      const done = run(deps)
        .then((count) => {
          if (count > 0) deps.log.info({ count }, name)
        })
        .catch((error) => deps.log.warn({ err: error }, `could not ${name}`))
        .finally(() => {
          busy = false
          running.delete(done)
        })
      running.add(done)
    }, everyMs(deps))
    timer.unref()
    return timer
  })
  return async () => {
    for (const timer of timers) clearInterval(timer)
    await Promise.all(running)
  }
}
