// GraphQL over HTTP as clients use it: accepted requests, masked errors, /health and /ready.

import { request as httpRequest } from 'node:http'
import { createClient as createSseClient } from 'graphql-sse'
import { describe, expect, test } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

describe.each(backends)('over HTTP on $name,', (backend) => {
  const server = useServer(backend, { ALLOWED_ORIGINS: 'https://app.example', MAX_BODY_BYTES: '100000' })
  const viewer = { query: '{ viewer { tenant actor } }' }

  test('the viewer is read from the headers', async () => {
    expect((await server.post(viewer)).body.data.viewer).toEqual({ tenant: 'default', actor: 'anonymous' })
    const { body } = await server.post(viewer, { 'x-tenant': 'acme', 'x-actor': 'ada' })
    expect(body.data.viewer).toEqual({ tenant: 'acme', actor: 'ada' })
  })

  test('GraphiQL is served with initial operations', async () => {
    const response = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } })
    const page = await response.text()
    expect(response.status).toBe(200)
    expect(page).toContain('CreateConversation')
    expect(page).toContain('conversationEvents')
    expect(page).toContain('query Recall')
  })

  test.each([
    ['from a page of another origin', { origin: 'https://evil.example' }],
    ['by a foreign host name that resolves to this server', { host: 'evil.example' }],
  ])('a request %s is rejected', async (_, headers) => {
    // fetch does not allow setting Host, so this uses node:http.
    const status = await new Promise<number>((resolve, reject) => {
      const body = JSON.stringify(viewer)
      const options = {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
      }
      httpRequest(`${server.url}/graphql`, options, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
        .on('error', reject)
        .end(body)
    })
    expect(status).toBe(403)
  })

  test('an allowed origin gets CORS headers, and another origin does not', async () => {
    const preflight = (origin: string) =>
      fetch(`${server.url}/graphql`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    expect((await preflight('https://app.example')).headers.get('access-control-allow-origin')).toBe(
      'https://app.example',
    )
    const other = await preflight('https://evil.example')
    expect(other.status).toBe(403)
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'a mutation sent as %s, as any web page could, is not executed',
    async (type) => {
      const key = `csrf-${type}`
      const query = `mutation { createConversation(input: { key: "${key}" }) { __typename } }`
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: type.startsWith('multipart')
          ? `--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n${JSON.stringify({ query })}\r\n--x--`
          : type.startsWith('text')
            ? JSON.stringify({ query })
            : new URLSearchParams({ query }).toString(),
      })
      expect([403, 415]).toContain(response.status)
      const { body } = await server.post({ query: `{ conversation(key: "${key}") { id } }` })
      expect(body.data.conversation).toBeNull()
    },
  )

  test('a mutation by GET is rejected', async () => {
    const query = encodeURIComponent('mutation { createConversation(input: { key: "get" }) { __typename } }')
    const response = await fetch(`${server.url}/graphql?query=${query}`, { headers: { 'x-actor': 'ada' } })
    expect(response.status).toBe(405)
  })

  test('a body over the limit is rejected with a message that states the limit', async () => {
    const { status, body } = await server.post({ query: `# ${'x'.repeat(100_000)}\n{ __typename }` })
    expect(status).toBe(413)
    expect(body.errors[0].message).toContain('at most 100000')
  })

  test('a body of unknown length is rejected', async () => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
      body: new ReadableStream({
        start(stream) {
          stream.enqueue(new TextEncoder().encode('{}'))
          stream.close()
        },
      }),
    } as RequestInit)
    expect(response.status).toBe(411)
  })

  test('batched operations are rejected', async () => {
    const { status } = await server.post([viewer, viewer] as never)
    expect(status).toBe(400)
  })

  test('an expected failure of a query has its code and issues', async () => {
    const { body } = await server.post({ query: '{ conversations(first: 201) { edges { cursor } } }' })
    expect(body.errors[0]).toMatchObject({
      message: expect.stringContaining('0 to 200'),
      extensions: { code: 'INVALID_INPUT', issues: [{ path: ['first'] }] },
    })
  })

  test('an unexpected failure is masked', async () => {
    const { query } = server.deps.reads.pool
    server.deps.reads.pool.query = () => Promise.reject(new Error('secret: postgres://u:p@h'))
    try {
      const { body } = await server.post({ query: '{ conversations { edges { cursor } } }' })
      expect(body.errors[0]).toMatchObject({
        message: 'Unexpected error.',
        extensions: { code: 'INTERNAL_SERVER_ERROR' },
      })
      expect(JSON.stringify(body)).not.toContain('secret')
    } finally {
      server.deps.reads.pool.query = query
    }
  })

  test('a subscription delivers events as Server-Sent Events', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const client = createSseClient({
      url: `${server.url}/graphql`,
      headers: { 'x-tenant': tenant.name, 'x-actor': 'ada' },
      retryAttempts: 0,
    })
    const events = client.iterate<{ conversationEvents: object }>({
      query:
        'subscription($conversationId: ID!) { conversationEvents(conversationId: $conversationId, afterSeq: 0) { __typename seq } }',
      variables: { conversationId },
    })
    expect((await events.next()).value.data.conversationEvents).toEqual({ __typename: 'ParticipantJoined', seq: 1 })
    await tenant.append(conversationId, 'ada', 'live')
    expect((await events.next()).value.data.conversationEvents).toEqual({ __typename: 'TurnAppended', seq: 2 })
    await events.return!()
    client.dispose()
  })

  test('/health returns ok, and /ready reports the database and the bus', async () => {
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: 'ok' })
    const ready = await fetch(`${server.url}/ready`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toEqual({
      status: 'ready',
      database: 'up',
      bus: 'up',
      load: 'normal',
      durability: 'as tested',
    })
  })

  test('/ready returns 503 while queries to the database fail', async () => {
    const { query } = server.deps.pool
    server.deps.pool.query = () => Promise.reject(new Error('down'))
    try {
      const ready = await fetch(`${server.url}/ready`)
      expect(ready.status).toBe(503)
      expect(await ready.json()).toMatchObject({ status: 'not ready', database: 'down', bus: 'up' })
    } finally {
      server.deps.pool.query = query
    }
  })
})
