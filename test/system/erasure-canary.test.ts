// After eraseTurn, eraseUser and deleteConversation, a canary that was planted everywhere is no longer in Redis, in any
// log line, in the database, or in the memory of another server process, which has served it to subscribers, searches
// and contexts. A heap snapshot shows the strings in memory, and the inspector the buffers.

import { createClient as createWsClient, type Client } from 'graphql-ws'
import { createClient as createRedisClient } from 'redis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { backends, type Opened } from '../support/backend.ts'
import { openInspector, type Inspector } from '../support/inspector.ts'
import { isLong } from '../support/long.ts'
import { post, startDrivenServer, type Body, type DrivenServer } from './driven-server.ts'

const mark = (name: string) => `canary${name}${Math.random().toString(36).slice(2)}`
const CANARIES = { eraseTurn: mark('turn'), eraseUser: mark('user'), deleteConversation: mark('conversation') }
type Verb = keyof typeof CANARIES
const ALL = Object.values(CANARIES)
const TENANT = `erased-${Math.random().toString(36).slice(2)}`
const INTEGRITY_KEY = 'a key of this test, of 32 characters'
const WRITER_TOKEN = 'a writer token of this test'
const HEADERS = { 'x-tenant': TENANT, 'x-actor': 'ann' }
/** Interval of the searches of the memory, ms. One search takes 10 s of processor time. */
const SEARCH_MS = 30_000

async function run(server: DrivenServer, field: string, input: object, selection: string, as = 'ann'): Promise<Body> {
  const type = `${field[0]!.toUpperCase()}${field.slice(1)}`
  const query = `mutation ($input: ${type}Input!) { ${field}(input: $input) {
    ... on ${type}Payload { ${selection} } ... on UserError { code message } } }`
  const { body } = await post(server, query, { input }, { ...HEADERS, 'x-actor': as })
  const result = body.data?.[field]
  if (!result || result.code) throw new Error(`${field}: ${JSON.stringify(body)}`)
  return result
}

async function ask(server: DrivenServer, query: string, variables: object = {}, as = 'ann'): Promise<Body> {
  const { body } = await post(server, query, variables, { ...HEADERS, 'x-actor': as })
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return body.data
}

/** Creates a conversation with the canary in its title and metadata, and in the user's name and turns. */
async function plant(server: DrivenServer, canary: string, user: string) {
  const text = (what: string) => `${canary} ${what}. I live in Oslo and I like ${canary} tea.`
  const { conversation } = await run(
    server,
    'createConversation',
    {
      title: text('title'),
      metadata: { of: text('metadata') },
      participants: [
        { actor: 'ann' },
        { actor: 'bob' },
        { actor: user, displayName: canary, metadata: { of: text('participant') } },
      ],
    },
    'conversation { id }',
    user,
  )
  const conversationId = conversation.id as string
  const turn = { role: 'USER', content: text('turn'), metadata: { of: canary } }
  const { turn: first } = await run(server, 'appendTurn', { conversationId, turn }, 'turn { id }', user)
  const edited = { role: 'USER', content: text('edited') }
  const edit = { turnId: first.id, turn: edited }
  const { turn: newest } = await run(server, 'supersedeTurn', edit, 'turn { id }', user)
  const parts = [
    { text: text('parts') },
    { toolCall: { callId: 'c1', name: 'look', arguments: { of: canary } } },
    { data: { of: canary } },
  ]
  return { conversationId, turnId: newest.id as string, parts, text }
}

