// Runs the periodic maintenance tasks. They are idempotent, and any number of processes may run them.

import { every } from '../../runtime/clock.ts'
import { DatabaseUnavailable, Unavailable } from '../../errors.ts'
import type { BackgroundDeps } from './deps.ts'
import { deleteExpiredConversations, removeSummarizedContent } from '../trust/erasure/retention.ts'
import { endExpiredClaims } from '../agent/claim/claim.ts'
import { continueErasures } from '../trust/erasure/erase-user.ts'
import { pruneAuditLog } from '../kernel/audit/prune.ts'
import { deleteExpiredSessions } from '../kernel/live/mcp-session.ts'
import {
  deleteQueuedFiles,
  deleteUnfinishedFiles,
  deleteUnusedAttachments,
} from '../conversation/attachment/delete-files.ts'
import { indexFacts } from '../memory/fact/index/index-facts.ts'
import { indexTurns } from '../memory/indexing/backfill.ts'
import { expireApprovals } from '../agent/run/approval/request-approvals.ts'
import { endExpiredPresence } from '../conversation/presence.ts'
import { endAbandonedCalls, endLostRuns } from '../agent/run/sweep.ts'
import { deleteOldTransfers } from '../trust/transfer/transfer.ts'
import { abortSilentTurns } from '../turn/streaming/stream.ts'

/**
 * `name` is an imperative for log messages. `everyMs` returns the interval in milliseconds. `run` returns the number of
 * items that it changed. `uninterruptedMs` is the time for which this process has run the task and reached the database
 * without a longer pause.
 */
type Task = {
  name: string
  everyMs: (deps: BackgroundDeps) => number
  run(deps: BackgroundDeps, uninterruptedMs: number): Promise<number>
}

/** Interval at which expired leases are looked for, ms. */
const LEASE_SWEEP_MS = 1_000
const leaseSweepMs = ({ streamLeaseMs }: BackgroundDeps) => Math.min(LEASE_SWEEP_MS, streamLeaseMs / 2)

/**
 * Time that writers have, in addition to a whole lease, to renew theirs after a start or an outage, ms: clients wait for
 * up to 5 s between attempts, and a process that has just started answers slowly.
 */
const RECONNECT_MS = 10_000

const TASKS: Task[] = [
  {
    name: 'abort streaming turns whose lease expired',
    everyMs: leaseSweepMs,
    run: (deps, uninterruptedMs) => abortSilentTurns(deps, uninterruptedMs - RECONNECT_MS),
  },
  { name: 'end expired claims', everyMs: () => 1_000, run: endExpiredClaims },
  { name: 'expire approvals of tool calls', everyMs: () => 5_000, run: expireApprovals },
  // After a start or an outage, the other processes get a whole lease to renew theirs.
  { name: 'end runs whose lease expired', everyMs: leaseSweepMs, run: endLostRuns },
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
  { name: 'delete old exports and imports', everyMs: () => 60_000, run: deleteOldTransfers },
  { name: 'delete expired MCP sessions', everyMs: () => 60_000, run: deleteExpiredSessions },
  { name: 'delete attachments that no turn uses', everyMs: () => 60_000, run: deleteUnusedAttachments },
  { name: 'delete files without attachments', everyMs: () => 5_000, run: deleteQueuedFiles },
  { name: 'delete files that were not written completely', everyMs: () => 300_000, run: deleteUnfinishedFiles },
  { name: 'index turns written before the index existed', everyMs: () => 10_000, run: indexTurns },
  { name: 'index facts written before the index existed', everyMs: () => 10_000, run: indexFacts },
]

/** Runs the task, and returns whether it succeeded. */
async function runTask(deps: BackgroundDeps, { name, run }: Task, uninterruptedMs: number): Promise<boolean> {
  try {
    const count = await run(deps, uninterruptedMs)
    if (count > 0) deps.log.info({ count }, name)
    return true
  } catch (err) {
    // Both outages are logged once.
    if (!(err instanceof Unavailable || err instanceof DatabaseUnavailable)) deps.log.warn({ err }, `could not ${name}`)
    return false
  }
}

/** Time in addition to the interval after which a pause between two runs of a task is an interruption, ms. */
const MAX_PAUSE_MS = 3_000

/** Starts the task, and keeps the time for which it has run without interruption. */
function startTask(deps: BackgroundDeps, task: Task): () => Promise<void> {
  const everyMs = task.everyMs(deps)
  const { clock } = deps
  let since = clock.performance.now()
  let endedAt = since
  return every(clock, everyMs, async () => {
    const now = clock.performance.now()
    if (now - endedAt > everyMs + MAX_PAUSE_MS) since = now
    const hasSucceeded = await runTask(deps, task, now - since)
    endedAt = clock.performance.now()
    if (!hasSucceeded) since = endedAt
  })
}

/**
 * Runs each task at its own interval. The returned function stops the tasks and resolves when running ones have ended.
 */
export function startSweeping(deps: BackgroundDeps): () => Promise<void> {
  const stops = TASKS.map((task) => startTask(deps, task))
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}
