// An overloaded server refuses operations over every transport before they start, and stores nothing of them.

import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { MIN_LIMIT } from '../../../src/server/admission.ts'
import { backends } from '../../support/backend.ts'
import { useServer } from '../../support/server.ts'

const CREATE = 'mutation { createConversation(input: {}) { ... on CreateConversationPayload { conversation { id } } } }'
const APPEND =
  'mutation ($id: ID!) { appendTurn(input: { conversationId: $id, turn: { role: USER, content: "x" } }) { __typename } }'
const EVENTS = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename } }'
const COUNT = 'query ($id: ID!) { conversation(id: $id) { turns(first: 10) { edges { node { seq } } } } }'
const WAIT = { interval: 100 }
const BUSY = { 'x-tenant': 'busy' }

describe.each(backends)('an overloaded server, on $name:', (backend) => {
  const server = useServer(backend, { MAX_QUEUE_MS: '50', MIN_BODY_BYTES_PER_SECOND: '0' })
  const held: Socket[] = []
  let stop = () => {}
  afterEach(async () => {
    stop()
    await untilStatus(200)
  })

  /** Lets an append wait until `stop`, and fills the limit with requests of the tenant whose bodies never arrive. */
  function overload(): void {
    const { appends } = server.deps.delays
    const entered = appends.enter()
    const { hostname, port } = new URL(server.url)
    const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    // More than the limit, because some are refused.
    for (let i = 0; i < 2 * MIN_LIMIT; i++) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.write(`${head}Content-Length: 10\r\nx-tenant: busy\r\n\r\n`)
      held.push(socket)
    }
    stop = () => {
      appends.leave(entered)
      for (const socket of held.splice(0)) socket.destroy()
      stop = () => {}
    }
  }
  const untilStatus = (status: number) =>
    vi.waitFor(async () => expect((await server.post({ query: '{ __typename }' }, BUSY)).status).toBe(status), WAIT)

  test('answers 503 with Retry-After, keeps the connection, reports the load, and stores nothing', async () => {
    overload()
    await untilStatus(503)
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
    stop()
    await untilStatus(200)
    const read = await server.post({ query: COUNT, variables: { id } }, { 'x-tenant': 'quiet' })
    expect(read.body.data.conversation.turns.edges).toEqual([])
  })

  test('refuses an event stream with 503 before it starts', async () => {
    overload()
    await untilStatus(503)
    const url = new URL('/graphql', server.url)
    url.searchParams.set('query', EVENTS)
    url.searchParams.set('variables', JSON.stringify({ id: 'none' }))
    const refused = await fetch(url, { headers: { accept: 'text/event-stream', ...BUSY } })
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'SERVER_BUSY' } }] })
  })

  test('closes a new WebSocket with 1013', async () => {
    overload()
    await untilStatus(503)
    const client = server.client(BUSY)
    const closed = new Promise((resolve) => client.on('closed', resolve))
    const events = client.iterate({ query: '{ __typename }' })
    await expect(events.next()).rejects.toMatchObject({ code: 1013 })
    expect(await closed).toMatchObject({ code: 1013 })
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

    overload()
    await vi.waitFor(
      () => expect(query()).rejects.toMatchObject([{ extensions: { code: 'SERVER_BUSY', retryAfterSeconds: 1 } }]),
      WAIT,
    )
    stop()
    await vi.waitFor(async () => expect(await query()).toMatchObject({ data: { __typename: 'Query' } }), WAIT)
  })
})