/** Creates facts, summaries and a profile with the canary and, unless `onlyOneTurn`, further turns. */
async function derive(
  server: DrivenServer,
  { conversationId, turnId, parts, text }: Awaited<ReturnType<typeof plant>>,
  canary: string,
  user: string,
  onlyOneTurn: boolean,
): Promise<void> {
  const facts = [{ subject: user, predicate: 'knows', object: `${canary} fact`, sourceTurnId: turnId }]
  if (!onlyOneTurn) {
    const citations = [{ chunk: text('chunk'), documentName: canary }]
    await run(server, 'appendTurn', { conversationId, turn: { role: 'USER', parts, citations } }, 'turn { id }', user)
    const opening = { conversationId, writerToken: WRITER_TOKEN, turn: { role: 'USER' } }
    const { turn: open } = await run(server, 'openTurn', opening, 'turn { id }', user)
    const written = { turnId: open.id, writerToken: WRITER_TOKEN }
    await run(server, 'appendDelta', { ...written, text: text('streamed') }, 'turn { id }', user)
    await run(server, 'commitTurn', written, 'turn { id }', user)
    const aborting = { ...opening, turn: { role: 'USER', audience: ['bob'] } }
    const { turn: other } = await run(server, 'openTurn', aborting, 'turn { id }', user)
    const given = { turnId: other.id, writerToken: WRITER_TOKEN }
    await run(server, 'appendDelta', { ...given, text: text('aborted') }, 'turn { id }', user)
    await run(server, 'abortTurn', { ...given, reason: canary }, 'turn { id }', user)
    await run(server, 'setPresence', { conversationId, state: 'ONLINE' }, '__typename', user)
    const state = { conversationId, key: 'plan', clientId: 'state' }
    await run(server, 'updateSharedState', { ...state, value: { of: text('state') } }, 'state { value }', user)
    await run(server, 'updateSharedState', { ...state, clientId: 'more', merge: { of: canary } }, 'version', user)
  }
  await run(server, 'recordFacts', { conversationId, userId: user, facts }, 'facts { id }', user)
  await run(server, 'extractFacts', { conversationId }, '__typename', user)
  await run(server, 'compact', { conversationId, policy: { triggerTurns: 1 } }, '__typename', user)
  await run(server, 'summarize', { conversationId }, '__typename', user)
  await run(server, 'refreshUserProfile', { userId: user }, '__typename', user)
}

/** Reads the conversation through the operations whose data a process caches. */
async function read(server: DrivenServer, conversationId: string, user: string): Promise<string> {
  const answers = [
    await ask(
      server,
      `query ($id: ID!) { conversation(id: $id) { title metadata participants { nodes { actor displayName } }
         sharedStates { nodes { key value } }
         turns(first: 20, includeSuperseded: true) { nodes { text author { displayName } } } } }`,
      { id: conversationId },
    ),
    await ask(
      server,
      `query ($input: RecallInput!) { recall(input: $input) {
         __typename ... on UserError { message } } }`,
      { input: { conversationId, query: 'Where is Oslo tea?', k: 10 } },
    ).catch((error: Error) => error.message),
    await ask(
      server,
      `query ($input: BuildContextInput!) { buildContext(input: $input) { __typename ... on UserError { message } } }`,
      {
        input: {
          conversationId,
          tokenBudget: 4_000,
          query: 'Oslo tea',
          includeProfile: true,
          includeFacts: true,
          semanticRecall: { k: 5 },
          recentTurns: 1,
          store: true,
        },
      },
    ),
    await ask(server, 'query ($u: String!) { userProfile(userId: $u) { content } }', { u: user }, user).catch(
      (error: Error) => error.message,
    ),
    await ask(server, '{ facts(first: 50) { nodes { subject object } } }'),
  ]
  return JSON.stringify(answers)
}

const postgres = backends.find(({ name }) => name !== 'embedded')

