// Changes the state of a run, under the locks of the conversation and of the run, with a journal entry.

import { Conflict } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import type { RunState } from '../../../store/generated/enums.ts'
import { lockJournal, writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { readRun } from '../../../store/sql/agent/run/read-runs.ts'
import { writeRunState } from '../../../store/sql/agent/run/runs.ts'
import { dropTakenWakeUps } from '../../../store/sql/agent/wake-up/take-wake-ups.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries, type Publisher } from '../../kernel/live/publisher.ts'
import type { RunFailure } from './answer/failure.ts'
import { cancelApprovals } from './approval/request-approvals.ts'
import { isEnded, step, type RunEvent } from './state.ts'

/** Time for which a run waits for the results of tools, ms: 7 days. Then it fails. */
export const WAIT_MS = 7 * 24 * 3_600_000

const runTopic = (runId: string) => `run:${runId}`

/** Announces a change of the run, after the commit, to the process that executes it and to subscribers. */
export const announceRun = ({ bus }: Publisher, runId: string): void => bus.publish(runTopic(runId), '')

/** Calls `receive` after each announced change. Announcements may be lost. */
export const subscribeToRun = ({ bus }: Publisher, runId: string, receive: () => void): Promise<() => Promise<void>> =>
  bus.subscribe(runTopic(runId), receive)

export type RunChanging = {
  event: RunEvent
  /** Changes the run only in this state; in any state if absent. */
  from?: RunState
  /** Changes the run only if this is its holder, a random id of one execution of the run; null for any holder. */
  heldBy: string | null
  /** For `continue`: the new holder, and the duration of its lease, ms. */
  hold?: { holder: string; leaseMs: number }
  /** For `fail`: the failure to store. */
  failure?: RunFailure
  /** Additional writes in the same transaction. */
  also?: (tx: Tx, run: RunRow) => Promise<void>
}

export type RunChanged = { outcome: 'changed' | 'repeated' | 'refused'; run: RunRow } | { outcome: 'missing' }

/** Returns the lease of the run in its new state, ms; null for none. The sweep ends a run whose lease has expired. */
function leaseAfter({ event, hold }: RunChanging): number | null {
  if (event === 'await-tools') return WAIT_MS
  return hold?.leaseMs ?? null
}

/**
 * Applies the event to the run. `missing`: the run has not started, the run or its conversation was deleted, or the run
 * has another holder than `heldBy`.
 * @throws Conflict if another run of the agent is RUNNING
 */
export async function changeRun(
  deps: Platform,
  { tenant, conversationId, id }: Pick<RunRow, 'tenant' | 'conversationId' | 'id'>,
  change: RunChanging,
): Promise<RunChanged> {
  const { event, from, heldBy, hold, failure, also } = change
  return withTransaction(deps.db, tenant, async (tx, afterCommit): Promise<RunChanged> => {
    const journal = await lockJournal(tx, { tenant, actor: null }, conversationId)
    const run = journal && (await readRun(tx, id, true))
    if (!run || run.seq === null || (heldBy !== null && run.holder !== heldBy)) return { outcome: 'missing' }
    if (from !== undefined && run.state !== from) return { outcome: 'refused', run }
    const result = step(run.state, event)
    if (result.outcome !== 'changed') return { outcome: result.outcome, run }
    const { next } = result
    if (next === 'RUNNING') await requireNotRunning(tx, run)
    await writeRunState(tx, id, {
      state: next,
      holder: hold?.holder ?? null,
      leaseMs: leaseAfter(change),
      hasEnded: isEnded(next),
      error: failure ? { code: failure.code, message: failure.message } : null,
    })
    await also?.(tx, run)
    if (isEnded(next)) await cancelApprovals(tx, { runId: id })
    if (next === 'CANCELLED') await dropTakenWakeUps(tx, run)
    const seq = await writeEntry(tx, conversationId, 'RUN_CHANGED', { runId: id })
    afterCommit(() => {
      announceEntries(deps, [{ tenant, conversationId, first: journal.lastSeq + 1, last: seq }])
      announceRun(deps, id)
    })
    return { outcome: 'changed', run: { ...run, state: next, holder: hold?.holder ?? null, version: run.version + 1 } }
  })
}

export const alreadyRunning = (actor: string, runId: string | null) =>
  new Conflict(
    `${JSON.stringify(actor)} is already running in the conversation${runId === null ? '' : `: ${runId}`}. `
      + 'Wait until that run ends, or cancel it.',
  )

async function requireNotRunning(tx: Tx, { conversationId, actor }: RunRow): Promise<void> {
  const other = await tx.run.findFirst({ where: { conversationId, actor, state: 'RUNNING' }, select: { id: true } })
  if (other) throw alreadyRunning(actor, other.id)
}
