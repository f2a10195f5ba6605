// Sends every operation of the schema, with every id argument, as an actor of another tenant and as an outsider of a
// MEMBERS conversation. The answer must contain no text of the objects and equal the answer for unknown ids, and the
// operation must change no row of the tenant. Uses HTTP and WebSocket, and with LONG=1 also Server-Sent Events. The
// operations are generated from the schema; outsider.test.ts and foreign-tenant.test.ts have the cases that cannot be
// generated.
//
// `npx vitest run --config test/vitest.config.ts test/system/isolation.test.ts` prints the number of operations and
// the median times.

import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createApiKey } from '../../src/domain/api-key/api-key.ts'
import { newId } from '../../src/domain/id.ts'
import { RIGHTS } from '../../src/domain/principal.ts'
import { schema } from '../../src/graphql/schema.ts'
import { backends } from '../support/backend.ts'
import { rootFieldsOf, type Leaf, type RootField } from '../support/generated-operations.ts'
import { isExhaustive, isLong } from '../support/long.ts'
import { useServer } from '../support/server.ts'
import { choicesOf, createObjects, post, valuesOf, type Body, type Ids } from './driven-server.ts'
import { sql } from '../support/sql.ts'

const CANARY = `canary${Math.random().toString(36).slice(2)}`
const WRITER_TOKEN = `${CANARY}-writer-token`
const LIMITS = {
  MAX_QUERY_TOKENS: '100000',
  MAX_QUERY_FIELDS: '100000',
  MAX_QUERY_ALIASES: '10000',
  MAX_QUERY_REPEATS: '10000',
  MAX_QUERY_VALUES: '100000000',
}

const fields = rootFieldsOf(schema, 3)
/** Whether the argument identifies a conversation, or an object of one. */
const isId = ({ type, name }: Leaf) => type === 'ID' || name === 'conversationKey'
/** Whether no argument of the field identifies an object. A canary in the answer shows that such a field leaks. */
const takesNoId = (field: RootField) => !field.leaves.some(isId)

/** Verbs of operators, which reach every conversation of their own tenant, whether or not the actor sees it. */
const OF_OPERATORS = new Set(['Mutation.eraseUser', 'Mutation.pruneConversations', 'Mutation.setLegalHold'])

const unknownIds = (): Ids => ({
  conversation: newId('conversation'),
  key: `key-${newId('turn')}`,
  turn: newId('turn'),
  open: newId('turn'),
  fact: newId('fact'),
  summary: newId('summary'),
  run: newId('run'),
  approval: newId('approval'),
})