describe.skipIf(!isLong || !postgres)('after an erasure on Postgres, no erased text is left', () => {
  const backend = postgres!
  let opened: Opened
  let writing: DrivenServer
  let other: DrivenServer
  let inspector: Inspector
  const sockets: Client[] = []

  beforeAll(async () => {
    opened = await backend.open()
    const env = {
      DATABASE_URL: opened.url!,
      REDIS_URL: opened.redisUrl!,
      LOG_LEVEL: 'trace',
      INTEGRITY_KEY,
      AUTOMATIC_TITLES: 'false',
    }
    writing = await startDrivenServer(env)
    other = await startDrivenServer(env, ['--inspect=127.0.0.1:0'])
    inspector = await openInspector(/ws:\/\/\S+/.exec(other.output())![0])
  })
  afterAll(async () => {
    for (const socket of sockets) await socket.dispose()
    inspector?.close()
    await Promise.all([writing?.stop(), other?.stop()])
    await opened?.close()
  })

  /** Subscribes in the other process to a conversation and to the inbox, and returns the events as JSON. */
  function subscribe(conversationId: string, actor: string): () => string {
    const client = createWsClient({
      url: `${other.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { 'x-tenant': TENANT, 'x-actor': actor },
    })
    sockets.push(client)
    let received = ''
    const sink = { next: (event: unknown) => void (received += JSON.stringify(event)), error() {}, complete() {} }
    const query = `subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename
        ... on TurnAppended { turn { id text author { displayName } } } ... on TurnDelta { text } } }`
    client.subscribe({ query, variables: { id: conversationId } }, sink)
    client.subscribe({ query: 'subscription { inbox { reason conversation { title } } }' }, sink)
    return () => received
  }

  async function keysOnRedis(): Promise<string[]> {
    const redis = createRedisClient({ url: opened.redisUrl! })
    await redis.connect()
    const found: string[] = []
    for await (const keys of redis.scanIterator({ COUNT: 1_000 })) {
      for (const key of keys) {
        const values = await Promise.all([
          redis.get(key).catch(() => null),
          redis.hGetAll(key).catch(() => null),
          redis.zRange(key, 0, -1).catch(() => null),
          redis.sMembers(key).catch(() => null),
          redis.lRange(key, 0, -1).catch(() => null),
          redis.xRange(key, '-', '+').catch(() => null),
        ])
        const all = `${key} ${JSON.stringify(values)}`
        if (ALL.some((canary) => all.includes(canary))) found.push(key)
      }
    }
    redis.destroy()
    return found
  }

  async function tables(): Promise<string[]> {
    const client = new pg.Client(opened.url)
    await client.connect()
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
         WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    )
    const found: string[] = []
    for (const { name } of rows) {
      const { rows: hits } = await client.query(`SELECT t::text AS row FROM ${name} t WHERE t::text ILIKE ANY ($1)`, [
        ALL.map((canary) => `%${canary}%`),
      ])
      for (const { row } of hits) found.push(`${name}: ${String(row).slice(0, 200)}`)
    }
    await client.end()
    return found
  }

  const logged = () =>
    [writing, other].flatMap((server) =>
      server
        .output()
        .split('\n')
        .filter((line) => ALL.some((canary) => line.includes(canary))),
    )

  it('on Redis, in the logs, in the database and in the memory of another process', async () => {
    const planted = {} as Record<Verb, Awaited<ReturnType<typeof plant>>>
    for (const [verb, canary] of Object.entries(CANARIES) as [Verb, string][]) {
      const user = `user-${verb}`
      // eraseTurn erases one turn only, so nothing else may contain its canary.
      const isTurn = verb === 'eraseTurn'
      planted[verb] = isTurn ? await plantTurn(canary, user) : await plant(writing, canary, user)
      const received = subscribe(planted[verb].conversationId, 'bob')
      await derive(writing, planted[verb], canary, user, isTurn)
      if (!isTurn) await writeInDocument(planted[verb].conversationId, canary, user)
      expect(await read(other, planted[verb].conversationId, user)).toContain(canary)
      await expect.poll(received).toContain(canary)
    }
    await run(writing, 'eraseTurn', { turnId: planted.eraseTurn.turnId }, 'receipt { __typename }', 'user-eraseTurn')
    await run(writing, 'eraseUser', { userId: 'user-eraseUser' }, 'erasure { id }', 'user-eraseUser')
    const { conversationId } = planted.deleteConversation
    await run(writing, 'deleteConversation', { conversationId }, '__typename', 'user-deleteConversation')

    await expect.poll(tables, { interval: 1_000 }).toEqual([])
    expect(await keysOnRedis()).toEqual([])
    expect(logged()).toEqual([])
    // The key must be found, which shows that the search works.
    const found = async () => Object.entries(await inspector.search([...ALL, INTEGRITY_KEY]))
    await expect
      .poll(found, { interval: SEARCH_MS })
      .toEqual([[INTEGRITY_KEY, expect.arrayContaining([expect.any(String)])]])
  })

  /** Writes a turn in the other process, with the text in the document: such documents must not be cached. */
  async function writeInDocument(conversationId: string, canary: string, user: string): Promise<void> {
    const append = `mutation { appendTurn(input: { conversationId: "${conversationId}",
        turn: { role: USER, content: "${canary} in a document" } }) { __typename } }`
    for (let call = 0; call < 3; call++) await ask(other, append, {}, user)
  }

  /** Creates a conversation in which only one turn contains the canary. */
  async function plantTurn(canary: string, user: string) {
    const participants = [{ actor: 'ann' }, { actor: 'bob' }, { actor: user }]
    const { conversation } = await run(writing, 'createConversation', { participants }, 'conversation { id }', user)
    const text = (what: string) => `${canary} ${what}. I live in Oslo and I like ${canary} tea.`
    const turn = { role: 'USER', content: text('turn'), metadata: { of: canary } }
    const input = { conversationId: conversation.id, turn }
    const { turn: first } = await run(writing, 'appendTurn', input, 'turn { id }', user)
    const edit = { turnId: first.id, turn: { role: 'USER', content: text('edited') } }
    const { turn: edited } = await run(writing, 'supersedeTurn', edit, 'turn { id }', user)
    const others = { role: 'USER', content: 'Something else about Oslo.' }
    for (let n = 0; n < 6; n++) {
      await run(writing, 'appendTurn', { conversationId: conversation.id, turn: others }, 'turn { id }', user)
    }
    return { conversationId: conversation.id as string, turnId: edited.id as string, parts: [], text }
  }
})
