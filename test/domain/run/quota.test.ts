// Quotas: the tokens of a day, of a participant and of a tenant.

import { beforeEach, describe, expect, it } from 'vitest'
import { QuotaExceeded } from '../../../src/errors.ts'
import { runTurn } from '../../../src/domain/run/start.ts'
import { deleteConversation } from '../../../src/domain/erasure/delete-conversation.ts'
import { updateTenantSettings } from '../../../src/domain/tenant-settings.ts'
import { backends } from '../../support/backend.ts'
import { createScriptedProvider } from '../../support/scripted-provider.ts'
import { useWorld, type Tenant } from '../../support/world.ts'

const call = { id: 'c', name: 'noop', arguments: {} }

describe.each(backends)('quotas on $name', (backend) => {
  const provider = createScriptedProvider({ inputTokens: 10, outputTokens: 5 })
  const tools = [{ name: 'noop', execute: () => 'done' }]
  const world = useWorld(backend, { providers: { scripted: provider }, tools })
  let tenant: Tenant
  beforeEach(() => {
    provider.reset()
    tenant = world.tenant()
  })
  const newConversation = (tokensPerDay: number | null) =>
    tenant.newConversation('ada', {
      actor: 'bot',
      kind: 'AGENT',
      agent: { provider: 'scripted', ...(tokensPerDay === null ? null : { tokensPerDay }) },
    })
  const ask = (conversationId: string) =>
    runTurn(world.deps, tenant.as('ada'), { conversationId, actor: 'bot', turns: [{ role: 'USER', content: 'Who?' }] })

  it('refuse a run of a participant that has used its tokens, and write nothing', async () => {
    const conversationId = await newConversation(20)
    await ask(conversationId)
    await ask(conversationId)
    const before = await tenant.lastSeq(conversationId)
    const error = await ask(conversationId).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(QuotaExceeded)
    expect(error).toMatchObject({ limit: 20, used: 30 })
    expect((error as QuotaExceeded).resetsAt.getTime()).toBeGreaterThan(Date.now())
    expect(await tenant.lastSeq(conversationId)).toBe(before)
    // The quota is that of the participant in its conversation.
    expect((await ask(await newConversation(20))).run.state).toBe('COMPLETED')
  })

  it('of the tenant hold in all conversations, and outlive them', async () => {
    await updateTenantSettings(world.deps, tenant.as('owner'), { tokensPerDay: 15 })
    const conversationId = await newConversation(null)
    await ask(conversationId)
    await deleteConversation(world.deps, tenant.as('owner'), conversationId)
    await expect(ask(await newConversation(null))).rejects.toThrow(QuotaExceeded)
    await updateTenantSettings(world.deps, tenant.as('owner'), { tokensPerDay: null })
    expect((await ask(await newConversation(null))).run.state).toBe('COMPLETED')
  })

  it('end a run between two calls', async () => {
    provider.next([call])
    const { run } = await ask(await newConversation(15))
    expect(run).toMatchObject({ state: 'FAILED', errorCode: 'QUOTA_EXCEEDED', round: 1 })
  })
})
