// Waiting appends are written together. Each conversation keeps its order, and no caller is affected by the error or
// lock of another.

import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { newId } from '../../../../../src/domain/kernel/id.ts'
import { DatabaseUnavailable } from '../../../../../src/errors.ts'
import { createAppendQueue } from '../../../../../src/domain/turn/append/append-queue.ts'
import { pageOfTurns } from '../../../../../src/domain/turn/history.ts'
import type { AppendCall, AppendedTurn } from '../../../../../src/store/sql/turn/append-call.ts'
import { readJournal } from '../../../../../src/store/sql/turn/journal/read-journal.ts'
import { backends } from '../../../../support/backend.ts'
import { PATIENCE_MS } from '../../../../support/patience.ts'
import { useWorld, type Tenant } from '../../../../support/world.ts'
import { sql } from '../../../../support/sql.ts'

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

describe.each(backends)('the append queue on $name', (backend) => {
  const world = useWorld(backend)

  const textsOf = async (tenant: Tenant, conversationId: string) =>
    (await pageOfTurns(world.deps, tenant.as('x'), [conversationId], { first: 200 }))
      .get(conversationId)!
      .items.map(({ text }) => text)
  const seqsOf = async (tenant: Tenant, conversationId: string) =>
    (await readJournal(world.deps.pool, tenant.name, conversationId, { after: 0, limit: 10_000 })).map(({ seq }) => seq)

  /** A call as the domain queues it, bypassing the domain's checks. */
  const call = (
    tenant: Tenant,
    conversationId: string,
    text: string,
    overrides: Partial<AppendedTurn> = {},
  ): AppendCall => ({
    conversationId,
    tenant: tenant.name,
    viewer: 'ann',
    turns: [{ id: newId('turn'), actor: 'ann', role: 'USER', status: 'COMMITTED', text, tokens: 1, ...overrides }],
  })
  /** A role for which Postgres rejects the whole statement. */
  const POISON = { role: 'KING' }

  it('assigns consecutive seqs to 64 concurrent appends to one conversation, in order of arrival', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann', 'bob')
    const appended = await Promise.all(
      upTo(64).map((n) => tenant.append(conversationId, n % 2 ? 'ann' : 'bob', `${n}`)),
    )
    expect(appended.map(({ seq }) => seq)).toEqual(upTo(66).slice(2))
    expect(await textsOf(tenant, conversationId)).toEqual(upTo(64).map(String))
    expect(await seqsOf(tenant, conversationId)).toEqual(upTo(66))
  })

  it("keeps every caller's order over 64 conversations at once", async () => {
    const tenant = world.tenant()
    const conversationIds = await Promise.all(upTo(64).map(() => tenant.newConversation('ann', 'bob')))
    // Two callers per conversation: one sends without waiting, the other waits for each answer.
    await Promise.all(
      conversationIds.flatMap((conversationId) => [
        Promise.all(upTo(4).map((n) => tenant.append(conversationId, 'ann', `ann ${n}`))),
        (async () => {
          for (const n of upTo(4)) await tenant.append(conversationId, 'bob', `bob ${n}`)
        })(),
      ]),
    )
    for (const conversationId of conversationIds) {
      expect(await seqsOf(tenant, conversationId)).toEqual(upTo(10))
      const texts = await textsOf(tenant, conversationId)
      for (const actor of ['ann', 'bob']) {
        expect(texts.filter((text) => text.startsWith(actor))).toEqual(upTo(4).map((n) => `${actor} ${n}`))
      }
    }
  })

  it('splits turns that do not fit into one statement across several statements', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const answers = await Promise.all(
      upTo(1_200).map((n) => world.deps.appends.append(call(tenant, conversationId, `${n}`))),
    )
    expect(answers.map(([row]) => row!.seq)).toEqual(upTo(1_201).slice(1))
  })

  it('fails only the call that the database rejects', async () => {
    const tenant = world.tenant()
    const conversationIds = await Promise.all(upTo(4).map(() => tenant.newConversation('ann')))
    const calls = upTo(64).map((n) => call(tenant, conversationIds[n % 4]!, `${n}`, n === 30 ? POISON : {}))
    const answers = await Promise.allSettled(calls.map((each) => world.deps.appends.append(each)))
    expect(answers.map(({ status }) => status)).toEqual(upTo(64).map((n) => (n === 30 ? 'rejected' : 'fulfilled')))
    for (const [index, conversationId] of conversationIds.entries()) {
      const numbers = upTo(64).filter((n) => n % 4 === index && n !== 30)
      expect(await textsOf(tenant, conversationId)).toEqual(numbers.map(String))
      expect(await seqsOf(tenant, conversationId)).toEqual(upTo(numbers.length + 1))
    }
  })

  it.each(['EPIPE', '57P01', '08006'])(
    'writes no call twice if the connection is lost after the commit: %s',
    async (code) => {
      const tenant = world.tenant()
      const conversationId = await tenant.newConversation('ann')
      const { pool } = world.deps
      const lost = Object.assign(Object.create(pool) as typeof pool, {
        query: async (statement: never) => {
          await pool.query(statement)
          throw pool.errorOf(Object.assign(new Error('lost'), { code }))
        },
      })
      const appends = createAppendQueue({ ...world.deps, pool: lost }, 1, () => {})
      const calls = upTo(3).map((n) => appends.append(call(tenant, conversationId, String(n))))
      for (const each of await Promise.allSettled(calls)) {
        expect(each).toMatchObject({ status: 'rejected', reason: expect.any(DatabaseUnavailable) })
      }
      expect(await textsOf(tenant, conversationId)).toEqual(['1', '2', '3'])
    },
  )

  it('keeps the order of a conversation while a rejected statement is retried call by call', async () => {
    const tenant = world.tenant()
    const conversationId = await tenant.newConversation('ann')
    const { appends } = world.deps
    const sent = [
      appends.append(call(tenant, conversationId, 'first')),
      appends.append(call(tenant, conversationId, '-', POISON)),
    ]
    for (const n of upTo(20)) sent.push(appends.append(call(tenant, conversationId, `${n}`)))
    // A call sent after the first answer is written after all earlier calls.
    sent.push(sent[0]!.then(() => appends.append(call(tenant, conversationId, 'last'))))
    const statuses = (await Promise.allSettled(sent)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 'rejected')).toHaveLength(1)
    expect(await textsOf(tenant, conversationId)).toEqual(['first', ...upTo(20).map(String), 'last'])
  })

  it('writes nothing for another tenant or an unknown conversation in the same statement', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()]
    const conversationId = await tenant.newConversation('ann')
    const answers = await Promise.all([
      world.deps.appends.append(call(tenant, conversationId, 'mine')),
      world.deps.appends.append(call(other, conversationId, 'theirs')),
      world.deps.appends.append(call(tenant, newId('conversation'), 'nowhere')),
      world.deps.appends.append(call(tenant, conversationId, 'mine too')),
    ])
    expect(answers.map((rows) => rows.length)).toEqual([1, 0, 0, 1])
    expect(await textsOf(tenant, conversationId)).toEqual(['mine', 'mine too'])
  })

  // The embedded database has no other clients.
  if (backend.name === 'postgres')
    describe('while another client has locked conversations', () => {
      /** Runs `work` while another client has locked the journal rows of the conversations, then releases them. */
      async function whileLocked(conversationIds: string[], work: (client: pg.Client) => Promise<void>): Promise<void> {
        const client = new pg.Client(world.url)
        await client.connect()
        try {
          await client.query('BEGIN')
          await client.query('SELECT FROM journal WHERE conversation_id = ANY ($1) FOR UPDATE', [conversationIds])
          await work(client)
          await client.query('COMMIT')
        } finally {
          await client.end()
        }
      }

      /** The number of statements in the database that wait for a lock. */
      async function waitingForLocks(): Promise<number> {
        const { rows } = await sql(world.deps.pool).query(
          `SELECT count(*)::integer AS count FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return (rows[0] as { count: number }).count
      }

      // Tests one and five locked conversations, because at most two statements wait for locks.
      it.each([1, 5])(
        'writes to other conversations, and to the %d locked ones once they are released',
        async (count) => {
          const tenant = world.tenant()
          const [locked, open] = [[] as string[], [] as string[]]
          for (let i = 0; i < count; i++) locked.push(await tenant.newConversation('ann'))
          for (let i = 0; i < 8; i++) open.push(await tenant.newConversation('ann'))
          let waiting: Promise<unknown> = Promise.resolve()
          let isDone = false
          await whileLocked(locked, async () => {
            waiting = Promise.all(
              upTo(3).flatMap((n) => locked.map((conversationId) => tenant.append(conversationId, 'ann', `${n}`))),
            ).then(() => (isDone = true))
            for (const n of upTo(5))
              await Promise.all(open.map((conversationId) => tenant.append(conversationId, 'ann', `${n}`)))
            expect(isDone).toBe(false)
          })
          await waiting
          for (const conversationId of locked) expect(await textsOf(tenant, conversationId)).toEqual(['1', '2', '3'])
          for (const conversationId of open) expect(await textsOf(tenant, conversationId)).toEqual(upTo(5).map(String))
        },
      )

      it('writes to a conversation soon after its lock is released, even if others stay locked', async () => {
        const tenant = world.tenant()
        const [stuck, brief] = [[] as string[], await tenant.newConversation('ann')]
        for (let i = 0; i < 3; i++) stuck.push(await tenant.newConversation('ann'))
        let waiting: Promise<unknown> = Promise.resolve()
        await whileLocked(stuck, async () => {
          waiting = Promise.all(stuck.map((conversationId) => tenant.append(conversationId, 'ann', 'hello')))
          await expect.poll(waitingForLocks).toBe(2)
          let appended: Promise<unknown> = Promise.resolve()
          await whileLocked([brief], async () => {
            const query = vi.spyOn(pg.Pool.prototype, 'query')
            appended = tenant.append(brief, 'ann', 'hello')
            await expect.poll(() => query.mock.calls.some((call) => JSON.stringify(call).includes(brief))).toBe(true)
            query.mockRestore()
          })
          const late = new Promise((_, reject) =>
            setTimeout(() => reject(new Error('delayed by locked conversations')), PATIENCE_MS).unref(),
          )
          await Promise.race([appended, late])
        }).finally(() => waiting)
      })

      it('does not wait for reads that use every other connection', async () => {
        const tenant = world.tenant()
        const conversationId = await tenant.newConversation('ann')
        const slow = upTo(20).map(() => sql(world.deps.pool).query('SELECT pg_sleep(2)'))
        const first = await Promise.race([
          ...slow.map(async (read) => (await read, 'a read')),
          tenant.append(conversationId, 'ann', 'hello').then(() => 'the append'),
        ])
        expect(first).toBe('the append')
        await Promise.all(slow)
      })

      it('does not poll the database for conversations that stay locked', async () => {
        const tenant = world.tenant()
        const locked = await Promise.all(upTo(5).map(() => tenant.newConversation('ann')))
        let waiting: Promise<unknown> = Promise.resolve()
        await whileLocked(locked, async () => {
          const query = vi.spyOn(pg.Pool.prototype, 'query')
          waiting = Promise.all(locked.map((conversationId) => tenant.append(conversationId, 'ann', 'hello')))
          await new Promise((resolve) => setTimeout(resolve, 300))
          const times = query.mock.calls.length
          query.mockRestore()
          expect(times).toBeGreaterThan(0)
          expect(times).toBeLessThan(50)
        }).finally(() => waiting)
      })

      it('keeps the order of a locked conversation, including calls that arrive meanwhile', async () => {
        const tenant = world.tenant()
        const conversationId = await tenant.newConversation('ann')
        const sent: Promise<unknown>[] = []
        await whileLocked([conversationId], async () => {
          for (const n of upTo(10)) {
            sent.push(tenant.append(conversationId, 'ann', `${n}`))
            if (n === 1) await expect.poll(waitingForLocks).toBe(1)
            else await new Promise((resolve) => setImmediate(resolve))
          }
        })
        await Promise.all(sent)
        expect(await textsOf(tenant, conversationId)).toEqual(upTo(10).map(String))
      })
    })
})
