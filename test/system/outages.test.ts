// Outages of Postgres and Redis under steady calls of many verbs over every transport: each call succeeds or fails with
// a code that means "try again later", and the server recovers by itself.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { ServerBusy } from '../../src/errors.ts'
import { backends, type Backend, type Opened } from '../support/backend.ts'
import { createProxy, type Proxy } from '../support/proxy.ts'
import { useServer, type TestServer } from '../support/server.ts'
import { readJournalHead } from '../../src/store/sql/turn/journal/read-journal.ts'
import { sql } from '../support/sql.ts'
import { ADA, callsOf, TRY_LATER, type Call } from './outage-calls.ts'
import { createSite, signal, startServices, until } from './processes.ts'

const { SERVICES } = process.env
/** Name of the pair of services that no other test uses. */
const PAIR = 'outages'
/** Makes all calls in turn, 16 at a time, until `stop`, and counts the answers. */
function callSteadily(calls: Record<string, Call>) {
  const count = { ok: 0, tryLater: 0 }
  /** The other answers, with the names of the calls. */
  const wrong: string[] = []
  const names = Object.keys(calls)
  let isRunning = true
  let next = 0
  async function loop(): Promise<void> {
    while (isRunning) {
      const name = names[next++ % names.length]!
      const code = await calls[name]!().catch((error: unknown) => `rejected: ${String(error)}`)
      if (code === 'ok') count.ok += 1
      else if (TRY_LATER.has(code)) count.tryLater += 1
      else wrong.push(`${name}: ${code}`)
    }
  }
  const done = Promise.all(Array.from({ length: 16 }, loop))
  return {
    count,
    wrong,
    /** Resolves after this number of further answers of the kind. */
    more(kind: keyof typeof count, number: number) {
      const wanted = count[kind] + number
      return until(() => count[kind] >= wanted)
    },
    async stop() {
      isRunning = false
      await done
    },
  }
}

/**
 * Appends turns, some at a time, until `stop`: with a clientId, each again until it succeeds; without one, only once.
 */
function appendSteadily(server: TestServer, conversationId: string) {
  const acknowledged: string[] = []
  let isRunning = true
  async function write(withId: boolean): Promise<void> {
    while (isRunning) {
      const content = randomUUID()
      const turn = { role: 'USER' as const, content, clientId: withId ? content : null }
      for (let isDone = false; !isDone;) {
        try {
          await appendTurn(server.deps, ADA, { conversationId, turn })
          acknowledged.push(content)
          isDone = true
        } catch (error) {
          if (!(error instanceof ServerBusy)) throw error
          await sleep(20)
          isDone = !withId
        }
      }
    }
  }
  const done = Promise.all([true, true, false, false, false, false].map(write))
  done.catch(() => {})
  return {
    acknowledged,
    async stop() {
      isRunning = false
      await done
    },
  }
}

/** Subscribes to the conversation over one WebSocket, and returns the seqs of its events as they arrive. */
function follow(server: TestServer, conversationId: string): number[] {
  const seqs: number[] = []
  const query = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { seq } }'
  const headers = { 'x-tenant': ADA.tenant, 'x-actor': ADA.actor }
  const events = server.client(headers).iterate<any>({ query, variables: { id: conversationId } })
  const read = async () => {
    for await (const { data } of events) seqs.push(data.conversationEvents.seq)
  }
  read().catch(() => {})
  return seqs
}

/** Runs `fault` under steady calls. Expects only answers that mean "try again later", and a recovery. */
async function expectRecovery(server: TestServer, fault: (steady: ReturnType<typeof callSteadily>) => Promise<void>) {
  const { conversation } = await createConversation(server.deps, ADA, { participants: [{ actor: ADA.actor }] })
  const calls = callsOf(server, conversation.id)
  for (const [name, call] of Object.entries(calls)) expect(await call(), name).toBe('ok')
  const { conversation: written } = await createConversation(server.deps, ADA, {})
  const seqs = follow(server, written.id)
  const writers = appendSteadily(server, written.id)
  const steady = callSteadily(calls)
  try {
    await steady.more('ok', 50)
    await fault(steady)
    await steady.more('ok', Object.keys(calls).length)
  } finally {
    await steady.stop()
    await writers.stop()
  }
  expect(steady.wrong).toEqual([])
  expect(steady.count.tryLater).toBeGreaterThan(0)
  for (const [name, call] of Object.entries(calls)) expect(await call(), name).toBe('ok')
  const texts = await sql(server.deps.pool).query('SELECT text FROM turn WHERE conversation_id = $1', [written.id])
  const stored = texts.rows.map(({ text }) => text as string)
  expect(new Set(stored).size).toBe(stored.length)
  expect(stored).toEqual(expect.arrayContaining(writers.acknowledged))
  // The subscription continues: it has every entry of the journal once, in order.
  const last = (await readJournalHead(server.deps.pool, ADA.tenant, written.id))!.lastSeq
  await until(() => seqs.length >= last)
  expect(seqs).toEqual(Array.from({ length: last }, (_, index) => index + 1))
}

describe.skipIf(!SERVICES)('while Postgres and Redis are killed and started again (needs SERVICES)', () => {
  const backend: Backend = {
    name: 'killed',
    async open() {
      const { server, redisUrl } = await startServices(PAIR)
      const { databaseUrl } = await createSite(server, redisUrl)
      return { url: databaseUrl, redisUrl, close: async () => {} } as Opened
    },
  }
  const server = useServer(backend)

  it.each(['postgres', 'redis'] as const)(
    'every call succeeds or is answered with "try again later": %s',
    async (service) => {
      await expectRecovery(server, async (steady) => {
        for (let round = 0; round < 3; round++) {
          await signal(service, 'KILL', PAIR)
          await steady.more('tryLater', service === 'postgres' ? 100 : 3)
          await startServices(PAIR)
          await steady.more('ok', 200)
        }
      })
    },
  )
})

describe.each(backends.filter(({ name }) => name === 'postgres'))(
  'while the connections to Postgres are lost',
  (real) => {
    let proxy: Proxy
    let url: string
    const backend: Backend = {
      name: real.name,
      async open() {
        const opened = await real.open()
        url = opened.url!
        proxy = await createProxy(url)
        const close = () => proxy.close().then(opened.close)
        return { ...opened, url: proxy.url, close }
      },
    }
    const server = useServer(backend)

    it('every call succeeds or is answered with "try again later", after resets', async () => {
      await expectRecovery(server, async (steady) => {
        for (let round = 0; round < 20; round++) {
          proxy.drop()
          await steady.more('ok', 20)
        }
      })
    })

    it('every call succeeds or is answered with "try again later", while connections are refused', async () => {
      await expectRecovery(server, async (steady) => {
        for (let round = 0; round < 3; round++) {
          await proxy.cut()
          await steady.more('tryLater', 100)
          await proxy.restore()
          await steady.more('ok', 100)
        }
      })
    })

    it('every call succeeds or is answered with "try again later", after an operator has ended all sessions', async () => {
      const operator = new pg.Client(url)
      await operator.connect()
      await expectRecovery(server, async (steady) => {
        for (let round = 0; round < 20; round++) {
          await operator.query(
            'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
          )
          await steady.more('ok', 20)
        }
      }).finally(() => operator.end())
    })
  },
)
