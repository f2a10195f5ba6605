// Changes the state of runs whose lease has expired: the process that executed them has died, or the results that they
// wait for were not appended in time. The newest turn of a run determines whether it ends or waits.

import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { endFailedCalls, readAbandonedCalls } from '../../../store/sql/agent/run/provider-calls.ts'
import { readLostRuns } from '../../../store/sql/agent/run/read-runs.ts'
import { deleteUnseenRun } from '../../../store/sql/agent/run/runs.ts'
import type { TurnStatus } from '../../../store/generated/enums.ts'
import { abortOwnTurn } from '../../turn/streaming/stream.ts'
import type { StreamDeps } from '../../turn/streaming/delta-queue.ts'
import { announceRun, changeRun, WAIT_MS } from './change.ts'
import { readDecidedReply } from './approval/decided-reply.ts'
import type { RunDeps } from './deps.ts'
import { RunFailure } from './answer/failure.ts'
import { runLeaseSeconds, type RunEvent } from './state.ts'
import { optionsOf } from './options.ts'
import { requestApprovals, type CallToApprove } from './approval/request-approvals.ts'
import { callsToApprove, settleCalls } from './tools/settle-calls.ts'
import { invalidCalls, offeredTools } from './tools/tools.ts'

/** Maximum number of runs that the sweep reads at once. */
const SWEEP_BATCH = 100

/**
 * The newest turn of a run. `calls` is the number of its tool calls, `openCalls` of those without a result. Of these,
 * `openToApprove` need an approval that was not requested, and `openOfServer` are answered by the server.
 * `hasApprovals`: whether approvals were requested.
 */
export type LastReply = {
  status: TurnStatus
  calls: number
  openCalls: number
  openToApprove: number
  openOfServer: number
  hasApprovals: boolean
}

/**
 * Returns the event for a run whose process has died. Pure. A committed reply without tool calls was the answer. No
 * call of a reply is executed before its approvals, so these can still be requested. The caller can still append
 * results. A tool of the server may already have been executed, so its call is not repeated, and the run fails.
 * @internal
 */
export function eventAfterLoss(reply: LastReply | null): RunEvent {
  if (reply?.status !== 'COMMITTED') return 'fail'
  if (reply.calls === 0) return 'complete'
  if (reply.openCalls === 0) return 'fail'
  if (reply.openToApprove > 0 && !reply.hasApprovals) return 'await-approval'
  if (reply.openOfServer > 0) return 'fail'
  return reply.hasApprovals ? 'await-approval' : 'await-tools'
}

type SweepDeps = StreamDeps & Pick<RunDeps, 'tools'>

type Loss = { reply: LastReply; toApprove: readonly CallToApprove[] }

async function readLoss(deps: SweepDeps, run: RunRow): Promise<Loss | null> {
  const { tenant, turnId } = run
  if (turnId === null) return null
  const db = deps.db.of(tenant)
  const turn = await db.turn.findFirst({ where: { id: turnId }, select: { status: true } })
  if (!turn) return null
  const calls = turn.status === 'COMMITTED' ? await db.toolCall.count({ where: { turnId } }) : 0
  const none = { openCalls: 0, openToApprove: 0, openOfServer: 0, hasApprovals: false }
  if (calls === 0) return { reply: { ...none, status: turn.status, calls }, toApprove: [] }
  const { calls: open, decisions } = await readDecidedReply(deps, run)
  const tools = offeredTools(optionsOf(run).tools, deps.tools)
  const hasApprovals = decisions.size > 0
  // The server has not yet appended the error of an invalid call, and the caller cannot append it: the run fails.
  if (!hasApprovals && invalidCalls(open, tools).size > 0) return null
  const toApprove = hasApprovals ? [] : callsToApprove(open, tools)
  const ofServer = settleCalls(open, tools, decisions).filter(({ by }) => by === 'SERVER')
  const openToApprove = toApprove.length
  const reply = {
    status: turn.status,
    calls,
    openCalls: open.length,
    openToApprove,
    openOfServer: ofServer.length,
    hasApprovals,
  }
  return { reply, toApprove }
}

/** Fields of calls whose process has died. `hasPrompt` is true, because the provider may have read the prompt. */
const LOST_CALLS = { round: null, attempts: null, hasPrompt: true, errorCode: 'INTERRUPTED' }

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
  // Close the reply first, so that the process, if it is still running, cannot commit it.
  if (turnId !== null) await abortOwnTurn(deps, tenant, turnId, failure.message)
  await endFailedCalls(deps.pool, { tenant, runId: run.id }, LOST_CALLS)
  const loss = await readLoss(deps, run).catch((error: unknown) => {
    if (error instanceof RunFailure) return null
    throw error
  })
  const event = eventAfterLoss(loss?.reply ?? null)
  const { toApprove = [] } = loss ?? {}
  const fail = (because: RunFailure) => changeRun(deps, run, { event: 'fail', heldBy: run.holder, failure: because })
  if (event === 'fail') return void (await fail(failure))
  try {
    await changeRun(deps, run, {
      event,
      heldBy: run.holder,
      ...(event === 'await-approval' && turnId !== null && toApprove.length > 0
        ? { also: async (tx, waiting) => void (await requestApprovals(tx, waiting, turnId, toApprove)) }
        : null),
    })
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error
    await fail(error)
  }
}

/**
 * Records the end and the tokens of provider calls whose run was cancelled after its process had died. Returns the
 * number of these runs. Any number of processes may run it.
 */
export async function endAbandonedCalls(deps: SweepDeps): Promise<number> {
  const runs = await readAbandonedCalls(deps.db, deps.streamLeaseMs, SWEEP_BATCH)
  for (const run of runs) if (await endFailedCalls(deps.pool, run, LOST_CALLS)) announceRun(deps, run.runId)
  return runs.length
}

/**
 * Handles the runs whose lease has expired, and returns their number. Any number of processes may run it.
 * @param maxLeaseMs time for which processes could renew their leases without interruption; does nothing if it is
 * shorter than the lease. Null for any time.
 */
export async function endLostRuns(deps: SweepDeps, maxLeaseMs: number | null = null): Promise<number> {
  if (maxLeaseMs !== null && maxLeaseMs < runLeaseSeconds(deps) * 1000) return 0
  const lost = await readLostRuns(deps.db, SWEEP_BATCH)
  const results = await Promise.allSettled(lost.map((run) => endLost(deps, run)))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return lost.length
}
