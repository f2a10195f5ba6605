// Ends runs whose lease has expired: the process that executed them has died, or nobody has appended the results that
// they wait for. What a run had committed decides how it ends.

import { readOpenCalls } from '../../store/sql/run/provider-calls.ts'
import type { RunRow } from '../../store/sql/run/run-columns.ts'
import { readLostRuns } from '../../store/sql/run/read-runs.ts'
import { deleteUnseenRun } from '../../store/sql/run/write-runs.ts'
import type { TurnStatus } from '../../store/generated/enums.ts'
import { abortOwnTurn } from '../streaming-turn/stream.ts'
import type { StreamDeps } from '../streaming-turn/delta-queue.ts'
import { changeRun, WAIT_MS } from './change.ts'
import { RunFailure } from './failure.ts'
import type { RunEvent } from './state.ts'

/** Maximum number of runs that the sweep reads at once. */
const SWEEP_BATCH = 100

/** The newest turn of a run: its status, the number of its tool calls, and of those without a result. */
export type LastReply = { status: TurnStatus; calls: number; openCalls: number }

/**
 * Returns how a run whose process has died ends. Pure. A committed reply without tool calls was the answer. Calls that
 * only the caller can answer still can be answered. A tool of the server may have been executed or not, so its call is
 * not repeated.
 */
export function eventAfterLoss(reply: LastReply | null, registeredOpen: number): RunEvent {
  if (reply?.status !== 'COMMITTED') return 'fail'
  if (reply.calls === 0) return 'complete'
  return reply.openCalls > 0 && registeredOpen === 0 ? 'await-tools' : 'fail'
}

async function lastReply(deps: StreamDeps, { tenant, turnId }: RunRow): Promise<LastReply | null> {
  if (turnId === null) return null
  const db = deps.db.of(tenant)
  const turn = await db.turn.findFirst({ where: { id: turnId }, select: { status: true } })
  if (!turn) return null
  const calls = await db.toolCall.count({ where: { turnId } })
  const openCalls = calls === 0 ? [] : await readOpenCalls(deps.pool, tenant, turnId)
  return { status: turn.status, calls, openCalls: openCalls.length }
}

type SweepDeps = StreamDeps & { tools: ReadonlyMap<string, unknown> }

/** The number of open calls of tools that the server executes. */
async function registeredOpen(deps: SweepDeps, { tenant, turnId }: RunRow): Promise<number> {
  if (turnId === null || deps.tools.size === 0) return 0
  const open = await readOpenCalls(deps.pool, tenant, turnId)
  const where = { turnId, callId: { in: open }, name: { in: [...deps.tools.keys()] } }
  return open.length === 0 ? 0 : deps.db.of(tenant).toolCall.count({ where })
}

async function endLost(deps: SweepDeps, run: RunRow): Promise<void> {
  const { tenant, turnId } = run
  if (run.seq === null) return deleteUnseenRun(deps.pool, tenant, run.id)
  if (run.state !== 'RUNNING') {
    const message = `Nobody appended the results of its tool calls within ${WAIT_MS / 86_400_000} days.`
    await changeRun(deps, run, { event: 'fail', heldBy: null, failure: new RunFailure('EXPIRED', message) })
    return
  }
  const message = 'The process that executed the run has ended or lost the database.'
  const failure = new RunFailure('INTERRUPTED', message)
  // The reply first: once it is closed, the process cannot commit it, if it still lives.
  if (turnId !== null) await abortOwnTurn(deps, tenant, turnId, failure.message)
  const event = eventAfterLoss(await lastReply(deps, run), await registeredOpen(deps, run))
  await changeRun(deps, run, { event, heldBy: run.holder, ...(event === 'fail' ? { failure } : null) })
}

/** Ends the runs whose lease has expired, and returns their number. Any number of processes may run it. */
export async function endLostRuns(deps: SweepDeps): Promise<number> {
  const lost = await readLostRuns(deps.db, SWEEP_BATCH)
  const results = await Promise.allSettled(lost.map((run) => endLost(deps, run)))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return lost.length
}
