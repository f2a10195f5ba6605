// Requests approvals as a run does: creates an agent's turn with tool calls, and a run that waits for decisions.

import type { Deps } from '../../src/domain/deps.ts'
import { newId } from '../../src/domain/kernel/id.ts'
import { announceEntries } from '../../src/domain/kernel/live/publisher.ts'
import { requestApprovals } from '../../src/domain/agent/run/approval/request-approvals.ts'
import { APPROVAL_SECONDS } from '../../src/domain/agent/definition/tool-definition.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { lockJournal } from '../../src/store/sql/turn/journal/write-entry.ts'
import { withTransaction } from '../../src/store/db/tx.ts'

export type GivenCall = { callId: string; arguments?: Record<string, unknown>; seconds?: number }

/** The tool of the calls; its argument `amount` is a number. */
const PAY = {
  name: 'pay',
  schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
}

/** Requests approvals of calls by the agent "bot". Returns their ids in the order of the calls. */
export async function requestedApprovals(
  deps: Deps,
  tenant: string,
  conversationId: string,
  { calls = [{ callId: 'c1' }], audience }: { calls?: GivenCall[]; audience?: string[] } = {},
): Promise<{ runId: string; turnId: string; approvalIds: string[] }> {
  const parts = calls.map(({ callId, arguments: given = { amount: 5 } }) => ({
    toolCall: { callId, name: PAY.name, arguments: given },
  }))
  const { turn } = await appendTurn(
    deps,
    { tenant, actor: 'bot' },
    { conversationId, turn: { role: 'ASSISTANT', parts, ...(audience && { audience }) } },
  )
  const runId = newId('run')
  await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const head = await lockJournal(tx, { tenant, actor: null }, conversationId)
    await tx.run.create({
      data: {
        id: runId,
        tenant,
        conversationId,
        seq: turn.seq,
        ...(audience && { audience }),
        actor: 'bot',
        viewer: 'owner',
        state: 'WAITING_FOR_APPROVAL',
        provider: 'echo',
        model: 'echo',
        turnId: turn.id,
        round: 1,
        options: { tools: [{ ...PAY, requiresApproval: true }] },
      },
    })
    const requested = calls.map(({ callId, seconds = APPROVAL_SECONDS.default }) => ({
      callId,
      toolName: PAY.name,
      seconds,
    }))
    const last = await requestApprovals(tx, { id: runId, conversationId }, turn.id, requested)
    afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: head!.lastSeq + 1, last }]))
  })
  const rows = await deps.db.of(tenant).approval.findMany({ where: { runId }, orderBy: { id: 'asc' } })
  return { runId, turnId: turn.id, approvalIds: rows.map(({ id }) => id) }
}
