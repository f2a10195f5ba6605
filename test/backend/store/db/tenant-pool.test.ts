// The scope of statements: it is set before the statement runs, in the same batch, and ends with it, for statements of
// pg and of Prisma, in transactions, and after errors and cancellations.

import { EventEmitter } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPool, createPrisma, type Db } from '../../../../src/store/db/db.ts'
import { SYSTEM, type Scope } from '../../../../src/store/db/scope.ts'
import type { Pool } from '../../../../src/store/db/tenant-pool.ts'
import { withTransaction } from '../../../../src/store/db/tx.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { casesOf, isExhaustive } from '../../../support/long.ts'
import { sql } from '../../../support/sql.ts'

const TENANT = `SELECT current_setting('colloquy.tenant', true) AS tenant, current_user::text AS role`
const NOTHING = { tenant: '', role: 'colloquy_app' }

describe.each(backends)('the pool on $name', ({ open }) => {
  let opened: Opened
  let pool: Pool
  let db: Db
  beforeAll(async () => {
    opened = await open()
    pool = opened.url ? createPool({ databaseUrl: opened.url, poolSize: 2 }, console.error) : opened.pool
    db = opened.url ? createPrisma(pool) : opened.db
    for (const tenant of ['a', 'b'])
      await db.of(tenant).conversation.create({ data: { id: `conv-${tenant}`, tenant, owner: 'ann' } })
  })
  afterAll(async () => {
    if (opened.url) {
      await db.$disconnect()
      await pool.end()
    }
    await opened.close()
  })

  const idsIn = async (scope: Scope) =>
    (await pool.query<{ id: string }>({ text: 'SELECT id FROM conversation ORDER BY id', scope })).rows.map(
      ({ id }) => id,
    )
  /** Runs a statement without a scope, which the type of the pool forbids. */
  const unscoped = async (text: string) => (await pool.query({ text } as never)).rows as unknown[]
  /** Runs a statement on each connection. */
  const onEach = async (work: () => Promise<unknown>) => Promise.all([work(), work(), work(), work()])

  it('sets the scope before the statement is evaluated, and resets it afterwards', async () => {
    expect((await pool.query({ text: TENANT, scope: 'a' })).rows).toEqual([{ tenant: 'a', role: 'colloquy_app' }])
    expect((await pool.query({ text: TENANT, scope: SYSTEM })).rows[0]).toMatchObject({ role: 'colloquy_system' })
    for (const rows of await onEach(() => unscoped(TENANT)))
      expect(rows).toEqual([{ ...NOTHING, tenant: expect.toSatisfy((name) => !name) }])
  })

  it('limits a named statement to the scope of each call', async () => {
    const named = { name: 'ids', text: 'SELECT id FROM conversation ORDER BY id' }
    for (let round = 0; round < 8; round++) {
      for (const [scope, ids] of [
        ['a', ['conv-a']],
        ['b', ['conv-b']],
        [SYSTEM, ['conv-a', 'conv-b']],
      ] as const) {
        const { rows, rowCount } = await pool.query<{ id: string }>({ ...named, scope })
        expect(rows.map(({ id }) => id)).toEqual(ids)
        expect(rowCount).toBe(ids.length)
      }
    }
  })

  it('shows and changes no row without a scope, or with the scope of an unknown tenant', async () => {
    expect(await unscoped('SELECT id FROM conversation')).toEqual([])
    expect(await idsIn('c')).toEqual([])
    expect(await idsIn('')).toEqual([])
    expect((await pool.query({ text: 'UPDATE conversation SET title = $1', values: ['x'], scope: 'c' })).rowCount).toBe(
      0,
    )
    expect((await pool.query({ text: 'DELETE FROM conversation', scope: 'c' })).rowCount).toBe(0)
    expect(await idsIn(SYSTEM)).toEqual(['conv-a', 'conv-b'])
  })

  it('refuses rows of another tenant, and rows that name another tenant than their conversation', async () => {
    const insert = (tenant: string, scope: Scope) =>
      pool.query({
        text: `INSERT INTO conversation (id, tenant, owner) VALUES ('new', $1, 'ann')`,
        values: [tenant],
        scope,
      })
    await expect(insert('b', 'a')).rejects.toThrow('row-level security')
    await expect(insert('', '')).rejects.toThrow('conversation_tenant')
    const text = `INSERT INTO participant (conversation_id, actor, kind, windows) VALUES ('conv-b', 'eve', 'HUMAN', '{1}')`
    await expect(pool.query({ text, scope: 'a' })).rejects.toThrow('participant_conversation_id_fkey')
    await expect(
      pool.query({ text: `UPDATE conversation SET tenant = 'b' WHERE id = 'conv-a'`, scope: 'a' }),
    ).rejects.toThrow('row-level security')
  })

  it('ends the scope after errors of any phase of a statement', async () => {
    const broken = ['SELECT 1 / 0', 'SELECT', 'SELECT missing', `SELECT 'x'::integer`, 'SELECT; SELECT 2']
    for (const text of broken) {
      for (const named of [{}, { name: 'broken' }])
        await pool.query({ ...named, text: `${text} `, scope: 'a' }).catch(() => {})
      await pool.query({ text: 'SELECT $1::integer', values: ['x'], scope: SYSTEM }).catch(() => {})
      expect(await unscoped('SELECT id FROM conversation')).toEqual([])
      expect(await idsIn('b')).toEqual(['conv-b'])
    }
  })

  it('applies the scope to Prisma outside and inside transactions', async () => {
    const read = (scope: Scope) => db.of(scope).conversation.findMany({ select: { id: true } })
    const [a, b, all] = await Promise.all([read('a'), read('b'), read(SYSTEM)])
    expect([a, b, all.length]).toEqual([[{ id: 'conv-a' }], [{ id: 'conv-b' }], 2])
    expect(await db.prisma.conversation.findMany()).toEqual([])
    const inTransaction = await withTransaction(db, 'a', async (tx) => {
      await setImmediate()
      return [await tx.conversation.count(), await tx.$queryRaw`SELECT id FROM conversation`]
    })
    expect(inTransaction).toEqual([1, [{ id: 'conv-a' }]])
    const failing = withTransaction(db, SYSTEM, async (tx) => {
      expect(await tx.conversation.count()).toBe(2)
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect(await db.prisma.$transaction((tx) => tx.conversation.count())).toBe(0)
    expect(await unscoped('SELECT id FROM conversation')).toEqual([])
  })

  it('plans a named statement once, and an unnamed statement for its values', async () => {
    const text = `SELECT current_setting('plan_cache_mode') AS mode`
    const modeOf = async (scope: Scope, name?: string) =>
      (await pool.query<{ mode: string }>({ text, scope, ...(name && { name }) })).rows
    for (const scope of ['a', SYSTEM] as const) {
      expect(await modeOf(scope, 'mode')).toEqual([{ mode: 'force_generic_plan' }])
      expect(await modeOf(scope)).toEqual([{ mode: 'auto' }])
      expect(await withTransaction(db, scope, (tx) => tx.$queryRawUnsafe(text))).toEqual([{ mode: 'auto' }])
    }
    const named = { name: 'mode', text }
    expect(await pool.queryAll('a', [named, named])).toEqual([
      [{ mode: 'force_generic_plan' }],
      [{ mode: 'force_generic_plan' }],
    ])
    expect(await pool.queryAll('a', [named, { text }])).toEqual([[{ mode: 'auto' }], [{ mode: 'auto' }]])
    for (const rows of await onEach(() => unscoped(text))) expect(rows).toEqual([{ mode: 'force_generic_plan' }])
  })

  it('plans a named statement again later, because its table may have grown', async () => {
    const one = opened.url ? createPool({ databaseUrl: opened.url, poolSize: 1 }, console.error) : pool
    const start = performance.now() + 20_000
    const now = vi.spyOn(performance, 'now').mockReturnValue(start)
    try {
      await sql(one).query(`
        CREATE TABLE grown (id integer PRIMARY KEY, note text) WITH (autovacuum_enabled = off);
        INSERT INTO grown VALUES (7, 'x');
        GRANT SELECT ON grown TO colloquy_app`)
      await sql(one).query('VACUUM grown')
      const named = { name: 'grown', text: 'SELECT note FROM grown WHERE id = $1', scope: 'a' }
      const find = async () => (await one.query<{ note: string }>({ ...named, values: [7] })).rows
      const plan = async () =>
        JSON.stringify((await one.query({ name: 'plan', text: `EXPLAIN EXECUTE grown(7)`, scope: 'a' })).rows)
      expect(await find()).toEqual([{ note: 'x' }])
      await sql(one).query(`INSERT INTO grown SELECT n, 'y' FROM generate_series(8, 20000) n`)
      expect(await find()).toEqual([{ note: 'x' }])
      expect(await plan()).toMatch('Seq Scan')
      now.mockReturnValue(start + 20_000)
      expect(await find()).toEqual([{ note: 'x' }])
      expect(await plan()).toMatch('Index Scan using grown_pkey')
    } finally {
      now.mockRestore()
      await sql(one).query('DROP TABLE grown')
      if (opened.url) await one.end()
    }
  })

  describe('with several statements in one batch', () => {
    const numbers = (name: string, more = {}) => ({
      name,
      text: 'SELECT g FROM generate_series(1, $1) g',
      values: [2],
      ...more,
    })

    it('applies one scope to all, and returns the rows of each, named or not, as objects or arrays', async () => {
      for (let round = 0; round < 4; round++) {
        const found = await pool.queryAll('a', [
          numbers('batch-1'),
          { text: TENANT },
          { text: 'SELECT id FROM conversation WHERE false' },
          numbers('batch-2', { rowMode: 'array', values: [round] }),
          numbers('batch-1', { values: [1] }),
        ])
        expect(found).toEqual([
          [{ g: 1 }, { g: 2 }],
          [{ tenant: 'a', role: 'colloquy_app' }],
          [],
          Array.from({ length: round }, (_, i) => [i + 1]),
          [{ g: 1 }],
        ])
        expect(await pool.queryAll(SYSTEM, [numbers('batch-2')])).toEqual([[{ g: 1 }, { g: 2 }]])
      }
    })

    it('ends all of them and the scope if one fails, and each can run again', async () => {
      const failures = [
        { text: 'SELECT 1 / 0' },
        { text: 'SELECT missing', name: 'missing' },
        numbers('batch-4', { values: ['x'] }),
        numbers('batch-5', { values: [1n, 2] }),
        {
          text: 'SELECT $1::jsonb',
          values: [
            {
              toPostgres: () => {
                throw new Error('no value')
              },
            },
          ],
        },
      ]
      for (const failure of failures) {
        for (const connection of [1, 2]) {
          const others = [numbers(`batch-3-${connection}`), failure, numbers(`batch-6-${connection}`), { text: TENANT }]
          await expect(pool.queryAll('a', others)).rejects.toThrow(/./)
        }
        expect(await unscoped('SELECT id FROM conversation')).toEqual([])
        for (const name of ['batch-3-1', 'batch-3-2', 'batch-6-1', 'batch-6-2', 'batch-4'])
          expect(await onEach(() => pool.queryAll('b', [numbers(name)]))).toEqual(Array(4).fill([[{ g: 1 }, { g: 2 }]]))
      }
      const changed = [{ text: `UPDATE conversation SET title = 'x' WHERE id = 'conv-a'` }, { text: 'SELECT 1 / 0' }]
      await expect(pool.queryAll('a', changed)).rejects.toThrow('division by zero')
      expect(await pool.queryAll('a', [{ text: 'SELECT title FROM conversation' }])).toEqual([[{ title: null }]])
    })
  })

  describe('with a named statement that is described once', () => {
    /** Counts the descriptions that Postgres sends of rows with this column, on all connections. */
    async function described(column: string, work: () => Promise<unknown>): Promise<number> {
      const client = await pool.connect()
      const { connection } = client as unknown as { connection: EventEmitter }
      client.release()
      let count = 0
      const { emit } = EventEmitter.prototype
      const prototype = connection.constructor.prototype as { emit?: unknown }
      prototype.emit = function (this: EventEmitter, event: string, ...args: { fields?: { name: string }[] }[]) {
        if (event === 'rowDescription' && args[0]!.fields!.some(({ name }) => name === column)) count += 1
        return emit.call(this, event, ...args)
      }
      try {
        await work()
      } finally {
        delete prototype.emit
      }
      return count
    }

    it('returns the same rows in each form, alone and in batches, in any order', async () => {
      const text = 'SELECT g AS seen, now() - now() AS gap, 9::bigint AS big FROM generate_series(1, $1) g'
      const count = await described('seen', async () => {
        for (let round = 0; round < 6; round++) {
          const statement = { name: 'described', text, values: [round % 3] }
          const expected = Array.from({ length: round % 3 }, (_, i) => [i + 1, 9])
          const alone = await pool.query<{ seen: number; big: number }>({ ...statement, scope: 'a' })
          expect(alone.rows.map(({ seen, big }) => [seen, big])).toEqual(expected)
          expect(alone.fields.map(({ name }) => name)).toEqual(['seen', 'gap', 'big'])
          const [tenant, arrays, objects] = await pool.queryAll('b', [
            { text: TENANT },
            { ...statement, rowMode: 'array' },
            statement,
          ])
          expect(tenant).toEqual([{ tenant: 'b', role: 'colloquy_app' }])
          expect((arrays as unknown[][]).map((row) => [row[0], row[2]])).toEqual(expected)
          expect(objects).toEqual(alone.rows)
        }
      })
      // Once for each connection.
      expect(count).toBeGreaterThanOrEqual(1)
      expect(count).toBeLessThanOrEqual(opened.url ? 2 : 1)
    })

    it('parses the values with the parsers of each call', async () => {
      const statement = { name: 'parsed', text: 'SELECT 9::bigint AS big', scope: 'a' }
      const types = { getTypeParser: () => (text: unknown) => `parsed ${String(text)}` } as never
      for (let round = 0; round < 4; round++) {
        expect((await pool.query({ ...statement, types })).rows).toEqual([{ big: 'parsed 9' }])
        expect((await pool.query(statement)).rows).toEqual([{ big: 9 }])
      }
    })

    it('reports an error, and misreads no row, after another process changed the columns', async () => {
      const change = (text: string) => sql(pool).query(text)
      await change('CREATE TABLE described (first integer, second text); GRANT SELECT ON described TO colloquy_app')
      await change(`INSERT INTO described VALUES (1, 'two')`)
      try {
        const read = () => pool.query({ name: 'changing', text: 'SELECT * FROM described', scope: 'a' })
        await onEach(async () => expect((await read()).rows).toEqual([{ first: 1, second: 'two' }]))
        for (const [text, row] of [
          ['ALTER TABLE described RENAME first TO renamed', { renamed: 1, second: 'two' }],
          ['ALTER TABLE described ADD third integer', { renamed: 1, second: 'two', third: null }],
          ['ALTER TABLE described ALTER renamed TYPE text', { renamed: '1', second: 'two', third: null }],
        ] as const) {
          await change(text)
          const outcomes = (await onEach(() => read().then(({ rows }) => rows, String))) as unknown[]
          expect(outcomes).toContainEqual(expect.stringContaining('cached plan must not change result type'))
          // The pool replaces the connection of a refused statement, and the new one reads the new columns.
          for (const rows of outcomes.filter((each) => typeof each !== 'string')) expect(rows).toEqual([row])
        }
      } finally {
        await change('DROP TABLE described')
      }
    })
  })

  it('applies no scope to the other statements of two shared connections', async () => {
    const steps: ((scope: Scope) => Promise<unknown>)[] = [
      (scope) => idsIn(scope),
      async (scope) => {
        const { rows } = await pool.query<{ id: string }>({
          name: `p-${String(scope === SYSTEM)}`,
          text: 'SELECT id FROM conversation ORDER BY id',
          scope,
        })
        return rows.map(({ id }) => id)
      },
      async (scope) => (await db.of(scope).conversation.findMany({ orderBy: { id: 'asc' } })).map(({ id }) => id),
      (scope) =>
        withTransaction(db, scope, async (tx) =>
          (await tx.conversation.findMany({ orderBy: { id: 'asc' } })).map(({ id }) => id),
        ),
    ]
    const failures: ((scope: Scope) => Promise<unknown>)[] = [
      (scope) => pool.query({ text: 'SELECT 1 / 0 FROM conversation', scope }),
      (scope) => pool.query({ text: 'SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(0)', scope }),
      (scope) =>
        withTransaction(db, scope, async (tx) => {
          await tx.$queryRaw`SELECT 1`
          throw new Error('rolled back')
        }),
    ]
    const expected: [Scope, string[]][] = [
      ['a', ['conv-a']],
      ['b', ['conv-b']],
      [SYSTEM, ['conv-a', 'conv-b']],
    ]
    const wrong: unknown[] = []
    let at = 0
    const runs = isExhaustive ? 20_000 : casesOf(4_000)
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        while (at < runs) {
          const n = at++
          const [scope, ids] = expected[n % 3]!
          if (n % 7 === 0) await failures[(n / 7) % failures.length]!(scope).catch(() => {})
          if (n % 11 === 0) wrong.push(...(await unscoped('SELECT id FROM conversation')))
          const found = await steps[Math.floor(n / 3) % steps.length]!(scope)
          if (JSON.stringify(found) !== JSON.stringify(ids)) wrong.push([scope, found])
        }
      }),
    )
    expect(wrong).toEqual([])
    expect((await sql(pool).query(TENANT)).rowCount).toBe(1)
  })
})
