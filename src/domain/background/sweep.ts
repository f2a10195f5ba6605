// Runs the periodic maintenance tasks. They are idempotent, and any number of processes may run them.

import { DatabaseUnavailable, Unavailable } from '../../errors.ts'
import type { BackgroundDeps } from './deps.ts'
import { deleteExpiredConversations, removeSummarizedContent } from '../erasure/retention.ts'
import { endExpiredClaims } from '../claim/claim.ts'
import { continueErasures } from '../erasure/erase-user.ts'
import { pruneAuditLog } from '../audit/prune.ts'
import { indexTurns } from '../indexing/index-turns.ts'
import { startPeriodic } from '../job/periodic.ts'
import { expireApprovals } from '../run/request-approvals.ts'
import { endExpiredPresence } from '../presence.ts'
import { endAbandonedCalls, endLostRuns } from '../run/sweep.ts'
import { abortSilentTurns } from '../streaming-turn/stream.ts'

/**
 * `name` is an imperative for log messages. `everyMs` returns the interval in milliseconds. `run` returns the number of
 * items that it changed.
 */
type Task = { name: string; everyMs: (deps: BackgroundDeps) => number; run(deps: BackgroundDeps): Promise<number> }

const TASKS: Task[] = [
  // Runs twice per lease, so that a turn is aborted at most half a lease after its lease expired.
  {
    name: 'abort streaming turns whose lease expired',
    everyMs: (deps) => deps.streamLeaseMs / 2,
    run: abortSilentTurns,
  },
  { name: 'end expired claims', everyMs: () => 1_000, run: endExpiredClaims },
  { name: 'expire approvals of tool calls', everyMs: () => 5_000, run: expireApprovals },
  { name: 'end runs whose lease expired', everyMs: (deps) => deps.streamLeaseMs / 2, run: endLostRuns },
  {
    name: 'count the tokens of abandoned provider calls',
    everyMs: (deps) => deps.streamLeaseMs,
    run: endAbandonedCalls,
  },
  { name: 'remove expired presence', everyMs: (deps) => deps.presenceTtlMs / 12, run: endExpiredPresence },
  { name: 'continue erasures of users', everyMs: () => 1_000, run: continueErasures },
  { name: 'delete expired conversations', everyMs: () => 10_000, run: deleteExpiredConversations },
  { name: 'remove summarised content by retention', everyMs: () => 10_000, run: removeSummarizedContent },
  { name: 'delete old lines of the audit log', everyMs: () => 60_000, run: pruneAuditLog },
  { name: 'index turns written before the index existed', everyMs: () => 10_000, run: indexTurns },
]

async function runTask(deps: BackgroundDeps, { name, run }: Task): Promise<void> {
  try {
    const count = await run(deps)
    if (count > 0) deps.log.info({ count }, name)
  } catch (err) {
    // Both outages are logged once.
    if (!(err instanceof Unavailable || err instanceof DatabaseUnavailable)) deps.log.warn({ err }, `could not ${name}`)
  }
}

/**
 * Runs each task at its own interval. The returned function stops the tasks and resolves when running ones have ended.
 */
export function startSweeping(deps: BackgroundDeps): () => Promise<void> {
  const stops = TASKS.map((task) => startPeriodic(task.everyMs(deps), () => runTask(deps, task)))
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}
