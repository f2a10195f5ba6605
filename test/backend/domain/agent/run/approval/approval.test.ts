// Lists of approvals: of all conversations that the viewer sees, and of a run, in pages.

import { describe, expect, it } from 'vitest'
import {
  approvalCursor,
  getApprovalPage,
  getApprovalPages,
} from '../../../../../../src/domain/agent/run/approval/approval.ts'
import { resolveApproval } from '../../../../../../src/domain/agent/run/approval/resolve-approval.ts'
import { InvalidInput } from '../../../../../../src/errors.ts'
import { requestedApprovals } from '../../../../../support/approvals.ts'
import { backends } from '../../../../../support/backend.ts'
import { useWorld } from '../../../../../support/world.ts'

describe.each(backends)('a list of approvals on $name', (backend) => {
  const world = useWorld(backend)
  const ids = (page: { items: { id: string }[] }) => page.items.map(({ id }) => id)

  async function setUp() {
    const tenant = world.tenant()
    const conversations = [
      await tenant.newConversation('ann', 'bob', 'bot'),
      await tenant.newConversation('ann', 'bob'),
    ]
    const [one, two] = conversations as [string, string]
    const first = await requestedApprovals(world.deps, tenant.name, one, { calls: [{ callId: 'a' }, { callId: 'b' }] })
    const second = await requestedApprovals(world.deps, tenant.name, two)
    const secret = await requestedApprovals(world.deps, tenant.name, one, { audience: ['ann'] })
    const all = [...secret.approvalIds, ...second.approvalIds, ...first.approvalIds.toReversed()]
    return { tenant, one, two, first, second, secret, all }
  }

  it('contains the approvals that the viewer sees, newest first, filtered by state and conversation', async () => {
    const { tenant, one, two, first, second, secret, all } = await setUp()
    const list = async (actor: string, args: Parameters<typeof getApprovalPage>[2] = {}) =>
      ids(await getApprovalPage(world.deps, tenant.as(actor), args))
    expect(await list('ann')).toEqual(all)
    const ofBob = all.filter((id) => !secret.approvalIds.includes(id))
    expect(await list('bob')).toEqual(ofBob)
    expect(await list('bob', { conversationId: one })).toEqual(first.approvalIds.toReversed())
    const approvalId = second.approvalIds[0]!
    await resolveApproval(world.deps, tenant.as('bob'), { approvalId, decision: 'DENY' })
    expect(await list('bob', { state: 'DENIED' })).toEqual([approvalId])
    expect(await list('bob', { state: 'PENDING' })).toEqual(first.approvalIds.toReversed())
    expect(await list('bob', { state: 'PENDING', conversationId: two })).toEqual([])
    expect(ids(await getApprovalPage(world.deps, world.tenant().as('ann'), {}))).toEqual([])
  })

  it('is read in pages, in both directions', async () => {
    const { tenant, all } = await setUp()
    const ann = tenant.as('ann')
    const page = await getApprovalPage(world.deps, ann, { first: 2 })
    expect([ids(page), page.hasNextPage]).toEqual([all.slice(0, 2), true])
    const next = await getApprovalPage(world.deps, ann, { first: 5, after: approvalCursor(page.items[1]!) })
    expect([ids(next), next.hasNextPage]).toEqual([all.slice(2), false])
    const last = await getApprovalPage(world.deps, ann, { last: 1, before: approvalCursor(next.items[0]!) })
    expect(ids(last)).toEqual([all[1]])
    await expect(getApprovalPage(world.deps, ann, { first: 1_000 })).rejects.toThrow(InvalidInput)
    await expect(getApprovalPage(world.deps, ann, { after: 'x' })).rejects.toThrow(InvalidInput)
  })

  it('is limited to the conversations of the credential', async () => {
    const { tenant, one, two, second } = await setUp()
    const principal = {
      tenant: tenant.name,
      actor: 'bob',
      kind: 'HUMAN',
      rights: new Set(['read']),
      credential: 'test',
    }
    const limited = { ...tenant.as('bob'), principal: { ...principal, conversations: new Set([two]) } as never }
    expect(ids(await getApprovalPage(world.deps, limited, {}))).toEqual(second.approvalIds)
    expect(ids(await getApprovalPage(world.deps, limited, { conversationId: one }))).toEqual([])
  })

  it('contains the approvals of a run in the order of its calls', async () => {
    const { tenant, first, second, secret } = await setUp()
    const runIds = [first.runId, second.runId, secret.runId]
    const pages = await getApprovalPages(world.deps, tenant.as('bob'), runIds, { first: 1 })
    expect([...pages].map(([runId, page]) => [runId, ids(page), page.hasNextPage])).toEqual([
      [first.runId, first.approvalIds.slice(0, 1), true],
      [second.runId, second.approvalIds, false],
      [secret.runId, [], false],
    ])
    const after = approvalCursor(pages.get(first.runId)!.items[0]!)
    const rest = await getApprovalPages(world.deps, tenant.as('bob'), [first.runId], { after })
    expect(ids(rest.get(first.runId)!)).toEqual(first.approvalIds.slice(1))
  })
})
