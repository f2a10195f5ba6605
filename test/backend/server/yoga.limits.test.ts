// The limits of operations on every transport: yoga over HTTP, the fast path of POST, plans, Server-Sent Events, and
// queries and subscriptions over WebSocket. Each must reject the same operations with the same error.

import { createClient as createSseClient } from 'graphql-sse'
import { describe, expect, test, vi } from 'vitest'
import { backends } from '../../support/backend.ts'
import { useServer, type TestServer } from '../../support/server.ts'
import { isLong } from '../../support/long.ts'

type Extensions = Record<string, unknown>
type Operation = { query: string; variables?: Record<string, unknown> }
type Sent = { extensions: Extensions | undefined; message: string | undefined; data: unknown }

const first = ({
  data,
  errors,
}: {
  data?: unknown
  errors?: readonly { message: string; extensions?: object }[]
}): Sent => ({ data, message: errors?.[0]?.message, extensions: errors?.[0]?.extensions as Extensions | undefined })

/** One function per transport. Each sends an operation and resolves with its first result. */
function transportsOf(server: TestServer, headers: Record<string, string>) {
  const socket = async (operation: Operation) => {
    const client = server.client(headers)
    for await (const result of client.iterate(operation)) return first(result)
    throw new Error('no result')
  }
  return {
    post: async (operation: Operation) => first((await server.post(operation, headers)).body),
    async get({ query, variables = {} }: Operation) {
      const search = new URLSearchParams({ query, variables: JSON.stringify(variables) })
      const response = await fetch(`${server.url}/graphql?${search}`, { headers: { 'x-actor': 'ada', ...headers } })
      return first((await response.json()) as never)
    },
    async events(operation: Operation) {
      const client = createSseClient({ url: `${server.url}/graphql`, headers, retryAttempts: 0 })
      try {
        for await (const result of client.iterate(operation)) return first(result)
      } catch (error) {
        // The server rejects the request before a stream starts.
        return first((await (error as { response: Response }).response.json()) as never)
      }
      throw new Error('no result')
    },
    socket,
  }
}

const HISTORY = 'history(limit: $n) { ... on Turn { conversation {'
const NESTED = `${HISTORY.repeat(3)} id ${'}}}'.repeat(3)}`
const QUERY = `query ($n: Int) { conversation(id: "conv_x") { ${NESTED} } }`
const EVENTS = (selection: string) => `subscription ($id: ID!, $n: Int) {
  conversationEvents(conversationId: $id, afterSeq: 0) { ... on ParticipantJoined { seq } ... on ConversationUpdated { conversation { ${selection} } } }
}`
const nest = (depth: number) =>
  `${'conversation(id: "c") { turns { edges { node { '.repeat(1)}${'conversation { turns { edges { node { '.repeat(depth)} id ${'} } } }'.repeat(depth)} } } } }`

