// Shared state as clients see it: the answers of the mutations, the lists of conversations, and the events.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { take, useClients } from '../client.ts'

const STATE = 'key value version schema audience updatedBy'
const ERROR = '... on UserError { __typename code message }'
const UPDATE = `mutation ($input: UpdateSharedStateInput!) {
  updateSharedState(input: $input) { ... on UpdateSharedStatePayload { state { ${STATE} } version deduplicated } ${ERROR} }
}`
const DELETE = `mutation ($input: DeleteSharedStateInput!) {
  deleteSharedState(input: $input) { ... on DeleteSharedStatePayload { deletedKey } ${ERROR} }
}`
const READ = `query ($id: ID!, $after: String) {
  conversation(id: $id) {
    sharedState(key: "plan") { ${STATE} }
    sharedStates(first: 2, after: $after) { nodes { key version } pageInfo { hasNextPage endCursor } }
  }
}`
const EVENTS = `subscription ($id: ID!) {
  conversationEvents(conversationId: $id, afterSeq: 0, types: [SHARED_STATE_CHANGED]) {
    __typename
    ... on SharedStateChanged { key version deleted patch actor state { value version } }
  }
}`

describe.each(backends)('shared state on $name', (backend) => {
  const clients = useClients(backend)
  const [ada, bob] = [clients.as('ada'), clients.as('bob')]
  const update = async (actor: typeof ada, conversationId: string, change: object) =>
    (await actor(UPDATE, { input: { conversationId, key: 'plan', ...change } })).updateSharedState

  it('is created, changed, read, listed in pages, and deleted', async () => {
    const id = await clients.newConversation(['ada', 'bob'])
    const created = await update(ada, id, { value: [], clientId: 'a', schema: { type: 'array' } })
    const state = { key: 'plan', value: [], version: 1, schema: { type: 'array' }, audience: null, updatedBy: 'ada' }
    expect(created).toEqual({ state, version: 1, deduplicated: false })
    const patch = [{ op: 'add', path: '/-', value: null }]
    const changed = await update(bob, id, { patch, expectedVersion: 1 })
    expect(changed.state).toEqual({ ...state, value: [null], version: 2, updatedBy: 'bob' })
    expect((await update(ada, id, { value: [], clientId: 'a', schema: { type: 'array' } })).deduplicated).toBe(true)
    for (const key of ['form', 'board', 'Notes']) await update(ada, id, { key, merge: {} })
    const { sharedState, sharedStates } = (await bob(READ, { id })).conversation
    expect(sharedState).toEqual(changed.state)
    expect(sharedStates.nodes.map(({ key }: { key: string }) => key)).toEqual(['Notes', 'board'])
    const { endCursor: after, hasNextPage } = sharedStates.pageInfo
    expect(hasNextPage).toBe(true)
    const rest = (await bob(READ, { id, after })).conversation.sharedStates
    expect(rest.nodes.map(({ key }: { key: string }) => key)).toEqual(['form', 'plan'])
    expect(await ada(DELETE, { input: { conversationId: id, key: 'plan', expectedVersion: 2 } })).toEqual({
      deleteSharedState: { deletedKey: 'plan' },
    })
    expect((await bob(READ, { id })).conversation.sharedState).toBeNull()
  })

  it('lets an actor whom the tenant does not know join an OPEN conversation by a change', async () => {
    const id = await clients.newConversation(['ada'])
    const { state } = await update(ada, id, { value: 1, as: 'a new actor' })
    expect(state.updatedBy).toBe('a new actor')
    const { conversation } = await ada(
      'query ($id: ID!) { conversation(id: $id) { participants(first: 9) { nodes { actor } } } }',
      { id },
    )
    expect(conversation.participants.nodes).toContainEqual({ actor: 'a new actor' })
  })

  it('answers refused changes with typed errors', async () => {
    const id = await clients.newConversation(['ada', 'bob'])
    await update(ada, id, { value: {}, audience: ['ada'] })
    const typeOf = async (actor: typeof ada, change: object) => (await update(actor, id, change)).__typename
    expect(await typeOf(bob, { value: {} })).toBe('Conflict')
    expect(await typeOf(ada, { value: {}, expectedVersion: 7 })).toBe('Conflict')
    expect(await typeOf(ada, { patch: [{ op: 'remove', path: '/none' }] })).toBe('InvalidInput')
    expect(await typeOf(ada, { patch: [{ op: 'replace', path: '' }] })).toBe('InvalidInput')
    const error = (await bob(DELETE, { input: { conversationId: id, key: 'none' } })).deleteSharedState
    expect(error).toMatchObject({
      __typename: 'NotFound',
      message: 'There is no shared state "none" that you can see.',
    })
  })

  it('delivers events with the patch and the present state to the audience', async () => {
    const id = await clients.newConversation(['ada', 'bob', 'cleo'])
    await update(ada, id, { value: { n: 1 }, audience: ['bob'] })
    await update(bob, id, { merge: { n: 2 } })
    await update(ada, id, { key: 'open', value: 1 })
    await ada(DELETE, { input: { conversationId: id, key: 'open' } })
    const events = async (actor: string, count: number) =>
      (await take(await clients.follow(actor, EVENTS, { id }), count)).map(({ conversationEvents }) => {
        const { __typename: _, ...event } = conversationEvents
        return event
      })
    const ofOpen = [
      { key: 'open', version: 1, deleted: false, patch: null, actor: 'ada', state: null },
      { key: 'open', version: 2, deleted: true, patch: null, actor: 'ada', state: null },
    ]
    const state = { value: { n: 2 }, version: 2 }
    const first = [{ op: 'add', path: '', value: { n: 1 } }]
    expect(await events('bob', 4)).toEqual([
      { key: 'plan', version: 1, deleted: false, patch: first, actor: 'ada', state },
      {
        key: 'plan',
        version: 2,
        deleted: false,
        patch: [{ op: 'replace', path: '/n', value: 2 }],
        actor: 'bob',
        state,
      },
      ...ofOpen,
    ])
    expect(await events('cleo', 2)).toEqual(ofOpen)
  })
})
