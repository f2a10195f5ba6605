// Requests approvals of a reply's tool calls, cancels pending approvals, and expires approvals at their time limit.
// Each change is a journal entry. Every transaction locks the journal before any other row, so a call either waits before
// a newer version of its turn is written, which is then refused, or its turn is superseded before the call waits.

import { Conflict } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import {
  readDueApprovals,
  insertApproval,
  readTime,
  writeResolution,
} from '../../../../store/sql/agent/approval/approvals.ts'
import { lockJournal, writeEntry } from '../../../../store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import { newId } from '../../../kernel/id.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { announceEntries } from '../../../kernel/live/publisher.ts'
import { stepApproval } from './approval-state.ts'
import { hashOfCall } from '../tools/call-hash.ts'
import { RunFailure } from '../answer/failure.ts'

/** A tool call that requires approval. `seconds` is the time until its approval expires. */
export type CallToApprove = { callId: string; toolName: string; seconds: number }

type RunRef = { id: string; conversationId: string }

/** Reads the content of the turn whose calls need approval. @throws RunFailure */
async function readTurn(tx: Tx, conversationId: string, turnId: string): Promise<{ text: string; parts: unknown }> {
  const turn = await tx.turn.findUnique({ where: { id_conversationId: { id: turnId, conversationId } } })
  if (turn?.status === 'COMMITTED' && turn.supersededBy === null && turn.removedAt === null) return turn
  throw new RunFailure(
    'INTERRUPTED',
    'The turn with the tool calls was superseded or erased before they were approved.',
  )
}

/**
 * Requests an approval for each of the given tool calls of the turn, in order. The transaction must have locked the
 * journal.
 * @returns the seq of the last entry
 * @throws RunFailure if the turn was superseded or erased, or its content was removed
 */
export async function requestApprovals(
  tx: Tx,
  { id: runId, conversationId }: RunRef,
  turnId: string,
  calls: readonly CallToApprove[],
): Promise<number> {
  // Sorted, because approvals that were requested at the same time are listed in the order of their ids.
  const ids = calls.map(() => newId('approval')).sort()
  const turn = await readTurn(tx, conversationId, turnId)
  let seq = 0
  for (const [index, call] of calls.entries()) {
    const approvalId = ids[index]!
    const hash = hashOfCall(turn, call.callId)
    if (hash === null) throw new Error(`Turn ${turnId} has no call ${call.callId}.`)
    await insertApproval(tx, { id: approvalId, conversationId, runId, turnId, callHash: hash, ...call })
    seq = await writeEntry(tx, conversationId, 'APPROVAL_REQUESTED', { turnId, approvalId })
  }
  return seq
}

type Pending = { id: string; turnId: string; conversationId: string }

async function end(tx: Tx, { id, turnId, conversationId }: Pending, state: 'EXPIRED' | 'CANCELLED'): Promise<number> {
  await writeResolution(tx, id, { state, editedArguments: null, reason: null, decidedBy: null, callHash: null })
  return writeEntry(tx, conversationId, 'APPROVAL_RESOLVED', { turnId, approvalId: id })
}

/**
 * Cancels the pending approvals of a run, or of the tool calls in the given turns. The transaction must have locked the
 * journal.
 * @returns the seq of the last entry; null if none was pending
 */
export async function cancelApprovals(
  tx: Tx,
  where: { runId: string } | { turnId: { in: string[] } },
): Promise<number | null> {
  const approvals = await tx.approval.findMany({ where, orderBy: { id: 'asc' } })
  let seq: number | null = null
  for (const approval of approvals) {
    if (stepApproval(approval, { type: 'cancel' }).outcome === 'changed') seq = await end(tx, approval, 'CANCELLED')
  }
  return seq
}

/** @throws Conflict while a tool call of the run waits for a decision */
export async function requireDecided(tx: Tx, runId: string): Promise<void> {
  const pending = await tx.approval.count({ where: { runId, state: 'PENDING' } })
  if (pending > 0)
    throw new Conflict(
      `Run ${runId} still waits for a decision about ${pending === 1 ? 'a tool call' : `${pending} tool calls`}.`,
    )
}

/** Maximum number of approvals that one call of `expireApprovals` expires. */
const SWEEP_BATCH = 100

/**
 * Expires up to SWEEP_BATCH pending approvals whose time limit has passed, and returns their number. Several processes
 * may run it at the same time.
 */
export async function expireApprovals(deps: Platform): Promise<number> {
  const due = await readDueApprovals(deps.db, SWEEP_BATCH)
  let count = 0
  for (const { id, tenant, conversationId } of due) {
    const isExpired = await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
      if (!(await lockJournal(tx, { tenant, actor: null }, conversationId))) return false
      const approval = await tx.approval.findUnique({ where: { id } })
      if (!approval) return false
      const step = stepApproval(approval, { type: 'expire', now: await readTime(tx) })
      if (step.outcome !== 'changed') return false
      const seq = await end(tx, approval, 'EXPIRED')
      afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
      return true
    })
    if (isExpired) count += 1
  }
  return count
}
