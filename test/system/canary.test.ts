// Markers in every text argument of every operation, in tokens and in the answers of providers must not appear in the
// log, in metrics or in jobs. On Redis, they may appear only in the deltas of turns without an audience. The operations
// are generated from the schema, and run on real server processes at LOG_LEVEL=trace: once with working providers, once
// with providers that fail and quote the request.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient as createWsClient } from 'graphql-ws'
import pg from 'pg'
import { createClient as createRedisClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { schema } from '../../src/graphql/schema.ts'
import { backends, newDataDir, type Opened } from '../support/backend.ts'
import { rootFieldsOf, type RootField } from '../support/generated-operations.ts'
import { isExhaustive, isLong } from '../support/long.ts'
import { PATIENCE_MS } from '../support/patience.ts'
import {
  choicesOf,
  createObjects,
  ENDING,
  isSuccess,
  MANIFEST,
  post,
  startDrivenServer,
  valuesOf,
  type Ids,
  type DrivenServer,
} from './driven-server.ts'

const mark = (name: string) => `canary${name}${Math.random().toString(36).slice(2)}`
/** Markers: of texts, of private turns, and of the tokens and keys of clients and providers. */
const TEXT = mark('text')
const PRIVATE = mark('private')
const TOKEN = mark('token')
const ALL = [TEXT, PRIVATE, TOKEN]
const WRITER_TOKEN = `${TOKEN}-writer-token`
const API_KEY = `sk-${TOKEN}`
const HEADERS = {
  'x-tenant': 'watched',
  'x-actor': 'ann',
  authorization: `Bearer ${TOKEN}`,
  cookie: `session=${TOKEN}`,
}

/** A vector in a line of text: six decimal fractions in a row. */
const VECTOR = /(?:-?0\.\d{3,}(?:e-?\d+)?,\s*){6}/

const fields = rootFieldsOf(schema, isExhaustive ? 4 : 3)

/**
 * A provider whose answers quote the request: errors of each kind, replies of a wrong shape, and broken connections.
 */
async function startQuotingProvider(): Promise<{ url: string; server: Server; requests: () => number }> {
  let count = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const quoted = `${request.headers.authorization} sent ${body}`
      // The first errors are transient, because the process does not start if the embedder refuses its test request.
      const statuses = count < 5 ? [503] : [400, 401, 422, 500, 200, 200, 0]
      const status = statuses[count++ % statuses.length]!
      if (status === 0) return void request.socket.destroy()
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' })
      const error = { message: quoted, code: quoted, param: quoted, type: quoted }
      response.end(status === 200 && count % 2 ? `not JSON: ${quoted}` : JSON.stringify({ error, quoted }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, server, requests: () => count }
}

/** Fields of a transfer that has been started. */
const TRANSFERS = /continue(?:Export|Import)|cancelTransfer|Query\.transfer/

/** The calls of a field to send. Operations that need new objects are called once, except with LONG=2. */
function sampleOf(field: RootField): string[][] {
  const choices = choicesOf(field)
  return ENDING.has(field.name) && !isExhaustive ? choices.slice(0, 1) : choices
}

/** Sends every operation, and returns the names of the fields that succeeded at least once. */
async function drive(server: DrivenServer): Promise<{ succeeded: Set<string>; tokens: string[] }> {
  const succeeded = new Set<string>()
  const tokens: string[] = []
  /** Creates an API key, and returns its id. Its token must not appear in any output. */
  async function createKey(ids: Ids): Promise<string> {
    const field = fields.find(({ name }) => name === 'Mutation.createApiKey')!
    const variables = field.variables([], valuesOf(schema, field, ids, `${TEXT}${randomUUID()}`, WRITER_TOKEN))
    const { body } = await post(server, field.query, variables, HEADERS)
    const { CreateApiKeyPayload_apiKey: key, CreateApiKeyPayload_token: token } = body.data.createApiKey
    tokens.push(token)
    return key.id
  }
  /** Starts the transfer that the field continues or ends, and returns its id. */
  async function startTransfer(field: RootField): Promise<string> {
    const [name, input] = /Import/.test(field.name)
      ? ['startImport', { manifest: MANIFEST, fileKey: randomUUID() }]
      : ['startExport', { scope: 'TENANT' }]
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
    const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) { ... on ${type}Payload { transfer { id } } } }`
    const { body } = await post(server, query, { input }, HEADERS)
    return body.data[name].transfer.id
  }
  /** Waits until the erasure of a user has ended, because it also erases turns that are appended meanwhile. */
  async function untilErased(erasureId: string | undefined): Promise<void> {
    const query = 'query ($id: ID!) { erasure(id: $id) { receipt { completedAt } } }'
    const hasEnded = async () => {
      const { body } = await post(server, query, { id: erasureId }, HEADERS)
      return Boolean(body.data.erasure?.receipt)
    }
    if (erasureId) await expect.poll(hasEnded, { interval: 100 }).toBe(true)
  }
  /** Creates objects. Tries again while the erasure of a user has not ended. */
  const create = async (text: string, audience?: string[]): Promise<Ids> => {
    for (;;) {
      try {
        return await createObjects(server, HEADERS, text, WRITER_TOKEN, { audience })
      } catch (error) {
        if (!String(error).includes('is ERASED')) throw error
        await sleep(500)
      }
    }
  }
  await create(PRIVATE, ['ann'])
  let ids = await create(TEXT)
  let isEnded = false
  const last: RootField[] = []
  for (const field of fields) {
    if (field.kind === 'subscription') {
      last.push(field)
      continue
    }
    for (const chosen of sampleOf(field)) {
      if (isEnded || ENDING.has(field.name)) ids = await create(TEXT)
      if (/(?:revoke|rotate)ApiKey/.test(field.name)) ids = { ...ids, apiKey: await createKey(ids) }
      if (TRANSFERS.test(field.name)) ids = { ...ids, transfer: await startTransfer(field) }
      isEnded = ENDING.has(field.name)
      const variables = field.variables(chosen, valuesOf(schema, field, ids, TEXT, WRITER_TOKEN))
      const { body } = await post(server, field.query, variables, HEADERS)
      if (isSuccess(schema, field, body)) succeeded.add(field.name)
      if (field.name === 'Mutation.eraseUser') await untilErased(body.data?.eraseUser?.EraseUserPayload_erasure?.id)
    }
  }
  // Background work may have delayed a call or changed its objects, and some calls succeed only with arguments that
  // were not in the sample, so the calls of a field are repeated until one succeeds.
  for (const field of fields.filter(({ name, kind }) => kind !== 'subscription' && !succeeded.has(name))) {
    ids = { ...(await create(TEXT)), apiKey: await createKey(ids) }
    if (TRANSFERS.test(field.name)) ids = { ...ids, transfer: await startTransfer(field) }
    const values = valuesOf(schema, field, ids, TEXT, WRITER_TOKEN)
    for (const chosen of choicesOf(field)) {
      const { body } = await post(server, field.query, field.variables(chosen, values), HEADERS)
      if (!isSuccess(schema, field, body)) continue
      succeeded.add(field.name)
      break
    }
  }
  ids = await create(TEXT)
  const client = createWsClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { 'x-tenant': 'watched', 'x-actor': 'ann', authorization: `Bearer ${TOKEN}`, apiKey: TOKEN },
  })
  for (const field of last) {
    const subscriptions = choicesOf(field).map((chosen) => {
      const values = valuesOf(schema, field, ids, TEXT, WRITER_TOKEN)
      return client.iterate({ query: field.query, variables: { ...field.variables(chosen, values), afterSeq: 0 } })
    })
    let isFollowed = false
    for (const events of subscriptions) {
      void events.next().then(
        ({ value }) => (isFollowed ||= Boolean(value) && !(value as { errors?: unknown }).errors),
        () => {},
      )
    }
    for (const until = Date.now() + PATIENCE_MS; !isFollowed && Date.now() < until;) {
      // An inbox delivers changes by other actors.
      await createObjects(server, { ...HEADERS, 'x-actor': 'bob' }, TEXT, WRITER_TOKEN)
      await sleep(1_000)
    }
    if (isFollowed) succeeded.add(field.name)
    for (const events of subscriptions) void events.return?.()
  }
  await client.dispose()
  return { succeeded, tokens }
}

/** Sends malformed requests. */
async function sendGarbage({ url }: DrivenServer): Promise<void> {
  const requests: [string, RequestInit][] = [
    [`/${TEXT}?token=${TOKEN}`, {}],
    [`/graphql?query={${TEXT}}&token=${TOKEN}`, {}],
    ['/graphql', { method: 'POST', body: `{"query": "${TEXT}` }],
    ['/graphql', { method: 'POST', body: JSON.stringify({ query: `{ ${TEXT}(id: "${TEXT}") }` }) }],
    ['/graphql', { method: 'POST', body: JSON.stringify({ query: `query ${TEXT}($a: ${TEXT}) { x }` }) }],
    ['/graphql', { method: 'POST', body: JSON.stringify({ query: '{ viewer { actor } }', variables: TEXT }) }],
    ['/graphql', { headers: { accept: 'text/event-stream', 'last-event-id': TEXT } }],
  ]
  for (const [path, init] of requests) {
    await (
      await fetch(`${url}${path}`, {
        ...init,
        headers: { 'content-type': 'application/json', ...HEADERS, ...init.headers },
      })
    ).text()
  }
  for (const message of [
    `{"type":"${TEXT}`,
    JSON.stringify({ type: 'subscribe', id: TEXT, payload: { query: TEXT } }),
  ]) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'connection_init', payload: { [TOKEN]: TOKEN } }))
    socket.send(message)
    setTimeout(() => socket.close(), 300)
    await once(socket, 'close')
  }
}

