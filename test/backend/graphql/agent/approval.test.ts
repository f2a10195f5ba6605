// Approvals as clients see them: events, lists, the decision, and the arguments of the call.

import { describe, expect, it } from 'vitest'
import { eraseTurn } from '../../../../src/domain/trust/erasure/erase-turn.ts'
import { callHash } from '../../../../src/domain/agent/run/tools/call-hash.ts'
import { requestedApprovals } from '../../../support/approvals.ts'
import { backends } from '../../../support/backend.ts'
import { take, TENANT, useClients } from '../client.ts'

const FIELDS = 'id callId toolName arguments callHash edited state decidedBy reason turn { actor } conversation { id }'

const EVENTS = `subscription ($id: ID!) {
  conversationEvents(conversationId: $id, afterSeq: 0, types: [APPROVAL_REQUESTED, APPROVAL_RESOLVED]) {
    __typename
    ... on ApprovalRequested { approval { ${FIELDS} } }
    ... on ApprovalResolved { approval { ${FIELDS} } }
  }
}`

const RESOLVE = `mutation ($input: ResolveApprovalInput!) {
  resolveApproval(input: $input) {
    ... on ResolveApprovalPayload { approval { ${FIELDS} } changed }
    ... on UserError { code message }
  }
}`

describe.each(backends)('an approval on $name', (backend) => {
  const clients = useClients(backend)
  const [ada, bob] = [clients.as('ada'), clients.as('bob')]

  it('is announced, listed, decided and announced again, to viewers of the turn only', async () => {
    const id = await clients.newConversation(['ada', 'bob', 'bot'])
    const calls = [{ callId: 'c1', arguments: { amount: 9 } }, { callId: 'c2' }]
    const { approvalIds } = await requestedApprovals(clients.deps, TENANT, id, { calls, audience: ['ada'] })
    const following = await clients.follow('ada', EVENTS, { id })
    const [first, second] = await take(following, 2)
    const approval = {
      id: approvalIds[0],
      callId: 'c1',
      toolName: 'pay',
      arguments: { amount: 9 },
      callHash: callHash({ id: 'c1', name: 'pay', arguments: { amount: 9 } }),
      edited: false,
      state: 'PENDING',
      decidedBy: null,
      reason: null,
      turn: { actor: 'bot' },
      conversation: { id },
    }
    expect(first.conversationEvents).toEqual({ __typename: 'ApprovalRequested', approval })
    expect(second.conversationEvents.approval).toMatchObject({ id: approvalIds[1], arguments: { amount: 5 } })

    const LIST = `query ($id: ID!) { approvals(conversationId: $id, state: PENDING, first: 1) {
      nodes { ${FIELDS} } pageInfo { hasNextPage } } }`
    expect(await ada(LIST, { id })).toEqual({
      approvals: { nodes: [{ ...approval, ...second.conversationEvents.approval }], pageInfo: { hasNextPage: true } },
    })
    expect(await bob(LIST, { id })).toEqual({ approvals: { nodes: [], pageInfo: { hasNextPage: false } } })
    const NODE = `query ($id: ID!) { node(id: $id) { __typename id ... on Approval { state } } }`
    expect(await bob(NODE, { id: approvalIds[0] })).toEqual({ node: null })
    expect(await bob(RESOLVE, { input: { approvalId: approvalIds[0], decision: 'APPROVE' } })).toMatchObject({
      resolveApproval: { code: 'NOT_FOUND' },
    })

    const unexpected = { approvalId: approvalIds[0], decision: 'APPROVE', expectedCallHash: '0'.repeat(64) }
    expect(await ada(RESOLVE, { input: unexpected })).toMatchObject({
      resolveApproval: { code: 'CONFLICT', message: expect.stringContaining('is not the expected one') },
    })
    await clients.deps.db.of(TENANT).approval.updateMany({ data: { callHash: null } })
    const HASH = `query ($id: ID!) { node(id: $id) { ... on Approval { callHash } } }`
    expect(await ada(HASH, { id: approvalIds[0] })).toEqual({ node: { callHash: approval.callHash } })

    const next = take(following, 1)
    const input = {
      expectedCallHash: approval.callHash,
      approvalId: approvalIds[0],
      decision: 'APPROVE',
      arguments: { amount: 3 },
      reason: 'Less.',
    }
    const resolved = {
      ...approval,
      arguments: { amount: 3 },
      edited: true,
      state: 'APPROVED',
      decidedBy: 'ada',
      reason: 'Less.',
    }
    expect(await ada(RESOLVE, { input })).toEqual({ resolveApproval: { approval: resolved, changed: true } })
    expect(await next).toEqual([{ conversationEvents: { __typename: 'ApprovalResolved', approval: resolved } }])
    expect(await ada(RESOLVE, { input })).toEqual({ resolveApproval: { approval: resolved, changed: false } })
    expect(await ada(RESOLVE, { input: { ...input, decision: 'DENY', arguments: null } })).toMatchObject({
      resolveApproval: { code: 'CONFLICT', message: expect.stringContaining('"ada" approved the call of pay') },
    })
    expect(await ada(NODE, { id: approvalIds[0] })).toEqual({
      node: { __typename: 'Approval', id: approvalIds[0], state: 'APPROVED' },
    })
    await following.return?.()
  })

  it('has no arguments once its turn is erased', async () => {
    const id = await clients.newConversation(['ada', 'bot'])
    const { turnId, approvalIds } = await requestedApprovals(clients.deps, TENANT, id)
    await eraseTurn(clients.deps, { tenant: TENANT, actor: 'ada' }, { turnId })
    const { nodes } = await ada(`query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Approval { arguments state } } }`, {
      ids: approvalIds,
    })
    expect(nodes).toEqual([{ arguments: null, state: 'CANCELLED' }])
  })
})
