// Compares the fast path for POST with yoga alone: both must return the same status, headers and body for the same
// request. Also checks which requests the fast path answers itself and which it passes to yoga.

import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadConfig } from '../../../../../src/config/config.ts'
import { createEventStreams } from '../../../../../src/server/live/event-stream.ts'
import { MAX_WAITING_ANSWERS } from '../../../../../src/domain/kernel/limits/tenant-gates.ts'
import { MAX_WAITING } from '../../../../../src/runtime/limits/gate.ts'
import { createYogaServer, maskWith } from '../../../../../src/server/graphql/yoga.ts'
import { passGate, readBody } from '../../../../../src/server/http/body.ts'
import { createGraphqlDoor } from '../../../../../src/server/http/doors/graphql.ts'
import { createDocumentCache } from '../../../../../src/server/graphql/known-documents.ts'
import { failWith } from '../../../../../src/server/http/refuse.ts'
import { embedded } from '../../../../support/backend.ts'
import { useWorld } from '../../../../support/world.ts'

type PostRequest = {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: unknown
  raw?: string | Buffer
}

const VIEWER = '{ viewer { tenant actor } }'
const SEVERAL = 'query One { viewer { tenant } } query Two { viewer { actor } }'
const PAGE = 'query ($first: Int) { conversations(first: $first) { edges { cursor } } }'
const CREATE = `mutation ($key: String) {
  createConversation(input: { key: $key }) { __typename ... on CreateConversationPayload { conversation { key } } ... on UserError { code message } }
}`
const AS = 'query ($as: String) { viewer(as: $as) { tenant actor } }'
const CREATE_AS = `mutation ($input: CreateConversationInput!) {
  createConversation(input: $input) { ... on CreateConversationPayload { conversation { owner } } }
}`
const FOLLOW = 'subscription { conversationEvents(conversationId: "conv_none") { __typename } }'
const NONE = 'query None { conversation(key: "none") { id turns(first: 900) { edges { cursor } } } }'
const viewer = { query: VIEWER }
const accept = (value: string, body: object = viewer): PostRequest => ({ headers: { accept: value }, body })
const viewerOf = ({ headers }: IncomingMessage) => ({
  tenant: String(headers['x-tenant'] ?? 'default'),
  actor: String(headers['x-actor'] ?? 'anonymous'),
})
const typed = (value: string): PostRequest => ({ headers: { 'content-type': value }, body: viewer })

const LARGE = 'large '.repeat(200_000)

