// Decisions about tool calls: the actors who may decide, the stored state and the events, and the outcome of a second
// decision.

import { describe, expect, it } from 'vitest'
import { deleteConversation } from '../../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { eraseTurn } from '../../../../../../src/domain/trust/erasure/erase-turn.ts'
import { eraseUser } from '../../../../../../src/domain/trust/erasure/erase-user.ts'
import { readEvents } from '../../../../../../src/domain/turn/journal/journal-page.ts'
import { newId } from '../../../../../../src/domain/kernel/id.ts'
import type { Right } from '../../../../../../src/domain/kernel/rights/principal.ts'
import { getApprovals } from '../../../../../../src/domain/agent/run/approval/approval.ts'
import { cancelApprovals, expireApprovals } from '../../../../../../src/domain/agent/run/approval/request-approvals.ts'
import { resolveApproval } from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { updateParticipant } from '../../../../../../src/domain/conversation/participant/update-participant.ts'
import type { Viewer } from '../../../../../../src/domain/kernel/view.ts'
import { Conflict, InvalidInput, NotAllowed, NotFound } from '../../../../../../src/errors.ts'
import { withTransaction } from '../../../../../../src/store/db/tx.ts'
import { requestedApprovals } from '../../../../../support/approvals.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld, type Tenant } from '../../../../../support/world.ts'

