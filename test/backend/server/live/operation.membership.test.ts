// After a participant is removed from a MEMBERS conversation, its subscriptions deliver the ParticipantLeft event and
// then end, on every transport and for every kind of document.

import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest'
import { addParticipant, removeParticipant } from '../../../../src/domain/conversation/participant/participant.ts'
import { createConversation, updateConversation } from '../../../../src/domain/conversation/conversation.ts'
import { appendTurn } from '../../../../src/domain/turn/append/append.ts'
import type { Pool } from '../../../../src/store/db/tenant-pool.ts'
import { backends } from '../../../support/backend.ts'
import { subscribed, useServer } from '../../../support/server.ts'

const TENANT = 'acme'
/**
 * A document whose rendered events viewers share, and one whose events they do not. Both start after the entries that
 * record that ada and bob joined.
 */
const DOCUMENTS = {
  shareable: 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 2) { __typename seq } }',
  'not shareable': `subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 2) {
    __typename seq ... on ParticipantLeft { participant { unreadCount } } } }`,
}

describe.each(backends)('the subscription of a removed participant, on $name', (backend) => {
  const server = useServer(backend)
  const as = (actor: string) => ({ tenant: TENANT, actor })

  async function newConversation(): Promise<string> {
    const input = { visibility: 'MEMBERS' as const, participants: [{ actor: 'ada' }, { actor: 'bob' }] }
    return (await createConversation(server.deps, as('ada'), input)).conversation.id
  }
  const append = (conversationId: string, content: string) =>
    appendTurn(server.deps, as('ada'), { conversationId, turn: { role: 'USER', content } })

  /** Subscribes as bob over a WebSocket. Resolves with the types of all events when the subscription has ended. */
  async function overWebSocket(query: string, id: string): Promise<string[]> {
    const client = server.client({ 'x-tenant': TENANT, 'x-actor': 'bob' })
    const types: string[] = []
    for await (const { data } of client.iterate<{ conversationEvents: { __typename: string } }>({
      query,
      variables: { id },
    })) {
      types.push(data!.conversationEvents.__typename)
    }
    return types
  }

  /** Subscribes as bob by Server-Sent Events. */
  async function overEventStream(query: string, id: string): Promise<string[]> {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'x-tenant': TENANT,
        'x-actor': 'bob',
      },
      body: JSON.stringify({ query, variables: { id } }),
    })
    const text = await response.text()
    expect(text).toContain('event: complete')
    return [...text.matchAll(/"__typename":"(\w+)"/g)].map(([, type]) => type!)
  }

  let reads: MockInstance<Pool['query']>
  beforeEach(() => void (reads = vi.spyOn(server.deps.pool, 'query')))
  afterEach(() => reads.mockRestore())

  describe.each(Object.entries(DOCUMENTS))('with a document that is %s', (_, query) => {
    it.each([
      ['WebSocket', overWebSocket],
      ['Server-Sent Events', overEventStream],
    ])('over %s, ends after the ParticipantLeft event and delivers no later event', async (__, subscribe) => {
      const id = await newConversation()
      const received = subscribe(query, id)
      await subscribed(reads, 1)
      await append(id, 'before')
      await removeParticipant(server.deps, as('ada'), { conversationId: id, actor: 'bob' })
      await append(id, 'after')
      expect(await received).toEqual(['TurnAppended', 'ParticipantLeft'])
    })
  })

  it('continues while the conversation is OPEN, and ends when it becomes MEMBERS', async () => {
    const id = (
      await createConversation(server.deps, as('ada'), {
        visibility: 'OPEN',
        participants: [{ actor: 'ada' }, { actor: 'bob' }],
      })
    ).conversation.id
    const received = overWebSocket(DOCUMENTS.shareable, id)
    await subscribed(reads, 1)
    const membership = { conversationId: id, actor: 'bob' }
    await removeParticipant(server.deps, as('ada'), membership)
    await addParticipant(server.deps, as('ada'), { conversationId: id, participant: { actor: 'bob' } })
    await append(id, 'still here')
    await removeParticipant(server.deps, as('ada'), membership)
    await updateConversation(server.deps, as('ada'), { conversationId: id, visibility: 'MEMBERS' })
    await append(id, 'after')
    expect(await received).toEqual(['ParticipantLeft', 'ParticipantJoined', 'TurnAppended', 'ParticipantLeft'])
  })
})