/** Replaces the ids, cursors and times of a body, which differ anyway. */
const normalized = (text: string, ids: Ids) =>
  Object.entries(ids)
    .filter(([, id]) => id !== '')
    .reduce((all, [name, id]) => all.replaceAll(id, name), text)
    .replace(/\b(conv|turn|sum|fact|run|appr)_[0-9A-Z]{26}\b/g, '$1')
    .replace(/"[A-Za-z0-9+/=_-]{24,}"/g, '"CURSOR"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/key-[\w.]+/g, 'KEY')
    .replace(/plain\d+/g, 'plain')

/** Time for which an accepted subscription is read, ms. A refused subscription ends at once. */
const OPEN_MS = 1_500

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** Whether a transport other than HTTP sends the field: without LONG, only subscriptions and a sixteenth of the rest. */
const isCarried = (field: RootField) => isLong || field.kind === 'subscription' || fields.indexOf(field) % 16 === 0

type Transport = (field: RootField, variables: object, headers: Record<string, string>) => Promise<string>

/** Without authentication, where the server accepts any name; with LONG=1 also with keys that have every right. */
const modes = isLong ? ['none', 'keys'] : ['none']
const servers = backends.flatMap((backend) =>
  modes.map((mode) => ({ name: `${backend.name}, AUTH_MODE=${mode}`, mode, backend })),
)

describe.each(servers)('a server on $name', { timeout: 600_000 }, ({ name: serverName, mode, backend }) => {
  const server = useServer(
    backend,
    { ...LIMITS, AUTH_MODE: mode },
    {
      settings: {
        automatic: { titles: false, threadSummaryEvery: 0, factExtractionEvery: 0, userSummaryEvery: 0, dedupEvery: 0 },
      },
    },
  )
  type Names = { 'x-tenant': string; 'x-actor': string; authorization?: string }
  const OWNER: Names = { 'x-tenant': 'owner', 'x-actor': 'ann' }
  const strangers: Record<string, Names> = {
    'an actor of another tenant': { 'x-tenant': 'stranger', 'x-actor': 'ann' },
    'an outsider of the tenant': { 'x-tenant': 'owner', 'x-actor': 'eve' },
  }
  let ids: Ids

  async function giveKey(names: Names): Promise<void> {
    const admin = { tenant: names['x-tenant'], actor: 'admin' }
    const key = { name: `key of ${names['x-actor']}`, actor: names['x-actor'], kind: 'HUMAN' as const }
    const { token } = await createApiKey(server.deps, admin, { ...key, rights: [...RIGHTS] })
    names.authorization = `Bearer ${token}`
  }

  beforeAll(async () => {
    if (mode === 'keys') for (const names of [OWNER, ...Object.values(strangers)]) await giveKey(names)
    ids = await createObjects(server, OWNER, CANARY, WRITER_TOKEN, { visibility: 'MEMBERS' })
    // Background work embeds the objects a moment later.
    for (let last = ''; last !== (last = await digest());) await new Promise((resolve) => setTimeout(resolve, 1_000))
  })

  const overHttp: Transport = async (field, variables, headers) =>
    (await post(server, field.query, variables, headers)).text

  const overEvents: Transport = async (field, variables, headers) => {
    const stop = new AbortController()
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify({ query: field.query, variables }),
      signal: stop.signal,
    })
    // A subscription that was accepted has no end, so only its beginning is read.
    const timer = setTimeout(() => stop.abort(), OPEN_MS)
    let text = ''
    try {
      for await (const part of response.body!) text += Buffer.from(part).toString()
    } catch {
      // The timer aborted the request.
    }
    clearTimeout(timer)
    return text
  }

  const clients = new Map<string, ReturnType<typeof createClient>>()
  afterAll(async () => {
    for (const client of clients.values()) await client.dispose()
  })
  const overWebSocket: Transport = async (field, variables, headers) => {
    const key = JSON.stringify(headers)
    let client = clients.get(key)
    if (!client) {
      const url = `${server.url.replace('http', 'ws')}/graphql`
      clients.set(key, (client = createClient({ url, webSocketImpl: WebSocket, connectionParams: headers })))
    }
    const results: Body[] = []
    const ended = new Promise<void>((resolve) => {
      const stop = client.subscribe(
        { query: field.query, variables: variables as Record<string, unknown> },
        {
          next: (value) => void results.push(value),
          error: (error) => {
            results.push(error)
            resolve()
          },
          complete: resolve,
        },
      )
      if (field.kind === 'subscription') setTimeout(() => (stop(), resolve()), OPEN_MS)
    })
    await ended
    return JSON.stringify(results)
  }

  /** Returns a digest of every row that contains the id of an object of the owner. */
  async function digest(): Promise<string> {
    const { rows: tables } = await sql(server.deps.pool).query<{
      name: string
    }>(`SELECT table_name AS name FROM information_schema.tables
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`)
    const parts: string[] = []
    for (const { name } of tables) {
      const { rows } = await sql(server.deps.pool).query<{ digest: string | null }>(
        `SELECT md5(string_agg(row, '|' ORDER BY row)) AS digest
         FROM (SELECT (to_jsonb(t) - 'embedded_by' - 'recalled_at')::text AS row FROM "${name}" t) r WHERE row LIKE ANY ($1::text[])`,
        [
          Object.values(ids)
            .filter(Boolean)
            .map((id) => `%${id}%`),
        ],
      )
      parts.push(`${name} ${rows[0]!.digest}`)
    }
    return parts.join('\n')
  }

  /** Whether an answer contains text of the owner. The ids that the request itself contains are no leak. */
  const leaks = (answer: string) => answer.includes(CANARY)

  const transports: Record<string, Transport> = {
    HTTP: overHttp,
    WebSocket: overWebSocket,
    'Server-Sent Events': overEvents,
  }

  const covered = new Set<string>()
  /** Number of calls. Part of each text argument, because some texts must be unique, such as the names of API keys. */
  let calls = 0
  // Without LONG, only the actor of another tenant uses WebSocket, and no actor uses Server-Sent Events, because each
  // accepted subscription is read for OPEN_MS.
  const cases = Object.keys(strangers)
    .flatMap((stranger, n) => Object.keys(transports).map((transport, m) => [stranger, transport, n, m] as const))
    .filter(([, , n, m]) => isLong || m === 0 || (n === 0 && m === 1))
  it.each(cases)('answers %s over %s as if the objects did not exist', async (stranger, transport) => {
    const headers = strangers[stranger]!
    const send = transports[transport]!
    const before = await digest()
    const times = { foreign: [] as number[], unknown: [] as number[] }
    let count = 0
    for (const field of fields) {
      // HTTP without Server-Sent Events supports no subscriptions.
      if (transport === 'HTTP' && field.kind === 'subscription') continue
      if (transport !== 'HTTP' && !isCarried(field)) continue
      if (headers['x-tenant'] === OWNER['x-tenant'] && OF_OPERATORS.has(field.name)) continue
      const all = choicesOf(field)
      const isInteresting = (chosen: string[]) => field.leaves.some((leaf) => isId(leaf) && chosen.at(-1) === leaf.path)
      // Without authentication, an actor may act as any other actor of its tenant.
      const mayAsk = (chosen: string[]) =>
        headers['x-tenant'] !== OWNER['x-tenant'] || !/(^|\.)(as|actor)$/.test(chosen.at(-1) ?? '')
      // The first choice is the plain call; the others add one argument each.
      const choices = isExhaustive
        ? all.filter(mayAsk)
        : [all[0]!, ...(transport === 'HTTP' ? all.slice(1).filter(isInteresting) : [])]
      for (const chosen of choices) {
        const run = async (of: Ids) => {
          const variables = field.variables(chosen, valuesOf(schema, field, of, `plain${++calls}`, WRITER_TOKEN))
          const start = performance.now()
          const answer = await send(field, variables, headers)
          return { answer, ms: performance.now() - start }
        }
        const missing = unknownIds()
        const unknown = await run(missing)
        const foreign = await run(ids)
        count += 1
        covered.add(field.name)
        const name = `${field.name} ${chosen.at(-1) ?? ''}`
        expect(leaks(foreign.answer), `${name}: ${foreign.answer}`).toBe(false)
        if (!takesNoId(field)) {
          expect(normalized(foreign.answer, ids), name).toBe(normalized(unknown.answer, missing))
        }
        if (field.kind !== 'subscription') {
          times.foreign.push(foreign.ms)
          times.unknown.push(unknown.ms)
        }
      }
    }
    expect(await digest()).toBe(before)
    const figures = `${count} operations; median ${median(times.foreign).toFixed(2)} ms for hidden objects, ${median(times.unknown).toFixed(2)} ms for unknown ids`
    console.info(`isolation, ${serverName}, ${stranger}, ${transport}: 0 leaks in ${figures}`)
  })

  it('received every operation of the schema', () => {
    expect(fields.map(({ name }) => name).filter((name) => !covered.has(name))).toEqual([])
  })

  it('answers a participant with the canary, so the test can find a leak', async () => {
    const field = fields.find(({ name }) => name === 'Query.conversation')!
    const variables = field.variables(['id'], valuesOf(schema, field, ids, 'plain', WRITER_TOKEN))
    expect(leaks(await overHttp(field, variables, OWNER))).toBe(true)
  })
})
