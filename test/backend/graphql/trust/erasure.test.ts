// Erasure, legal holds and retention through the API.

import { describe, expect, it } from 'vitest'
import { deleteExpiredConversations } from '../../../../src/domain/trust/erasure/retention.ts'
import { backends } from '../../../support/backend.ts'
import { useClients } from '../client.ts'

const RECEIPT =
  'receipt { id kind subject conversations turns facts summaries profiles held counts completedAt document signature }'

describe.each(backends)('erasure in the API on $name', (backend) => {
  const clients = useClients(backend, { integrityKey: 'k'.repeat(32) })
  const { as, newConversation, append } = clients
  const mutate = async (verb: string, input: object, selection: string) => {
    const name = verb[0]!.toUpperCase() + verb.slice(1)
    const document = `mutation ($input: ${name}Input!) { ${verb}(input: $input) {
      __typename ... on ${name}Payload { ${selection} } ... on UserError { code message } } }`
    return (await as('ada')(document, { input }))[verb]
  }

  it('erases a turn, and verifies the receipt', async () => {
    const conversationId = await newConversation(['ada'])
    const { id: turnId } = await append(conversationId, 'secret')
    const erased = await mutate('eraseTurn', { turnId }, `turn { id status text removedAt contentHash } ${RECEIPT}`)
    expect(erased.turn).toEqual({ id: turnId, status: 'ERASED', text: '', removedAt: null, contentHash: null })
    expect(erased.receipt).toMatchObject({ kind: 'TURN', subject: turnId, turns: 1, held: 0, counts: { turn: 1 } })
    const { document, signature } = erased.receipt
    const verify = 'query ($d: String!, $s: String!) { verifyErasureReceipt(document: $d, signature: $s) }'
    expect(await as('ada')(verify, { d: document, s: signature })).toEqual({ verifyErasureReceipt: true })
    expect(await as('ada')(verify, { d: `${document} `, s: signature })).toEqual({ verifyErasureReceipt: false })
  })

  it('erases a user, and returns the erasure again by its id', async () => {
    const conversationId = await newConversation(['ada', 'bob'])
    await append(conversationId, 'secret')
    const { erasure } = await mutate('eraseUser', { userId: 'ada' }, `erasure { id createdAt ${RECEIPT} }`)
    expect(erasure.receipt).toMatchObject({ kind: 'USER', subject: expect.stringMatching(/^user:[\da-f]{64}$/) })
    const again = await as('ada')(`query ($id: ID!) { erasure(id: $id) { id createdAt ${RECEIPT} } }`, {
      id: erasure.id,
    })
    expect(again).toEqual({ erasure })
    for (const id of ['none', '\0']) {
      expect(await as('ada')('query ($id: ID!) { erasure(id: $id) { id } }', { id })).toEqual({ erasure: null })
    }
  })

  it('sets a legal hold on a conversation by its key, which prevents its deletion', async () => {
    const conversationId = await newConversation(['ada'], { key: 'held' })
    const held = await mutate('setLegalHold', { conversationKey: 'held', legalHold: true }, 'legalHold changed')
    expect(held).toMatchObject({ legalHold: true, changed: true })
    expect(await mutate('deleteConversation', { conversationId }, 'deletedConversationId')).toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringContaining('legal hold'),
    })
    const { conversation } = await as('ada')('{ conversation(key: "held") { legalHold retention expiresAt } }')
    expect(conversation).toEqual({ legalHold: true, retention: 'FULL', expiresAt: null })
    expect(await mutate('setLegalHold', { legalHold: true }, 'changed')).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('sets the retention and expiry of a tenant and of a conversation, and deletes expired conversations', async () => {
    const settings = await mutate(
      'updateTenantSettings',
      { retention: 'AUDIT_ONLY', ttlSeconds: 3600 },
      'tenantSettings { retention ttlSeconds }',
    )
    expect(settings.tenantSettings).toEqual({ retention: 'AUDIT_ONLY', ttlSeconds: 3600 })
    expect(await as('ada')('{ tenantSettings { ttlSeconds } }')).toEqual({ tenantSettings: { ttlSeconds: 3600 } })
    const id = await newConversation(['ada'], { retention: 'EPHEMERAL' })
    const read = async () =>
      (await as('ada')('query ($id: ID!) { conversation(id: $id) { retention expiresAt } }', { id })).conversation
    expect(await read()).toEqual({ retention: 'EPHEMERAL', expiresAt: expect.any(String) })
    await mutate('updateConversation', { conversationId: id, expiresAt: '2020-01-01T00:00:00Z' }, 'conversation { id }')
    expect((await read()).expiresAt).toBe('2020-01-01T00:00:00.000Z')
    await deleteExpiredConversations(clients.deps)
    expect(await read()).toBeNull()
    await mutate('updateTenantSettings', { retention: null, ttlSeconds: null }, 'tenantSettings { retention }')
    expect(await mutate('pruneConversations', { olderThanDays: 0 }, 'expired')).toMatchObject({ code: 'INVALID_INPUT' })
    expect(await mutate('pruneConversations', { olderThanDays: 1 }, 'expired')).toMatchObject({ expired: 0 })
  })
})