describe.each([embedded])('the fast path for POST', (backend) => {
  const world = useWorld(backend)
  const ports = { fast: 0, yoga: 0 }
  /** Number of requests that the fast path passed to yoga. */
  let passedOn = 0
  const close: (() => void)[] = []

  beforeAll(async () => {
    const config = loadConfig({ ALLOWED_ORIGINS: 'https://app.example' })
    const mask = maskWith(world.deps)
    const serve = async (listener: RequestListener) => {
      const server = createServer(listener)
      close.push(() => server.close())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      return (server.address() as AddressInfo).port
    }
    const alone = createYogaServer(world.deps, config, mask, createDocumentCache())
    ports.yoga = await serve((request, response) => void alone(request, response, { viewer: viewerOf(request) }))
    const documents = createDocumentCache()
    const yoga = createYogaServer(world.deps, config, mask, documents)
    const counted = new Proxy(yoga, {
      apply(target, self, args) {
        passedOn += 1
        return Reflect.apply(target, self, args)
      },
    })
    const streams = createEventStreams({ deps: world.deps, config, yoga, mask })
    const door = createGraphqlDoor({ yoga: counted, documents, mask, streams, isFast: true })
    ports.fast = await serve(async (request, response) => {
      const identity = { viewer: viewerOf(request), watch: () => () => {} }
      const length = Number(request.headers['content-length'])
      const body = await readBody(request, length)
      const answer = () => door.answer({ request, response, identity, body, leave() {} })
      await passGate(world.deps.gates, identity.viewer, length, answer).catch(failWith(mask)(response))
    })
  })
  afterAll(() => {
    for (const each of close) each()
  })

  /**
   * Sets whether other tenants count as active, until the test ends. Without it, a tenant is active for one second after
   * an operation, and a step of a test may take longer.
   */
  function mockHasOthers(active: boolean) {
    const hasOthers = vi.spyOn(world.deps.activity, 'hasOthers').mockReturnValue(active)
    onTestFinished(() => hasOthers.mockRestore())
    return hasOthers
  }

  const send = (to: keyof typeof ports, { path = '/graphql', method = 'POST', headers, body, raw }: PostRequest) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const bytes = Buffer.from(raw ?? JSON.stringify(body) ?? '')
      const sent = httpRequest(
        {
          host: '127.0.0.1',
          port: ports[to],
          path,
          method,
          headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
        },
        async (response) => {
          const parts: Buffer[] = []
          for await (const part of response) parts.push(part as Buffer)
          const { date: _, ...rest } = response.headers
          resolve({ status: response.statusCode!, headers: rest, body: Buffer.concat(parts).toString() })
        },
      )
      sent.on('error', reject)
      // Send two pieces, which may divide a multi-byte character.
      sent.write(bytes.subarray(0, bytes.length >> 1), () => sent.end(bytes.subarray(bytes.length >> 1)))
    })

  /**
   * Sends the request to both servers. Returns both responses, and whether the fast path answered without yoga. The
   * fast path gets the request twice, because it answers only documents that yoga has parsed before.
   */
  async function compare(sent: PostRequest) {
    await send('fast', sent)
    passedOn = 0
    const fast = await send('fast', sent)
    const answeredAlone = passedOn === 0
    return { fast, yoga: await send('yoga', sent), answeredAlone }
  }

  test.each<[string, PostRequest]>([
    ['a query', { body: viewer }],
    ['a query with headers', { headers: { 'x-tenant': 'acme', 'x-actor': 'ada' }, body: viewer }],
    ['a mutation', { body: { query: CREATE, variables: { key: 'short' } } }],
    ['a mutation that the domain rejects', { body: { query: CREATE, variables: { key: 'x'.repeat(5_000) } } }],
    ['characters beyond ASCII', { body: { query: CREATE, variables: { key: 'Zoë – 東京 🗼' } } }],
    ['one of several operations', { body: { query: SEVERAL, operationName: 'Two' } }],
    ['null for omitted members', { body: { query: VIEWER, variables: null, operationName: null, extensions: null } }],
    ['extensions', { body: { query: VIEWER, extensions: { persistedQuery: { version: 1 } } } }],
    ['a charset', typed('application/json; charset=utf-8')],
    ['Accept: */*', accept('*/*')],
    ['Accept: application/graphql-response+json', accept('application/graphql-response+json')],
    ['the Accept header of a usual client', accept('application/graphql-response+json, application/json;q=0.9')],
    ['the Accept header of another client', accept('application/json, text/plain, */*')],
    ['Accept with a stream type last', accept('application/json, text/event-stream')],
    ['an actor by `as`', { headers: { 'x-actor': 'ada' }, body: { query: AS, variables: { as: 'ada' } } }],
    ['a new actor by `as`', { body: { query: CREATE_AS, variables: { input: { as: 'new', key: 'new' } } } }],
    ['null for an unknown object', { body: { query: '{ conversation(key: "none") { id } }' } }],
  ])('answers like yoga: %s', async (_, sent) => {
    const { fast, yoga, answeredAlone } = await compare(sent)
    expect(fast).toEqual(yoga)
    expect(fast.status).toBe(200)
    expect(answeredAlone).toBe(true)
  })

  test.each<[string, PostRequest]>([
    ['broken JSON', { raw: '{"query": ' }],
    ['broken JSON of more than 1 MiB', { raw: `{"query": "${LARGE}"` }],
    ['a query of more than 1 MiB, which is rejected', { body: { query: VIEWER, variables: { unused: LARGE } } }],
    ['a body of more than 1 MiB with an unknown member', { body: { query: VIEWER, unknown: LARGE } }],
    [
      'a body of more than 1 MiB from an allowed origin',
      { headers: { origin: 'https://app.example' }, body: { query: VIEWER, variables: { unused: LARGE } } },
    ],
    ['a byte order mark', { raw: `\uFEFF${JSON.stringify(viewer)}` }],
    ['no body', { raw: '' }],
    ['null', { raw: 'null' }],
    ['a number', { raw: '7' }],
    ['a batch', { body: [viewer, viewer] }],
    ['no query', { body: { variables: {} } }],
    ['a query that is not a string', { body: { query: 7 } }],
    ['variables as a list', { body: { query: VIEWER, variables: [] } }],
    ['variables as a string', { body: { query: VIEWER, variables: '{}' } }],
    ['extensions as a string', { body: { query: VIEWER, extensions: 'x' } }],
    ['an operationName that is not a string', { body: { query: VIEWER, operationName: 7 } }],
    ['an unknown parameter', { body: { query: VIEWER, id: 1 } }],
    ['an unknown parameter that is null', { body: { query: VIEWER, id: null } }],
    ['a syntax error', { body: { query: '{ viewer' } }],
    [
      'a syntax error, accepting graphql-response+json',
      accept('application/graphql-response+json', { query: '{ viewer' }),
    ],
    ['an unknown field', { body: { query: '{ nothing }' } }],
    [
      'an unknown field, accepting graphql-response+json',
      accept('application/graphql-response+json', { query: '{ nothing }' }),
    ],
    ['an unknown operation name', { body: { query: SEVERAL, operationName: 'Three' } }],
    ['several operations and no name', { body: { query: SEVERAL } }],
    ['an empty name', { body: { query: VIEWER, operationName: '' } }],
    ['a variable of the wrong type', { body: { query: PAGE, variables: { first: 'many' } } }],
    [
      'a variable of the wrong type, accepting graphql-response+json',
      accept('application/graphql-response+json', { query: PAGE, variables: { first: 'many' } }),
    ],
    ['an error of a query', { body: { query: PAGE, variables: { first: 900 } } }],
    [
      'an error of a query, accepting graphql-response+json',
      accept('application/graphql-response+json', { query: PAGE, variables: { first: 900 } }),
    ],
    ['an unknown actor', { body: { query: AS, variables: { as: 'nobody' } } }],
    ['several actors', { body: { query: `{ viewer { actor } other: viewer(as: "x") { actor } }` } }],
    ['an error next to data', { body: { query: `{ viewer { actor } ${NONE.slice(11, -1)} }` } }],
    ['a subscription', { body: { query: FOLLOW } }],
    ['a query as a multipart response', accept('multipart/mixed')],
    ['Accept: text/html', accept('text/html')],
    ['Accept with another charset', accept('application/json; charset=latin1')],
    ['a request from an allowed origin', { headers: { origin: 'https://app.example' }, body: viewer }],
    [
      'a preflight',
      { method: 'OPTIONS', headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' } },
    ],
    ['text/plain', typed('text/plain')],
    ['no content type', typed('')],
    ['application/graphql+json', typed('application/graphql+json')],
    ['another charset', typed('application/json; charset=latin1')],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, raw: `query=${VIEWER}` }],
    ['a query in the URL', { path: '/graphql?x=1', body: viewer }],
    ['another path', { path: '/nothing', body: viewer }],
  ])('passes to yoga: %s', async (_, sent) => {
    const { fast, yoga, answeredAlone } = await compare(sent)
    expect(fast).toEqual(yoga)
    expect(answeredAlone).toBe(false)
  })

  test('sends a large answer as yoga does', async () => {
    const create = `mutation ($text: String) { createConversation(input: { key: "large", systemPrompt: $text }) { __typename } }`
    const text = 'löng "text"\n'.repeat(5_000)
    expect((await send('fast', { body: { query: create, variables: { text } } })).status).toBe(200)
    const fields = Array.from({ length: 30 }, (_, n) => `a${n}: conversation(key: "large") { systemPrompt }`)
    const { fast, yoga, answeredAlone } = await compare({ body: { query: `{ ${fields.join(' ')} }` } })
    expect(fast.body.length).toBeGreaterThan(1_500_000)
    expect(fast.status).toBe(200)
    expect(fast).toEqual(yoga)
    expect(answeredAlone).toBe(true)
  })

  test.each([
    ['on the fast path', {}],
    ['from a page', { origin: 'https://app.example' }],
    ['of another media type', { 'content-type': 'application/graphql+json' }],
  ])(
    'rejects a large body %s while too many bodies of its tenant wait, and accepts one of another tenant',
    async (name, more) => {
      const { bodies } = world.deps.gates
      // Each test has its own tenant, because a tenant may still pause after the work of an earlier test.
      const crowded = `crowded ${name}`
      const body = { query: VIEWER, variables: { unused: 'x'.repeat(40_000) } }
      let release = () => {}
      const blocked = new Promise<void>((resolve) => (release = resolve))
      const hasOthers = mockHasOthers(true)
      const held = Array.from({ length: 1 + MAX_WAITING }, () => bodies.run(crowded, () => blocked))
      const rejected = await send('fast', { headers: { 'x-tenant': crowded, ...more }, body })
      expect(rejected.status).toBe(503)
      expect(rejected.headers['retry-after']).toBe('1')
      expect(JSON.parse(rejected.body).errors[0].extensions).toEqual({ code: 'SERVER_BUSY', retryAfterSeconds: 1 })
      expect((await send('fast', { headers: { 'x-tenant': 'other', ...more }, body })).status).toBe(200)
      hasOthers.mockReturnValue(false)
      release()
      await Promise.all(held)
      expect((await send('fast', { headers: { 'x-tenant': crowded, ...more }, body })).status).toBe(200)
    },
  )

  test.each<keyof typeof ports>(['fast', 'yoga'])(
    'executes at most two queries with large answers per tenant at a time if other tenants are active, on the path %s',
    async (to) => {
      const { answers } = world.deps.gates
      const heavy = `heavy ${to}`
      const large = { query: 'query Large { conversations(first: 200) { edges { cursor node { id title } } } }' }
      const from = (tenant: string, body: object) => send(to, { headers: { 'x-tenant': tenant }, body })
      let release = () => {}
      const blocked = new Promise<void>((resolve) => (release = resolve))
      const hasOthers = mockHasOthers(false)
      const held = [1, 2].map(() => answers.run(heavy, () => blocked))
      expect((await from(heavy, large)).status).toBe(200)

      hasOthers.mockReturnValue(true)
      const waiting = from(heavy, large)
      await vi.waitFor(() => expect(answers.waiting).toBe(1))
      expect((await from(heavy, viewer)).status).toBe(200)
      expect((await from('light', large)).status).toBe(200)
      expect(answers.waiting).toBe(1)
      const queued = Array.from({ length: MAX_WAITING_ANSWERS - 1 }, () => answers.run(heavy, () => {}))
      expect((await from(heavy, large)).body).toContain('SERVER_BUSY')
      hasOthers.mockReturnValue(false)
      release()
      await Promise.all([...held, ...queued])
      expect((await waiting).status).toBe(200)
    },
  )

  test('masks an unexpected error, and logs it once', async () => {
    const { query } = world.deps.pool
    const log = vi.spyOn(world.deps.log, 'error').mockImplementation(() => {})
    const sent: PostRequest = { body: { query: '{ conversations { edges { cursor } } }' } }
    await send('fast', sent)
    world.deps.pool.query = () => Promise.reject(new Error('secret'))
    try {
      const fast = await send('fast', sent)
      expect(log).toHaveBeenCalledTimes(1)
      expect(fast.body).toContain('INTERNAL_SERVER_ERROR')
      expect(fast).toEqual(await send('yoga', sent))
    } finally {
      world.deps.pool.query = query
      log.mockRestore()
    }
  })

  test('executes a mutation once, with or without an error in its result', async () => {
    const APPEND = `mutation ($conversationId: ID!, $first: Int) {
      appendTurn(input: { conversationId: $conversationId, turn: { role: USER, content: "once" } }) {
        ... on AppendTurnPayload { turn { conversation { turns(first: $first) { edges { cursor } } } } }
      }
    }`
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ada')
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    for (const first of [10, 10, 900]) {
      await send('fast', { headers, body: { query: APPEND, variables: { conversationId, first } } })
    }
    const { body } = await send('fast', {
      headers,
      body: {
        query: 'query ($conversationId: ID!) { conversation(id: $conversationId) { turnCount } }',
        variables: { conversationId },
      },
    })
    expect(JSON.parse(body).data.conversation.turnCount).toBe(3)
  })

  test('keeps serving after a client disconnects before its body is complete', async () => {
    const sent = httpRequest({
      host: '127.0.0.1',
      port: ports.fast,
      path: '/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': 1_000 },
    })
    sent.on('error', () => {})
    await new Promise((resolve) => sent.write('{"query":', resolve))
    // The server has received the part when it answers a later request.
    await send('fast', { body: viewer })
    sent.destroy()
    expect((await send('fast', { body: viewer })).status).toBe(200)
  })

  test('keeps the most recently used documents, up to a limit in bytes', async () => {
    const documents = createDocumentCache()
    const yoga = createYogaServer(world.deps, loadConfig({}), maskWith(world.deps), documents)
    const ask = (query: string) => {
      const { schema, parse, validate } = yoga.getEnveloped({ params: { query } })
      return validate(schema, parse(query))
    }
    ask('{ viewer { actor } }')
    ask('{ nothing }')
    expect([...documents.keys()]).toEqual(['{ viewer { actor } }'])
    for (let at = 0; at < 69; at++) {
      ask(`{ node(id: "${at}") { id } }${' '.repeat(1_200_000)}`)
      documents.get('{ viewer { actor } }')
    }
    expect(documents.calculatedSize).toBeLessThanOrEqual(32 * 2 ** 20)
    expect(documents.size).toBeGreaterThan(2)
    expect(documents.size).toBeLessThan(20)
    expect(documents.has('{ viewer { actor } }')).toBe(true)
  })
})