describe.each(backends)('an approval on $name', (backend) => {
  const world = useWorld(backend)
  const request = (tenant: Tenant, conversationId: string, given?: Parameters<typeof requestedApprovals>[3]) =>
    requestedApprovals(world.deps, tenant.name, conversationId, given)
  const read = async (viewer: Viewer, id: string) => (await getApprovals(world.deps, viewer, [id])).get(id) ?? null
  const eventsOf = async (tenant: Tenant, conversationId: string) =>
    (await readEvents(world.deps, tenant.name, conversationId, { after: 0, limit: 500 })).events.filter(({ type }) =>
      type.startsWith('Approval'),
    )
  /** Returns the viewer with a credential that has only these rights. */
  const withRights = (viewer: Viewer, ...rights: Right[]): Viewer => ({
    ...viewer,
    principal: { ...viewer, kind: 'HUMAN', rights: new Set(rights), conversations: null, credential: 'test' } as never,
  })

  async function setUp(given?: Parameters<typeof requestedApprovals>[3]) {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('owner', 'ann', 'bob')
    const requested = await request(tenant, conversationId, given)
    return { tenant, conversationId, ...requested, approvalId: requested.approvalIds[0]! }
  }

  it('is requested for each call, with an event each', async () => {
    const { tenant, conversationId, runId, turnId, approvalIds } = await setUp({
      calls: [{ callId: 'c1' }, { callId: 'c2', seconds: 60 }],
    })
    const [first, second] = [...(await getApprovals(world.deps, tenant.as('bob'), approvalIds)).values()].sort((a, b) =>
      a.callId.localeCompare(b.callId),
    )
    expect(first).toMatchObject({
      conversationId,
      runId,
      turnId,
      callId: 'c1',
      toolName: 'pay',
      state: 'PENDING',
      editedArguments: null,
      decidedBy: null,
      decidedAt: null,
      reason: null,
    })
    expect(first!.expiresAt.getTime() - first!.requestedAt.getTime()).toBe(7 * 86_400_000)
    expect(second!.expiresAt.getTime() - second!.requestedAt.getTime()).toBe(60_000)
    const events = await eventsOf(tenant, conversationId)
    expect(events.map((event) => [event.type, 'approval' in event && event.approval.id])).toEqual([
      ['ApprovalRequested', first!.id],
      ['ApprovalRequested', second!.id],
    ])
  })

  it('is decided once: approved, approved with edited arguments, or denied', async () => {
    const { tenant, conversationId, approvalIds } = await setUp({
      calls: [{ callId: 'c1' }, { callId: 'c2' }, { callId: 'c3' }],
    })
    const ann = tenant.as('ann')
    const [plain, edited, denied] = approvalIds as [string, string, string]
    const decisions = [
      { approvalId: plain, decision: 'APPROVE' },
      { approvalId: edited, decision: 'APPROVE', arguments: { amount: 3 }, reason: 'Less is enough.' },
      { approvalId: denied, decision: 'DENY', reason: 'Too expensive.' },
    ] as const
    for (const decision of decisions) {
      const { approval, changed } = await resolveApproval(world.deps, ann, decision)
      expect(changed).toBe(true)
      expect(approval).toMatchObject({ id: decision.approvalId, decidedBy: 'ann', decidedAt: expect.any(Date) })
    }
    expect(await read(ann, plain)).toMatchObject({ state: 'APPROVED', editedArguments: null, reason: null })
    expect(await read(ann, edited)).toMatchObject({
      state: 'APPROVED',
      editedArguments: { amount: 3 },
      reason: 'Less is enough.',
    })
    expect(await read(ann, denied)).toMatchObject({ state: 'DENIED', reason: 'Too expensive.' })

    // The same actor can repeat the decision; another actor gets an error that names the deciding actor.
    const lastSeq = await tenant.lastSeq(conversationId)
    for (const decision of decisions) {
      expect(await resolveApproval(world.deps, ann, decision)).toMatchObject({
        changed: false,
        approval: { id: decision.approvalId, decidedBy: 'ann' },
      })
      const late = resolveApproval(world.deps, tenant.as('bob'), decision)
      await expect(late).rejects.toThrow(Conflict)
      await expect(late).rejects.toThrow(/^"ann" (approved|denied) the call of pay at 2\d{3}-/)
    }
    expect(await tenant.lastSeq(conversationId)).toBe(lastSeq)
    const resolved = (await eventsOf(tenant, conversationId)).slice(3)
    expect(resolved.map((event) => [event.type, 'approval' in event && event.approval.state])).toEqual([
      ['ApprovalResolved', 'APPROVED'],
      ['ApprovalResolved', 'APPROVED'],
      ['ApprovalResolved', 'DENIED'],
    ])
  })

  it('is decided by one of several concurrent calls', async () => {
    const { tenant, approvalId } = await setUp()
    const outcomes = await Promise.allSettled(
      ['ann', 'bob', 'owner'].map((actor, index) =>
        resolveApproval(world.deps, tenant.as(actor), { approvalId, decision: index === 1 ? 'DENY' : 'APPROVE' }),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Conflict)
  })

  it('is decided by the owner, an administrator, or a credential with the right `manage`', async () => {
    const { tenant, conversationId, approvalId } = await setUp()
    await updateParticipant(world.deps, tenant.as('owner'), { conversationId, actor: 'bob', administrator: true })
    const decide = (viewer: Viewer) => resolveApproval(world.deps, viewer, { approvalId, decision: 'APPROVE' })
    const refused = decide(withRights(tenant.as('ann'), 'read', 'write'))
    await expect(refused).rejects.toThrow(NotAllowed)
    await expect(refused).rejects.toThrow('the owner or an administrator of the conversation')
    await expect(decide(withRights(tenant.as('owner'), 'read', 'manage'))).rejects.toThrow(/right `write`/)
    expect(await decide(withRights(tenant.as('bob'), 'write'))).toMatchObject({ changed: true })

    for (const [index, viewer] of [
      withRights(tenant.as('owner'), 'write'),
      withRights(tenant.as('ann'), 'write', 'manage'),
      withRights(tenant.as('zoe'), 'write', 'manage'),
    ].entries()) {
      const other = await request(tenant, conversationId, { calls: [{ callId: `other ${index}` }] })
      const given = { approvalId: other.approvalIds[0]!, decision: 'DENY' } as const
      expect(await resolveApproval(world.deps, viewer, given)).toMatchObject({ changed: true })
    }
  })

  it('is not decided by the agent that made the call, whatever its rights', async () => {
    const { tenant, conversationId, approvalId } = await setUp()
    await updateParticipant(world.deps, tenant.as('owner'), { conversationId, actor: 'bot', administrator: true })
    const bot = tenant.as('bot')
    for (const viewer of [
      bot,
      withRights(bot, 'write', 'manage', 'act-as'),
      { ...withRights(bot, 'write', 'manage', 'act-as'), actor: 'owner' },
    ]) {
      const decided = resolveApproval(world.deps, viewer, { approvalId, decision: 'APPROVE' })
      await expect(decided).rejects.toThrow('"bot" made this call, and cannot decide about it.')
    }
    expect(await read(tenant.as('ann'), approvalId)).toMatchObject({ state: 'PENDING' })
  })

  it('is seen and decided only by viewers of the turn', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('owner', 'ann', 'bob', 'bot')
    const { approvalIds } = await request(tenant, conversationId, { audience: ['ann'] })
    const approvalId = approvalIds[0]!
    expect(await read(tenant.as('ann'), approvalId)).toMatchObject({ id: approvalId })
    for (const actor of ['owner', 'bob', 'zoe']) {
      expect(await read(tenant.as(actor), approvalId)).toBeNull()
      const decided = resolveApproval(world.deps, tenant.as(actor), { approvalId, decision: 'APPROVE' })
      await expect(decided).rejects.toThrow(NotFound)
    }
    const foreign = resolveApproval(world.deps, world.tenant().as('ann'), { approvalId, decision: 'APPROVE' })
    await expect(foreign).rejects.toThrow(NotFound)
    expect(await resolveApproval(world.deps, tenant.as('ann'), { approvalId, decision: 'APPROVE' })).toMatchObject({
      changed: true,
    })
  })

  it('rejects an unknown id, a denial with arguments, and arguments that are no object', async () => {
    const { tenant, approvalId } = await setUp()
    const decide = (input: object) => resolveApproval(world.deps, tenant.as('ann'), input as never)
    await expect(decide({ approvalId: newId('approval'), decision: 'APPROVE' })).rejects.toThrow(NotFound)
    for (const [input, message] of [
      [{ approvalId: 'x', decision: 'APPROVE' }, 'approvalId: is not the id of an approval'],
      [{ approvalId, decision: 'DENY', arguments: { amount: 1 } }, 'arguments: must be absent for DENY'],
      [{ approvalId, decision: 'APPROVE', arguments: [1] }, 'arguments: must be a JSON object'],
      [{ approvalId, decision: 'APPROVE', reason: 'x'.repeat(2_001) }, 'reason: must be at most 2000 characters'],
    ] as const) {
      await expect(decide(input)).rejects.toThrow(InvalidInput)
      await expect(decide(input)).rejects.toThrow(message)
    }
  })

  it('expires once at its time limit, and cannot be decided after it', async () => {
    const { tenant, conversationId, approvalIds } = await setUp({
      calls: [{ callId: 'c1', seconds: 0 }, { callId: 'c2' }],
    })
    const [short, long] = approvalIds as [string, string]
    const ann = tenant.as('ann')
    const late = resolveApproval(world.deps, ann, { approvalId: short, decision: 'APPROVE' })
    await expect(late).rejects.toThrow(/^The approval of pay expired at /)
    const [first, second] = await Promise.all([expireApprovals(world.deps), expireApprovals(world.deps)])
    expect(first + second).toBe(1)
    expect(await read(ann, short)).toMatchObject({ state: 'EXPIRED', decidedBy: null, decidedAt: expect.any(Date) })
    expect(await read(ann, long)).toMatchObject({ state: 'PENDING' })
    expect((await eventsOf(tenant, conversationId)).map(({ type }) => type)).toEqual([
      'ApprovalRequested',
      'ApprovalRequested',
      'ApprovalResolved',
    ])
    await expect(resolveApproval(world.deps, ann, { approvalId: short, decision: 'DENY' })).rejects.toThrow(Conflict)
  })

  it('is cancelled with its run, unless it is decided', async () => {
    const { tenant, runId, approvalIds } = await setUp({ calls: [{ callId: 'c1' }, { callId: 'c2' }] })
    const [decided, open] = approvalIds as [string, string]
    const ann = tenant.as('ann')
    await resolveApproval(world.deps, ann, { approvalId: decided, decision: 'APPROVE' })
    await withTransaction(world.deps.db, tenant.name, (tx) => cancelApprovals(tx, { runId }))
    expect(await read(ann, decided)).toMatchObject({ state: 'APPROVED' })
    expect(await read(ann, open)).toMatchObject({ state: 'CANCELLED', decidedBy: null })
    const late = resolveApproval(world.deps, ann, { approvalId: open, decision: 'APPROVE' })
    await expect(late).rejects.toThrow('no longer waits for approval')
  })

  it('loses its texts, and is cancelled, when the turn with the call is erased', async () => {
    const { tenant, turnId, approvalIds } = await setUp({ calls: [{ callId: 'c1' }, { callId: 'c2' }] })
    const [decided, open] = approvalIds as [string, string]
    const ann = tenant.as('ann')
    const given = { approvalId: decided, decision: 'APPROVE', arguments: { amount: 1 }, reason: 'secret' } as const
    await resolveApproval(world.deps, ann, given)
    await eraseTurn(world.deps, tenant.as('owner'), { turnId })
    expect(await read(ann, decided)).toMatchObject({ state: 'APPROVED', editedArguments: null, reason: null })
    expect(await read(ann, open)).toMatchObject({ state: 'CANCELLED' })
  })

  it('loses the texts of an erased user, and is cancelled if that user edited the arguments', async () => {
    const { tenant, approvalIds } = await setUp({ calls: [{ callId: 'c1' }, { callId: 'c2' }] })
    const [edited, denied] = approvalIds as [string, string]
    const zoe = tenant.as('zoe')
    const given = { approvalId: edited, decision: 'APPROVE', arguments: { amount: 1 } } as const
    await resolveApproval(world.deps, zoe, given)
    await resolveApproval(world.deps, zoe, { approvalId: denied, decision: 'DENY', reason: 'secret' })
    await eraseUser(world.deps, zoe, { userId: 'zoe' })
    expect(await read(tenant.as('ann'), edited)).toMatchObject({ state: 'CANCELLED', editedArguments: null })
    expect(await read(tenant.as('ann'), denied)).toMatchObject({ state: 'DENIED', reason: null })
  })

  it('is deleted with its conversation', async () => {
    const { tenant, conversationId, approvalId } = await setUp()
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    expect(await read(tenant.as('ann'), approvalId)).toBeNull()
    const late = resolveApproval(world.deps, tenant.as('ann'), { approvalId, decision: 'APPROVE' })
    await expect(late).rejects.toThrow(NotFound)
  })
})
