// Each failure on each transport: the kind of answer, its code, and a text that explains it. The transports are
// POST and GET with JSON, POST with the media type of GraphQL over HTTP, Server-Sent Events, and WebSocket.

import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { DatabaseUnavailable, Unavailable } from '../../../../src/errors.ts'
import { backends, embedded } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'
import { ACCEPT, sendOver, type Sent, type Transport } from '../../../support/transports.ts'

const PAGE = 'query ($first: Int) { conversations(first: $first) { edges { cursor } } }'
const FOLLOW = 'subscription ($id: ID!) { conversationEvents(conversationId: $id) { seq } }'
const UNKNOWN = 'conv_01M7Y5XZZZZZZZZZZZZZZZZZZZ'
const viewer = '{ viewer { actor } }'

describe.each(backends)('a failure on $name', (backend) => {
  const server = useServer(backend, { MAX_BODY_BYTES: '100000', ALLOWED_ORIGINS: 'https://app.example' })
  const warn = vi.fn()
  beforeAll(() => void vi.spyOn(server.deps.log, 'warn').mockImplementation(warn))
  afterAll(() => void vi.restoreAllMocks())

  const send = (transport: Transport, sent: Sent) => sendOver(server.url, transport, sent)

  /** For each failure: the request, the code, a part of the text, and `how` for each transport. */
  const FAILURES: [string, Sent, string, RegExp, Partial<Record<Transport, number | string>>][] = [
    [
      'a syntax error',
      { query: '{ viewer' },
      'GRAPHQL_PARSE_FAILED',
      /Expected Name, found <EOF>/,
      { json: 200, graphql: 400, get: 200, events: 'event', socket: 'error' },
    ],
    [
      'an unknown field',
      { query: '{ nothing }' },
      'GRAPHQL_VALIDATION_FAILED',
      /Cannot query field/,
      { json: 200, graphql: 400, get: 200, events: 'event', socket: 'error' },
    ],
    [
      'a variable of the wrong type',
      { query: PAGE, variables: { first: 'many' } },
      'INVALID_INPUT',
      /Variable "\$first" got invalid value "many"; Int cannot/,
      { json: 400, graphql: 400, get: 400, events: 'event', socket: 'next' },
    ],
    [
      'a missing variable of a subscription',
      { query: FOLLOW },
      'INVALID_INPUT',
      /Variable "\$id" of required type "ID!" was not provided/,
      { events: 'event', socket: 'next' },
    ],
    [
      'several operations without a name',
      { query: `query A ${viewer} query B ${viewer}` },
      'OPERATION_RESOLUTION_FAILURE',
      /2 operations: select one by operationName/,
      { json: 400, graphql: 400, get: 400, events: 'event', socket: 'error' },
    ],
    [
      'an unknown operation name',
      { query: `query A ${viewer}`, operationName: 'C' },
      'OPERATION_RESOLUTION_FAILURE',
      /no operation named "C": check operationName/,
      { json: 400, graphql: 400, get: 400, events: 'event', socket: 'error' },
    ],
    [
      'an argument that the domain rejects',
      { query: PAGE, variables: { first: 900 } },
      'INVALID_INPUT',
      /must be 0 to 200/,
      { json: 200, graphql: 200, get: 200, events: 'event', socket: 'next' },
    ],
    [
      'a subscription to an unknown conversation',
      { query: FOLLOW, variables: { id: UNKNOWN } },
      'NOT_FOUND',
      /There is no conversation/,
      { events: 'event', socket: 'next' },
    ],
    [
      'a subscription by a client that accepts no events',
      { query: FOLLOW, variables: { id: UNKNOWN } },
      'NOT_ACCEPTABLE',
      /send "Accept: text\/event-stream", or use a WebSocket/,
      { json: 406, graphql: 406, get: 406 },
    ],
    [
      'an unknown actor of a query',
      { query: '{ viewer(as: "nobody") { actor } }' },
      'UNKNOWN_ACTOR',
      /^"nobody", given as `as`, owns no conversation of your tenant .* Check the name; add a new actor/,
      { json: 400, graphql: 400, get: 400, events: 400, socket: 'next' },
    ],
    [
      'an unknown actor of a mutation',
      {
        query: 'mutation ($input: MarkReadInput!) { markRead(input: $input) { __typename } }',
        variables: { input: { conversationId: UNKNOWN, seq: 1, as: 'nobody' } },
      },
      'UNKNOWN_ACTOR',
      /^"nobody", given as `as`/,
      { json: 400, graphql: 400, events: 400, socket: 'next' },
    ],
    [
      'an unknown actor of a subscription to a conversation',
      { query: FOLLOW.replace('$id)', '$id, as: "nobody")'), variables: { id: UNKNOWN } },
      'UNKNOWN_ACTOR',
      /^"nobody", given as `as`/,
      { events: 400, socket: 'next' },
    ],
    [
      'an unknown actor of an inbox',
      { query: 'subscription { inbox(as: "nobody") { reason } }' },
      'UNKNOWN_ACTOR',
      /^"nobody", given as `as`/,
      { events: 400, socket: 'next' },
    ],
    [
      'several actors in one operation',
      { query: '{ viewer { actor } jobs(as: "nobody") { nodes { id } } }' },
      'MIXED_VIEWS',
      /One operation has one view, but viewer is for "\w+", and jobs is for "nobody". Send one operation for each/,
      { json: 400, graphql: 400, get: 400, events: 400, socket: 'next' },
    ],
    [
      'an actor with an invalid name',
      { query: '{ viewer(as: "") { actor } }' },
      'INVALID_INPUT',
      /^as: must not be empty/,
      { json: 400, graphql: 400, get: 400, events: 'event', socket: 'next' },
    ],
    [
      'a name in Latin-1',
      { query: viewer, headers: { 'x-actor': 'Zoë' } },
      'INVALID_INPUT',
      /x-actor: has characters other than ASCII: percent-encode/,
      { json: 400, graphql: 400, get: 400, events: 400, socket: 4400 },
    ],
    [
      'a page of another origin',
      { query: viewer, headers: { origin: 'https://evil.example', 'x-actor': 'ada' } },
      'ORIGIN_NOT_ALLOWED',
      /Origin "https:\/\/evil.example" is not allowed. Add its origin to ALLOWED_ORIGINS/,
      { json: 403, graphql: 403, get: 403, events: 403, socket: 403 },
    ],
    [
      'a foreign host name',
      { query: viewer, headers: { host: 'evil.example', 'x-actor': 'ada' } },
      'HOST_NOT_ALLOWED',
      /Host "evil.example" is not allowed. Add its origin to ALLOWED_ORIGINS/,
      { json: 403, graphql: 403, get: 403, events: 403, socket: 403 },
    ],
    [
      'a request that any page could send',
      { query: viewer, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      'CSRF_HEADER_REQUIRED',
      /Add one of the headers x-actor, x-tenant, apollo-require-preflight, authorization/,
      { json: 403, graphql: 403, get: 403, events: 403 },
    ],
    [
      'a body over the limit',
      { query: viewer, raw: ' '.repeat(100_001) },
      'BODY_TOO_LARGE',
      /at most 100000 are accepted/,
      { json: 413, graphql: 413, events: 413 },
    ],
    [
      'a body that is not JSON',
      { query: viewer, raw: '{"query": ' },
      'BAD_REQUEST',
      /invalid JSON/,
      { json: 400, graphql: 400, events: 400 },
    ],
    [
      'a body without a document',
      { query: viewer, raw: '{}' },
      'BAD_REQUEST',
      /Must provide query string/,
      { json: 400, graphql: 400, events: 400 },
    ],
    [
      'a body of an unknown type',
      { query: viewer, headers: { 'content-type': 'text/csv', 'x-actor': 'ada' } },
      'UNSUPPORTED_MEDIA_TYPE',
      /Send the operation as application\/json/,
      { json: 415, graphql: 415, events: 415 },
    ],
    [
      'a mutation by GET',
      { query: 'mutation { createConversation(input: {}) { __typename } }' },
      'BAD_REQUEST',
      /Can only perform a mutation operation from a POST request/,
      { get: 405 },
    ],
  ]

  test.each(
    FAILURES.flatMap(([failure, sent, code, text, answers]) =>
      Object.entries(answers).map(([transport, how]) => ({ failure, sent, code, text, transport, how })),
    ),
  )('$failure, over $transport, is answered with $how', async ({ sent, code, text, transport, how }) => {
    const answer = await send(transport as Transport, sent)
    expect(answer.message).toMatch(text)
    expect(answer.how).toBe(how)
    // A closed socket has a close code in place of the error's code.
    expect(answer.code).toBe(how === 4400 ? undefined : code)
  })

  test('of variables has issues, like a failure of other input', async () => {
    const { body } = await server.post({
      query: 'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { __typename } }',
      variables: { input: { participants: [{ actor: 'ada' }, { actor: 'bob', kind: 'CAT' }] } },
    })
    expect(body.errors[0].extensions).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: ['input', 'participants', '1', 'kind'], message: expect.stringContaining('"CAT"') }],
    })
  })

  test('of the parameters of a URL has status 400, and is not logged', async () => {
    const error = vi.spyOn(server.deps.log, 'error')
    const search = new URLSearchParams({ query: viewer, variables: 'none' })
    const response = await fetch(`${server.url}/graphql?${search}`, { headers: { 'x-actor': 'ada' } })
    expect(response.status).toBe(400)
    expect((await response.json()) as object).toMatchObject({
      errors: [{ message: expect.stringContaining('must be JSON'), extensions: { code: 'BAD_REQUEST' } }],
    })
    expect(error).not.toHaveBeenCalled()
  })

  test('of Redis has the code UNAVAILABLE, and is not logged for each request', async () => {
    const error = vi.spyOn(server.deps.log, 'error')
    const down = () => Promise.reject(new Unavailable('Redis cannot be reached. Try again later.'))
    const set = vi.spyOn(server.deps.presence, 'set').mockImplementation(down)
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const query = `mutation { setPresence(input: { conversationId: "${id}", state: TYPING }) { __typename } }`
    for (const transport of ['json', 'socket'] as const) {
      const answer = await send(transport, { query, headers })
      expect(answer).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining('Try again later') })
    }
    set.mockRestore()
    expect(error).not.toHaveBeenCalled()
  })

  test('of the database has the code SERVER_BUSY, over HTTP with 503 and Retry-After, and is not logged', async () => {
    const error = vi.spyOn(server.deps.log, 'error')
    const { pool } = server.deps.reads
    const query = vi.spyOn(pool, 'query').mockImplementation(() => Promise.reject(new DatabaseUnavailable()))
    const all = vi.spyOn(pool, 'queryAll').mockImplementation(() => Promise.reject(new DatabaseUnavailable()))
    try {
      for (const [transport, how] of Object.entries({
        json: 503,
        graphql: 503,
        get: 503,
        events: 503,
        socket: 'next',
      })) {
        const answer = await send(transport as Transport, { query: PAGE })
        expect(answer, transport).toMatchObject({
          how,
          code: 'SERVER_BUSY',
          message: expect.stringMatching(/Try again later\..* may have been/),
        })
      }
      const headers = { 'content-type': 'application/json', 'x-actor': 'ada' }
      for (const accept of Object.values(ACCEPT)) {
        const options = { method: 'POST', headers: { ...headers, accept } }
        const response = await fetch(`${server.url}/graphql`, { ...options, body: JSON.stringify({ query: PAGE }) })
        expect([response.status, response.headers.get('retry-after')], accept).toEqual([503, '1'])
        expect(await response.json()).toMatchObject({ errors: [{ extensions: { retryAfterSeconds: 1 } }] })
      }
    } finally {
      query.mockRestore()
      all.mockRestore()
    }
    expect(error).not.toHaveBeenCalled()
  })

  test('of the origin is logged once, with the setting that accepts the origin', async () => {
    warn.mockClear()
    const headers = { origin: 'http://localhost:5173', 'x-actor': 'ada' }
    for (const transport of ['json', 'events', 'socket', 'get'] as const)
      await send(transport, { query: viewer, headers })
    expect(warn.mock.calls).toEqual([
      [
        { origin: 'http://localhost:5173' },
        expect.stringContaining('set ALLOWED_ORIGINS=https://app.example,http://localhost:5173'),
      ],
    ])
  })

  test('can be read by a page of an allowed origin', async () => {
    const headers = { origin: 'https://app.example', 'content-type': 'application/json', 'x-actor': '100%' }
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: '{}' })
    expect(response.status).toBe(400)
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example')
  })

  test.each([
    ['PUT', 405, 'METHOD_NOT_ALLOWED'],
    ['DELETE', 405, 'METHOD_NOT_ALLOWED'],
  ])('of the method %s names the accepted methods', async (method, status, code) => {
    const response = await fetch(`${server.url}/graphql`, { method, headers: { 'x-actor': 'ada' } })
    expect(response.status).toBe(status)
    expect(response.headers.get('allow')).toBe('GET, POST')
    expect(((await response.json()) as { errors: [{ extensions: object }] }).errors[0].extensions).toEqual({ code })
  })

  test('of Accept has the code NOT_ACCEPTABLE', async () => {
    const headers = { accept: 'image/png', 'content-type': 'application/json' }
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body: '{}' })
    expect(response.status).toBe(406)
    expect(await response.text()).toMatch(/NOT_ACCEPTABLE/)
  })

  test('of the subprotocol closes the socket, and names the accepted subprotocol', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, [])
    const [code, reason] = await once(socket, 'close')
    expect([code, String(reason)]).toEqual([4406, 'Use the subprotocol graphql-transport-ws.'])
  })
})

describe.each([embedded])('a query by GET', (backend) => {
  const server = useServer(backend)

  test.each([
    ['of urql, Apollo and others, with the actor', { 'x-actor': 'ada' }],
    ['with the tenant', { 'x-tenant': 'default' }],
    ['with a token', { authorization: 'Bearer x' }],
    ['of Apollo', { 'apollo-require-preflight': 'true' }],
  ])('%s is answered', async (_, headers) => {
    const search = new URLSearchParams({ query: viewer })
    const response = await fetch(`${server.url}/graphql?${search}`, { headers })
    expect(response.status).toBe(200)
    expect(((await response.json()) as { data: object }).data).toHaveProperty('viewer')
  })
})
