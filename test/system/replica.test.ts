// Recall and contexts on a streaming replica: reads contain every acknowledged write, even while replay is paused, and
// run on the primary while the replica is down.

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { createDeps, type OpenDeps } from '../../src/deps.ts'
import { NotReplica } from '../../src/store/scaling/replica.ts'
import { buildContext, onlyConversation as onlyConversationOfContext } from '../../src/domain/memory/context/build.ts'
import { createConversation } from '../../src/domain/conversation/conversation.ts'
import { recordFacts } from '../../src/domain/memory/fact/record.ts'
import { removeParticipant } from '../../src/domain/conversation/participant/participant.ts'
import { onlyConversation, recall, type RecallInput } from '../../src/domain/memory/recall/recall.ts'
import { onReplica } from '../../src/domain/kernel/replica.ts'
import { appendTurn } from '../../src/domain/turn/append/append.ts'
import { NotFound } from '../../src/errors.ts'
import { checkIsolation } from '../../src/store/db/isolation.ts'
import { createSite, startServices, type Site } from './processes.ts'
import { createStandby, type Standby } from './standby.ts'

const { SERVICES } = process.env
const PAIR = 'replica'
const ada = { tenant: 'acme', actor: 'ada' }
const bob = { tenant: 'acme', actor: 'bob' }