/** The lines that contain a marker. */
const linesWith = (text: string, markers: readonly string[]) =>
  text.split('\n').filter((line) => markers.some((each) => line.includes(each)))

describe.runIf(isLong).each(backends)('no marker appears on $name,', (backend) => {
  let opened: Opened | null = null
  let storage: Record<string, string>
  const redisLines: string[] = []
  const undo: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    if (backend.name === 'embedded') return
    opened = await backend.open()
    storage = { DATABASE_URL: opened.url!, REDIS_URL: opened.redisUrl! }
    const redis = createRedisClient({ url: opened.redisUrl! })
    await redis.connect()
    await redis.monitor((line) => {
      if (ALL.some((each) => String(line).includes(each))) redisLines.push(String(line))
    })
    undo.push(() => Promise.resolve(redis.destroy()))
  })
  afterAll(async () => {
    for (const step of undo.splice(0).reverse()) await step()
    await opened?.close()
  })

  async function check(server: DrivenServer, tokens: readonly string[]): Promise<void> {
    const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text()
    await server.stop()
    expect(linesWith(metrics, ALL)).toEqual([])
    expect(metrics).toContain('colloquy_turns_total')
    expect(tokens.length).toBeGreaterThan(1)
    expect(linesWith(server.output(), [...ALL, ...tokens])).toEqual([])
    expect(server.output()).not.toMatch(VECTOR)
  }
  const settings = async (): Promise<Record<string, string>> => ({
    LOG_LEVEL: 'trace',
    FACT_EXTRACTION_EVERY_N: '1',
    THREAD_SUMMARY_EVERY_N: '1',
    USER_SUMMARY_EVERY_N: '1',
    ...(backend.name === 'embedded' ? { DATA_DIR: await newDataDir() } : storage),
  })

  it('in the log or metrics, with working providers, after every operation succeeded', async () => {
    const server = await startDrivenServer(await settings())
    undo.push(() => server.stop())
    const { succeeded, tokens } = await drive(server)
    await sendGarbage(server)
    expect(fields.map(({ name }) => name).filter((name) => !succeeded.has(name))).toEqual([])
    await check(server, tokens)
  })

  it('in the log or metrics, with providers that fail and quote the request', async () => {
    const provider = await startQuotingProvider()
    undo.push(() => Promise.resolve(provider.server.close()))
    const server = await startDrivenServer({
      ...(await settings()),
      EMBEDDER: 'openai',
      SUMMARIZER: 'openai',
      EXTRACTOR: 'openai',
      OPENAI_BASE_URL: provider.url,
      OPENAI_API_KEY: API_KEY,
    })
    undo.push(() => server.stop())
    const { tokens } = await drive(server)
    expect(provider.requests()).toBeGreaterThan(20)
    // Failures must have been logged.
    expect(server.output()).toContain('could not')
    await check(server, tokens)
  })

  if (backend.name !== 'embedded') {
    it('in stored jobs', async () => {
      const client = new pg.Client(opened!.url)
      await client.connect()
      const { rows: tables } = await client.query<{ name: string }>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'pgboss'`,
      )
      expect(tables.length).toBeGreaterThan(3)
      for (const { name } of tables) {
        const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM pgboss.${name} t`)
        expect(linesWith(rows.map(({ row }) => row).join('\n'), ALL), name).toEqual([])
      }
      await client.end()
    })

    it('on Redis, except in deltas of turns without an audience', () => {
      expect(redisLines.length).toBeGreaterThan(0)
      const others = redisLines.filter((line) => !line.includes(String.raw`\"type\":\"delta\"`))
      expect(others).toEqual([])
      expect(redisLines.filter((line) => [PRIVATE, TOKEN].some((each) => line.includes(each)))).toEqual([])
    })
  }
})
