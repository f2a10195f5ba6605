// An overloaded server refuses operations before they start, stores nothing of them, and serves its open connections
// afterwards.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { overload, OVERLOAD, OVERLOADING } from '../../../support/overload.ts'
import { useServer } from '../../../support/server.ts'

const CREATE = 'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }'
const APPEND =
  'mutation ($id: ID!) { appendTurn(input: { conversationId: $id, turn: { role: USER, content: "x" } }) { __typename } }'
const EVENTS = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename } }'
const COUNT = 'query ($id: ID!) { conversation(id: $id) { turns(first: 10) { edges { node { seq } } } } }'
const WAIT = { interval: 100 }
const BUSY = { 'x-tenant': OVERLOADING }

describe.each(backends)('an overloaded server, on $name:', (backend) => {
  const server = useServer(backend, OVERLOAD)
  let stop = async () => {}
  afterEach(() => stop())

  test('answers 503 with Retry-After, keeps the connection, reports the load, and stores nothing', async () => {
    stop = await overload(server)
    // Another tenant is below its share.
    const { body } = await server.post({ query: CREATE }, { 'x-tenant': 'quiet' })
    const { id } = body.data.createConversation.conversation
    expect(id).toBeTruthy()

    const refused = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...BUSY },
      body: JSON.stringify({ query: APPEND, variables: { id } }),
    })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('connection')).toBe('keep-alive')
    const { errors } = (await refused.json()) as { errors: { extensions: object }[] }
    expect(errors[0]!.extensions).toEqual({ code: 'SERVER_BUSY', retryAfterSeconds: 1 })

    const ready = await fetch(`${server.url}/ready`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ status: 'ready', load: 'overloaded' })
    await stop()
    const read = await server.post({ query: COUNT, variables: { id } }, { 'x-tenant': 'quiet' })
    expect(read.body.data.conversation.turns.edges).toEqual([])
  })

  test('refuses an operation on an open WebSocket with an error, and serves the socket afterwards', async () => {
    const client = server.client(BUSY)
    const query = async () => (await client.iterate({ query: '{ __typename }' }).next()).value
    // Opens the socket, which a subscription keeps open.
    const { body } = await server.post({ query: CREATE }, BUSY)
    const { id } = body.data.createConversation.conversation
    const events = client.iterate({ query: EVENTS, variables: { id } })
    await server.post({ query: APPEND, variables: { id } }, BUSY)
    expect((await events.next()).value).toMatchObject({
      data: { conversationEvents: { __typename: expect.any(String) } },
    })

    stop = await overload(server)
    await vi.waitFor(
      () => expect(query()).rejects.toMatchObject([{ extensions: { code: 'SERVER_BUSY', retryAfterSeconds: 1 } }]),
      WAIT,
    )
    await stop()
    await vi.waitFor(async () => expect(await query()).toMatchObject({ data: { __typename: 'Query' } }), WAIT)
  })
})