describe.skipIf(!SERVICES)('a streaming replica (needs SERVICES)', () => {
  let site: Site
  let standby: Standby
  /** The process that writes; the other process reads from the replica. */
  let writing: OpenDeps
  let reading: OpenDeps

  const open = (env: Record<string, string>) =>
    createDeps(
      loadConfig({ DATABASE_URL: site.databaseUrl, REDIS_URL: site.redisUrl, ...env }),
      pino({ level: 'silent' }),
    )
  const openReading = () => open({ DATABASE_READ_URL: standby.urlOf(site.databaseUrl) })

  beforeAll(async () => {
    const { server, redisUrl } = await startServices(PAIR)
    site = await createSite(server, redisUrl)
    writing = await open({})
    standby = await createStandby(server, PAIR)
    reading = await openReading()
  })
  afterAll(async () => {
    await reading?.close()
    await writing?.close()
    await standby?.remove()
  })

  async function create(members: string[] = ['ada', 'bob']): Promise<string> {
    const participants = members.map((actor) => ({ actor }))
    const { conversation } = await createConversation(writing.deps, ada, { participants, visibility: 'MEMBERS' })
    return conversation.id
  }
  const append = (conversationId: string, content: string) =>
    appendTurn(writing.deps, ada, { conversationId, turn: { role: 'USER', content } })

  /** Returns the result of a read, and whether the replica ran a statement for it besides the check of its replay. */
  async function observe<T>(read: () => Promise<T>): Promise<{ result: T; isReplica: boolean }> {
    const { pool, db } = reading.deps.replica!
    const named = vi.spyOn(pool, 'query')
    const prisma = vi.spyOn(db, 'of')
    try {
      const result = await read()
      const statements = named.mock.calls.map(([statement]) => statement.name ?? '')
      const isReplica = statements.some((name) => !name.startsWith('has-replayed')) || prisma.mock.calls.length > 0
      return { result, isReplica }
    } finally {
      named.mockRestore()
      prisma.mockRestore()
    }
  }
  const find = (input: RecallInput, viewer = ada) =>
    observe(async () => {
      const { hits } = await onReplica(reading.deps, viewer, onlyConversation(input), (deps) =>
        recall(deps, viewer, input),
      )
      return hits.map(({ memory }) => (memory.kind === 'TURN' ? memory.turn.text : memory.kind))
    })
  const context = (input: { conversationId: string; includeFacts?: boolean }) =>
    observe(async () => {
      const given = { tokenBudget: 4_000, ...input }
      const { messages } = await onReplica(reading.deps, ada, onlyConversationOfContext(given), (deps) =>
        buildContext(deps, ada, given),
      )
      return JSON.stringify(messages)
    })
  const untilOnReplica = (read: () => Promise<{ isReplica: boolean }>) =>
    vi.waitFor(async () => expect((await read()).isReplica).toBe(true), { interval: 50 })

  test('serves recall and contexts, which contain the latest writes of another process', async () => {
    const conversationId = await create()
    await append(conversationId, 'The launch moves to Friday.')
    await untilOnReplica(() => find({ conversationId, query: 'When is the launch?' }))
    expect((await find({ conversationId, query: 'When is the launch?' })).result).toEqual([
      'The launch moves to Friday.',
    ])
    await untilOnReplica(() => context({ conversationId, includeFacts: true }))
    for (let i = 0; i < 50; i++) {
      await append(conversationId, `Harbour number ${i} is open.`)
      const { result } = await find({ conversationId, query: `harbour number ${i}`, k: 100 })
      expect(result).toContain(`Harbour number ${i} is open.`)
      expect((await context({ conversationId })).result).toContain(`Harbour number ${i} is open.`)
    }
  })

  test('serves unchanged conversations while replay is paused, and the primary serves changed ones', async () => {
    const [changed, unchanged] = [await create(), await create()]
    await append(unchanged, 'The cat is called Miso.')
    await append(changed, 'The cat is called Miso.')
    await untilOnReplica(() => find({ conversationId: unchanged, query: 'cat' }))
    await untilOnReplica(() => find({ conversationId: changed, query: 'cat' }))
    await standby.pauseReplay()
    try {
      await append(changed, 'The cat is now called Nori.')
      const own = await find({ conversationId: changed, query: 'cat' })
      expect(own.isReplica).toBe(false)
      expect(own.result).toContain('The cat is now called Nori.')
      expect((await context({ conversationId: changed })).result).toContain('Nori')
      expect(await find({ conversationId: unchanged, query: 'cat' })).toEqual({
        result: ['The cat is called Miso.'],
        isReplica: true,
      })

      // A context contains facts of other conversations, so it needs the replay of the whole write-ahead log.
      await recordFacts(writing.deps, ada, {
        conversationId: changed,
        facts: [{ subject: 'user:ada', predicate: 'lives in', object: 'Oslo' }],
      })
      const known = await context({ conversationId: unchanged, includeFacts: true })
      expect(known.isReplica).toBe(false)
      const everywhere = await find({ scope: 'OWNER', query: 'cat' })
      expect(everywhere.isReplica).toBe(false)
      expect(everywhere.result).toContain('The cat is now called Nori.')

      await removeParticipant(writing.deps, ada, { conversationId: unchanged, actor: 'bob' })
      await append(unchanged, 'A secret after the removal: quince.')
      expect((await find({ conversationId: unchanged, query: 'quince' }, bob)).result).not.toContain(
        'A secret after the removal: quince.',
      )
    } finally {
      await standby.resumeReplay()
    }
    await untilOnReplica(() => find({ conversationId: changed, query: 'cat' }))
    expect((await find({ conversationId: changed, query: 'cat' })).result).toContain('The cat is now called Nori.')
  })

  test('isolates tenants, and passes the isolation check at startup', async () => {
    const conversationId = await create()
    await append(conversationId, 'Only for acme.')
    await untilOnReplica(() => find({ conversationId, query: 'acme' }))
    const { pool } = reading.deps.replica!
    const count = async (scope: string) =>
      (await pool.query<{ n: number }>({ scope, text: 'SELECT count(*) AS n FROM turn' })).rows[0]!.n
    expect(await count('acme')).toBeGreaterThan(0)
    expect(await count('other')).toBe(0)
    await expect(checkIsolation(pool)).resolves.toBeUndefined()
    await expect(find({ conversationId, query: 'acme' }, { tenant: 'other', actor: 'ada' })).rejects.toThrow(NotFound)
  })

  test('must replicate the primary: a DATABASE_READ_URL of another database is rejected', async () => {
    await expect(open({ DATABASE_READ_URL: site.databaseUrl })).rejects.toThrow(NotReplica)
  })

  test('may fail during a read, which is then repeated on the primary', async () => {
    const conversationId = await create()
    await append(conversationId, 'The ferry leaves at noon.')
    await untilOnReplica(() => find({ conversationId, query: 'ferry' }))
    const { pool } = reading.deps.replica!
    const { query } = pool
    pool.query = ((statement: Parameters<typeof query>[0]) =>
      statement.name?.startsWith('has-replayed')
        ? query.call(pool, statement)
        : Promise.reject(new Error('Connection terminated unexpectedly'))) as typeof query
    try {
      expect((await find({ conversationId, query: 'ferry' })).result).toEqual(['The ferry leaves at noon.'])
    } finally {
      pool.query = query
    }
  })

  test('is replaced by the primary while it is down, even at startup, and used again afterwards', async () => {
    const conversationId = await create()
    await append(conversationId, 'The bridge is closed.')
    await standby.crash()
    expect((await find({ conversationId, query: 'bridge' })).result).toEqual(['The bridge is closed.'])
    const started = await openReading()
    try {
      const { hits } = await onReplica(started.deps, ada, conversationId, (deps) =>
        recall(deps, ada, { conversationId, query: 'bridge' }),
      )
      expect(hits).toHaveLength(1)
    } finally {
      await started.close()
    }
    await standby.start()
    await untilOnReplica(() => find({ conversationId, query: 'bridge' }))
    expect((await find({ conversationId, query: 'bridge' })).result).toEqual(['The bridge is closed.'])
  })
})
