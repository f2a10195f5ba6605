// Approves or denies a tool call that waits for approval.

import { z } from 'zod'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../errors.ts'
import type { Tx } from '../../../../store/db/db.ts'
import { readApprovals } from '../../../../store/sql/agent/approval/read-approvals.ts'
import { readTime, writeResolution } from '../../../../store/sql/agent/approval/approvals.ts'
import { lockJournal, writeEntry } from '../../../../store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import { authorize, isWithinReach, requireChange, requirePermits } from '../../../kernel/rights/authorize.ts'
import { id, metadata, parse, text } from '../../../kernel/input.ts'
import type { Platform } from '../../../kernel/platform.ts'
import { announceEntries } from '../../../kernel/live/publisher.ts'
import { redactInput } from '../../../kernel/redaction.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { stepApproval, type Decision } from './approval-state.ts'
import type { Approval } from './approval.ts'
import { hashOfCall } from '../tools/call-hash.ts'
import type { RunDeps } from '../deps.ts'
import { optionsOf } from '../options.ts'
import { invalidCalls, offeredTools } from '../tools/tools.ts'

/** Maximum length of the reason for a decision, in characters. */
export const MAX_REASON = 2_000

const resolveApprovalInput = z
  .object({
    approvalId: id('approval'),
    decision: z.enum(['APPROVE', 'DENY']),
    arguments: metadata.nullish(),
    reason: text(MAX_REASON).min(1, 'must not be empty').nullish(),
    expectedCallHash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be a callHash: 64 lower-case hexadecimal digits')
      .nullish(),
  })
  .refine(({ decision, arguments: edited }) => decision === 'APPROVE' || edited == null, {
    path: ['arguments'],
    message: 'must be absent for DENY: a denied call is not executed',
  })
export type ResolveApprovalInput = z.input<typeof resolveApprovalInput>

export type ResolvedApproval = {
  approval: Approval
  /** False if the same actor had already made the same decision. */
  changed: boolean
}

/**
 * Locks the conversation of an approval that the viewer sees, and returns the approval.
 * @throws NotFound @throws NotAllowed if the viewer has left a MEMBERS conversation
 */
async function lockApproval(tx: Tx, viewer: Viewer, approvalId: string): Promise<Approval> {
  const { tenant } = viewer
  const found = await tx.approval.findFirst({ where: { id: approvalId, tenant }, select: { conversationId: true } })
  const head =
    found && isWithinReach(viewer, found.conversationId) && (await lockJournal(tx, viewer, found.conversationId))
  const [approval] = head ? await readApprovals(tx, viewer, [approvalId]) : []
  if (!head || !approval) throw new NotFound('approval', approvalId)
  await requireChange(tx, viewer, approval.conversationId, head)
  return approval
}

/** Returns the error for a decision that comes too late. */
function conflictOf(approval: Approval, because: 'DECIDED' | 'EXPIRED' | 'CANCELLED' | 'PENDING'): Conflict {
  const { state, decidedBy, decidedAt, expiresAt, toolName } = approval
  switch (because) {
    case 'EXPIRED':
      return new Conflict(
        `The approval of ${toolName} expired at ${expiresAt.toISOString()}. The agent must call the tool again.`,
      )
    case 'CANCELLED':
      return new Conflict(
        `The call of ${toolName} no longer waits for approval: its run ended, or its turn was erased.`,
      )
    default: {
      const decided = state === 'APPROVED' ? 'approved' : 'denied'
      const at = decidedAt?.toISOString()
      const actor = JSON.stringify(decidedBy)
      return new Conflict(`${actor} ${decided} the call of ${toolName} at ${at}. A decision is final.`)
    }
  }
}

/**
 * Returns the hash of the call: the stored one, or that of the call in the turn if an older version of the server
 * requested the approval. @throws Conflict if another hash is expected
 */
async function requireHash(tx: Tx, approval: Approval, expected: string | null): Promise<string | null> {
  const { conversationId, turnId, callId, toolName } = approval
  const where = { id_conversationId: { id: turnId, conversationId } }
  const hash = approval.callHash ?? hashOfCall(await tx.turn.findUnique({ where }), callId)
  if (expected === null || expected === hash) return hash
  throw new Conflict(
    `The call of ${toolName} is not the expected one: its callHash is ${hash}. Read the approval again before you decide.`,
  )
}

type ResolveDeps = Platform & Pick<RunDeps, 'tools'>

/** Checks edited arguments against the schema of the tool, like the arguments of the model. @throws InvalidInput */
function requireValid({ tools }: ResolveDeps, run: { options: unknown }, toolName: string, edited: unknown): void {
  const offered = offeredTools(optionsOf(run).tools, tools)
  const problem = invalidCalls([{ id: '', name: toolName, arguments: edited }], offered).get('')
  if (problem !== undefined) throw InvalidInput.at('arguments', `do not match the schema of ${toolName}: ${problem}`)
}

/**
 * Approves or denies a tool call. After the last decision about the calls of a reply, a job continues the run.
 * The same decision by the same actor changes nothing. The owner and administrators who see the call may decide.
 * Without a principal, any actor who sees the call may decide. The agent that made the call never may.
 * @throws InvalidInput also for arguments that do not match the schema of the tool
 * @throws NotFound if the viewer does not see the call
 * @throws NotAllowed without a right that rights.ts requires, to the agent itself, or if the viewer has left a MEMBERS
 * conversation
 * @throws Conflict if a different decision was made (the message names its actor), the approval expired or was
 * cancelled, or the call has another hash than `expectedCallHash`
 */
export async function resolveApproval(
  deps: ResolveDeps,
  viewer: Viewer,
  input: ResolveApprovalInput,
): Promise<ResolvedApproval> {
  authorize(viewer, 'resolveApproval')
  const given = await redactInput(deps, viewer, 'resolveApproval', parse(resolveApprovalInput, input))
  const { approvalId } = given
  const decision: Decision = {
    by: viewer.actor,
    approve: given.decision === 'APPROVE',
    arguments: given.arguments ?? null,
    reason: given.reason ?? null,
  }
  return withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const approval = await lockApproval(tx, viewer, approvalId)
    const { conversationId, turnId, runId } = approval
    await requirePermits(tx, viewer, 'resolveApproval', { conversationId })
    const run = await tx.run.findUniqueOrThrow({ where: { id: runId }, select: { actor: true, options: true } })
    if (run.actor === viewer.actor || run.actor === viewer.principal?.actor) {
      throw new NotAllowed(`${JSON.stringify(run.actor)} made this call, and cannot decide about it.`)
    }
    const step = stepApproval(approval, { type: 'decide', decision, now: await readTime(tx) })
    if (step.outcome === 'refused') throw conflictOf(approval, step.because)
    const hash = await requireHash(tx, approval, given.expectedCallHash ?? null)
    if (step.outcome === 'repeated') return { approval, changed: false }
    if (decision.arguments !== null) requireValid(deps, run, approval.toolName, decision.arguments)
    await writeResolution(tx, approvalId, {
      state: step.next,
      editedArguments: decision.arguments,
      reason: decision.reason,
      decidedBy: viewer.actor,
      callHash: hash,
    })
    const seq = await writeEntry(tx, conversationId, 'APPROVAL_RESOLVED', { turnId, approvalId, actor: viewer.actor })
    const { tenant } = viewer
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: seq, last: seq }]))
    const [resolved] = await readApprovals(tx, viewer, [approvalId])
    return { approval: resolved!, changed: true }
  })
}