describe.each(backends)('limits of operations on $name,', (backend) => {
  const server = useServer(backend, { MAX_ANSWER_BYTES: '1048576', INTROSPECTION: '0' })

  /** Creates a conversation with `count` turns of 250,000 bytes. Returns the transports with its owner as viewer. */
  async function largeConversation(count: number) {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    for (let at = 0; at < count; at++) await tenant.append(conversationId, 'ada', `${at}${'x'.repeat(250_000)}`)
    return { conversationId, transports: transportsOf(server, { 'x-tenant': tenant.name, 'x-actor': 'ada' }) }
  }

  test('a short query of nested pages is rejected before it reads anything', async () => {
    const transports = transportsOf(server, {})
    const read = vi.spyOn(server.deps.reads.pool, 'query')
    const literal = { query: `{conversation(id:"x"){${NESTED.replaceAll('$n', '200').replaceAll(/\s+/g, ' ')}}}` }
    expect(literal.query.length).toBeLessThan(200)
    const sent = [
      await transports.post(literal),
      await transports.get(literal),
      await transports.socket(literal),
      // The same document with small pages is allowed, so the fast path has parsed it, and a plan may exist.
      await transports.post({ query: QUERY, variables: { n: 1 } }),
      await transports.post({ query: QUERY, variables: { n: 1 } }),
      await transports.post({ query: QUERY, variables: { n: 200 } }),
      await transports.socket({ query: QUERY, variables: { n: 200 } }),
      await transports.get({ query: QUERY, variables: { n: 200 } }),
    ]
    const reads = read.mock.calls.map(([call]) => JSON.stringify(call)).filter((call) => call.includes('conv_x'))
    read.mockRestore()
    expect(sent.map(({ extensions }) => extensions?.code ?? null)).toEqual(
      [true, true, true, false, false, true, true, true].map((isRejected) => (isRejected ? 'QUERY_TOO_COSTLY' : null)),
    )
    expect(sent.at(-1)!.extensions).toMatchObject({ limit: 'values', maximum: 100_000, actual: expect.any(Number) })
    expect(reads.length).toBeLessThanOrEqual(2)
  })

  test('a subscription whose events could be too large is rejected before it starts, whether its results are shared or not', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const transports = transportsOf(server, { 'x-tenant': tenant.name, 'x-actor': 'ada' })
    const inbox = `subscription ($n: Int) { inbox { conversation { ${NESTED} } } }`
    for (const send of [transports.socket, transports.events]) {
      const costly = await send({ query: EVENTS(NESTED), variables: { id, n: 200 } })
      expect(costly.extensions).toMatchObject({ code: 'QUERY_TOO_COSTLY', limit: 'values' })
      expect((await send({ query: inbox, variables: { n: 200 } })).extensions).toMatchObject({
        code: 'QUERY_TOO_COSTLY',
      })
      expect((await send({ query: EVENTS(NESTED), variables: { id, n: 2 } })).data).toMatchObject({
        conversationEvents: {},
      })
    }
  })

  test('a query with aliases of large pages stops after the first reads, and its answer is never built', async () => {
    const { conversationId, transports } = await largeConversation(5)
    const distinct = Array.from(
      { length: 40 },
      (_, at) => `a${at}: turns(first: ${5 + at}) { edges { node { text } } }`,
    )
    const equal = Array.from({ length: 40 }, (_, at) => `a${at}: turns(first: 2) { edges { node { text } } }`)
    const ask = (aliases: string[]) => ({
      query: `query ($id: ID!) { conversation(id: $id) { ${aliases.join(' ')} } }`,
      variables: { id: conversationId },
    })
    const read = vi.spyOn(server.deps.reads.pool, 'query')
    const expected = { code: 'QUERY_TOO_COSTLY', limit: 'answerBytes', maximum: 1_048_576 }
    // Use yoga's executor, then the fast path, then a plan.
    for (const send of [transports.post, transports.post, transports.post, transports.socket]) {
      read.mockClear()
      expect((await send(ask(distinct))).extensions).toEqual(expected)
      expect(read.mock.calls.length).toBeLessThanOrEqual(12)
    }
    for (const send of [transports.post, transports.post, transports.post, transports.socket]) {
      expect((await send(ask(equal))).extensions).toEqual(expected)
    }
    read.mockRestore()
    expect((await transports.post(ask(equal.slice(0, 1)))).data).toBeTruthy()
  })

  test('no further read starts after the client of a query has disconnected', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    const aliases = Array.from({ length: 40 }, (_, at) => `a${at}: turns(first: ${at + 1}) { edges { cursor } }`)
    const operation = {
      query: `query ($id: ID!) { conversation(id: $id) { ${aliases.join(' ')} } }`,
      variables: { id },
    }
    const { pool } = server.deps.reads
    const { query } = pool
    let [reads, running] = [0, 0]
    let release = () => {}
    let released = Promise.resolve()
    const whenReleased = async (...args: unknown[]) => {
      if (!JSON.stringify(args[0]).includes('FROM turn')) return Reflect.apply(query, pool, args)
      reads += 1
      running += 1
      await released
      return (Reflect.apply(query, pool, args) as Promise<unknown>).finally(() => (running -= 1))
    }
    const overHttp = () => {
      const controller = new AbortController()
      const body = JSON.stringify(operation)
      const sent = fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: controller.signal,
      })
      sent.catch(() => {})
      return () => controller.abort()
    }
    const overSocket = () => {
      const client = server.client(headers)
      client
        .iterate(operation)
        .next()
        .catch(() => {})
      return () => client.terminate()
    }
    // Use yoga, which caches the document, then the fast path, then a socket.
    for (const start of [overHttp, overHttp, overSocket]) {
      pool.query = whenReleased as never
      reads = 0
      released = new Promise((resolve) => (release = resolve))
      const disconnect = start()
      await vi.waitFor(() => expect(reads).toBeGreaterThan(0))
      disconnect()
      // The server has noticed the end of the connection when it answers a later request.
      await server.post({ query: '{ __typename }' })
      release()
      await vi.waitFor(() => expect(running).toBe(0))
      await server.post({ query: '{ __typename }' })
      pool.query = query
      expect(reads).toBeLessThanOrEqual(12)
    }
  })

  test('an event that is too large is replaced by an error', async () => {
    const { conversationId, transports } = await largeConversation(1)
    const aliases = Array.from({ length: 6 }, (_, at) => `a${at}: text`).join(' ')
    const query = `subscription ($id: ID!) {
      conversationEvents(conversationId: $id, afterSeq: 1) { ... on TurnAppended { turn { ${aliases} } } }
    }`
    for (const send of [transports.socket, transports.events]) {
      const { extensions } = await send({ query, variables: { id: conversationId } })
      expect(extensions).toMatchObject({ code: 'QUERY_TOO_COSTLY', limit: 'answerBytes' })
    }
  })

  test.each<[string, string, string]>([
    ['tokens', `{ ${'viewer { actor } '.repeat(600)} }`, 'tokens'],
    ['nested levels', `{ ${nest(6)} }`, 'depth'],
    ['levels (600)', `{${'a{'.repeat(600)}a${'}'.repeat(600)}}`, 'depth'],
    ['aliases', `{ ${Array.from({ length: 51 }, (_, at) => `a${at}: viewer { actor }`).join(' ')} }`, 'aliases'],
    ['directives', `{ viewer { actor ${'@skip(if: false) '.repeat(51)} } }`, 'directives'],
    ['repeated fields', `{ viewer { ${'actor '.repeat(102)} } }`, 'repeats'],
    [
      'fields of fragments',
      `{ ...F0 } ${Array.from({ length: 12 }, (_, at) => `fragment F${at} on Query { a: viewer { ...G } b: viewer { ...G } ...F${at + 1} }`).join(' ')}
      fragment F12 on Query { viewer { ...G } } fragment G on Viewer { ${Array.from({ length: 45 }, (_, at) => `...G${at}`).join(' ')} }
      ${Array.from({ length: 45 }, (_, at) => `fragment G${at} on Viewer { actor }`).join(' ')}`,
      'fields',
    ],
  ])(
    'a document with too many %s is rejected on every transport, and the socket stays open',
    async (_, query, limit) => {
      const transports = transportsOf(server, {})
      const sent = [
        await transports.post({ query }),
        await transports.post({ query }),
        await transports.get({ query }),
        await transports.events({ query }),
      ]
      const client = server.client()
      const over = async (text: string) => {
        for await (const result of client.iterate({ query: text })) return first(result)
        throw new Error('no result')
      }
      // graphql-ws rejects the iterator of a rejected operation with its errors.
      sent.push(await over(query).catch((errors: readonly { message: string }[]) => first({ errors })))
      for (const { extensions } of sent) {
        expect(extensions).toMatchObject({ code: 'QUERY_TOO_COSTLY', limit, maximum: expect.any(Number) })
      }
      expect((await over('{ viewer { actor } }')).data).toEqual({ viewer: { actor: 'anonymous' } })
    },
  )

  test.runIf(isLong)('69 documents of 1.2 MB leave little memory in use', async () => {
    const texts = [
      (at: number) => `{ node(id: "${at}${'x'.repeat(1_200_000)}") { id } }`,
      (at: number) => `{ ${`a${at}: viewer { actor } `.repeat(52_000)} }`,
    ]
    const before = process.memoryUsage().heapUsed
    for (let at = 0; at < 69; at++) await server.post({ query: texts[at % 2]!(at) })
    globalThis.gc?.()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 2 ** 20)
  })

  test('introspection and name suggestions are disabled by INTROSPECTION=0', async () => {
    const transports = transportsOf(server, {})
    for (const send of [transports.post, transports.get]) {
      const introspected = await send({ query: '{ __schema { types { name } } }' })
      expect(introspected.extensions).toMatchObject({ code: 'INTROSPECTION_DISABLED' })
      const misspelled = await send({ query: '{ viewer { acto } }' })
      expect(misspelled.message).toContain('Cannot query field "acto"')
      expect(misspelled.message).not.toContain('Did you mean')
      const wrong = await send({
        query: 'query ($o: ConversationOrder) { conversations(orderBy: $o) { edges { cursor } } }',
        variables: { o: 'CREATE' },
      })
      expect(wrong.message).toContain('CREATE')
      expect(wrong.message).not.toContain('Did you mean')
    }
  })
})

describe.each(backends)('the rate limit on $name', (backend) => {
  const server = useServer(backend, {}, { settings: { rateLimitPoints: 5 } })

  test('counts operations and their cost per viewer, and returns the time to wait before a retry', async () => {
    const tenant = server.tenant().name
    const send = (actor: string, query: string) =>
      fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tenant': tenant, 'x-actor': actor },
        body: JSON.stringify({ query }),
      })
    const cheap = '{ viewer { actor } }'
    const costly =
      '{ conversations(first: 200) { edges { node { id title key owner lastSeq createdAt updatedAt } cursor } } }'
    expect((await send('ada', costly)).status).toBe(200)
    expect((await send('ada', '{ viewer { actor } again: viewer { actor } }')).status).toBe(200)
    const response = await send('ada', cheap)
    expect(response.status).toBe(429)
    const retryAfterSeconds = Number(response.headers.get('retry-after'))
    expect(retryAfterSeconds).toBeGreaterThan(0)
    const { errors } = (await response.json()) as { errors: { extensions: Extensions }[] }
    expect(errors[0]!.extensions).toEqual({ code: 'RATE_LIMITED', limit: 'points', maximum: 5, retryAfterSeconds })
    expect((await send('bob', cheap)).status).toBe(200)
    // The points are those of the actor of the request, not of the actor in `as`.
    expect((await send('ada', '{ viewer(as: "bob") { actor } }')).status).toBe(429)

    const transports = transportsOf(server, { 'x-tenant': tenant, 'x-actor': 'ada' })
    const over = await transports.socket({ query: cheap })
    expect(over.extensions).toEqual({
      code: 'RATE_LIMITED',
      limit: 'points',
      maximum: 5,
      retryAfterSeconds: expect.any(Number),
    })
    const events = await transports.socket({ query: EVENTS(NESTED), variables: { id: 'conv_x', n: 1 } })
    expect(events.extensions).toMatchObject({ code: 'RATE_LIMITED' })
  })
})
