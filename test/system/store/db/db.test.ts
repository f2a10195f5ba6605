// The connection pool and Prisma on it: session settings, types and recovery on every database; and maintenance.

import { randomUUID } from 'node:crypto'
import type { Pool } from '../../../../src/store/db/tenant-pool.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../../../../src/store/db/db.ts'
import { named } from '../../../../src/store/sql/kernel/sql.ts'
import { runMaintenance } from '../../../../src/store/db/maintenance.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'
import { SYSTEM } from '../../../../src/store/db/scope.ts'

let opened: Opened
const only = (name: string) => backends.filter((backend) => backend.name === name)

/** Destroys a connection, so that the next query opens a new one. */
async function renewConnection(pool: Pool): Promise<void> {
  const client = await pool.connect()
  client.release(true)
}

describe.each(backends)('the pool on $name', ({ open }) => {
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  it('returns 64-bit integers as numbers, and as bigint through Prisma', async () => {
    const id = randomUUID()
    await opened.db
      .of(SYSTEM)
      .conversation.create({
        data: { id, tenant: 'acme', owner: 'ann', journal: { create: { tenant: 'acme', tokenCount: 2n ** 40n } } },
      })
    const { rows } = await sql(opened.pool).query('SELECT token_count FROM journal WHERE conversation_id = $1', [id])
    expect(rows).toEqual([{ token_count: 2 ** 40 }])
    const journal = await opened.db.of(SYSTEM).journal.findUnique({ where: { conversationId: id } })
    expect(journal).toMatchObject({ tokenCount: 2n ** 40n })
  })

  it('compresses long texts by lz4 if Postgres can', async () => {
    const { rows } = await sql(opened.pool).query<{ current: string; available: string[] }>(
      `SELECT setting AS current, enumvals AS available FROM pg_settings WHERE name = 'default_toast_compression'`,
    )
    const { current, available } = rows[0]!
    expect(current).toBe(available.includes('lz4') ? 'lz4' : 'pglz')
    const [id, text] = [randomUUID(), 'long text '.repeat(1_000)]
    await opened.db.of(SYSTEM).conversation.create({ data: { id, tenant: 'acme', owner: 'ann', systemPrompt: text } })
    const stored = await sql(opened.pool).query(
      'SELECT pg_column_compression(system_prompt) AS method, system_prompt AS text FROM conversation WHERE id = $1',
      [id],
    )
    expect(stored.rows).toEqual([{ method: current, text }])
  })

  it('resets each new connection', async () => {
    const prepared = { name: 'answer', text: 'SELECT 42 AS answer' }
    for (let i = 0; i < 2; i++) {
      await sql(opened.pool).query(`SET application_name = 'somebody'; CREATE TEMP TABLE leftover ()`)
      expect((await sql(opened.pool).query(prepared)).rows).toEqual([{ answer: 42 }])
      await renewConnection(opened.pool)
      const { rows } = await sql(opened.pool).query(`
        SELECT current_setting('application_name') AS name, to_regclass('leftover')`)
      expect(rows[0].name).not.toBe('somebody')
      expect(rows[0].to_regclass).toBeNull()
    }
  })

  it('recovers from a connection that broke during a transaction', async () => {
    const client = await opened.pool.connect()
    await client.query('RESET ROLE; BEGIN; CREATE TABLE unfinished ()')
    client.release(true)
    expect((await sql(opened.pool).query(`SELECT to_regclass('unfinished')`)).rows).toEqual([{ to_regclass: null }])
  })

  it('recovers from a connection that broke during a statement', async () => {
    const client = await opened.pool.connect()
    const slow = client.query('SELECT count(*) FROM generate_series(1, 1000000 * $1)', [1]).catch(() => 'interrupted')
    client.release(true)
    expect(await slow).toBe('interrupted')
    expect((await sql(opened.pool).query('SELECT $1::integer AS one', [1])).rows).toEqual([{ one: 1 }])
  })

  it('reads and writes times through Prisma as UTC in any time zone of the database', async () => {
    const { rows } = await sql(opened.pool).query<{ name: string }>('SELECT current_database() AS name')
    await sql(opened.pool).query(`ALTER DATABASE ${rows[0]!.name} SET TimeZone = 'Asia/Kolkata'`)
    await renewConnection(opened.pool)
    const time = new Date('2026-03-01T09:30:00.250Z')
    expect(await opened.db.of(SYSTEM).$queryRaw`SELECT ${time}::timestamptz AS time`).toEqual([{ time }])
    const [row] = await opened.db.of(SYSTEM).$queryRaw<[{ ms: number }]>`
      SELECT extract(epoch FROM ${time}::timestamptz)::double precision * 1000 AS ms`
    expect(row.ms).toBe(time.getTime())
    await sql(opened.pool).query(`ALTER DATABASE ${rows[0]!.name} RESET TimeZone`)
  })

  it('prepares only named raw statements, under their names', async () => {
    await renewConnection(opened.pool)
    for (const one of [1, 2]) {
      expect(await opened.db.of(SYSTEM).$queryRaw`${named('add-one')} SELECT ${one}::integer + 1 AS two`).toEqual([
        { two: one + 1 },
      ])
      expect(await opened.db.of(SYSTEM).$queryRaw`SELECT ${one}::integer + 2 AS three`).toEqual([{ three: one + 2 }])
    }
    const { rows } = await sql(opened.pool).query(
      `SELECT name FROM pg_prepared_statements WHERE NOT starts_with(name, 'colloquy_')`,
    )
    expect(rows).toEqual([{ name: 'add-one' }])
  })

  it('stays open after Prisma disconnects', async () => {
    await opened.db.$disconnect()
    expect((await sql(opened.pool).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    expect(await opened.db.of(SYSTEM).$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }])
  })
})

describe.each(only('postgres'))('the pool of a Postgres server ($name)', ({ open }) => {
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  it('sets the application name and the timeouts of statements and idle transactions', async () => {
    const { rows } = await sql(opened.pool).query(`
      SELECT current_setting('application_name') AS name, current_setting('statement_timeout') AS statement,
             current_setting('idle_in_transaction_session_timeout') AS idle`)
    expect(rows).toEqual([{ name: 'colloquy', statement: '30s', idle: '30s' }])
  })

  it('survives the loss of a connection that is in use between two statements', async () => {
    const client = await opened.pool.connect()
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    // `once` of node:events would listen to the error, too.
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    await sql(opened.pool).query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    // If the pool did not listen to errors of this connection, the error would be uncaught and the test run would fail.
    await ended
    await expect(client.query('SELECT 1')).rejects.toThrow()
    client.release(true)
    expect((await sql(opened.pool).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  it('reports an idle connection that breaks, and opens another', async () => {
    const errors: Error[] = []
    const pool = createPool({ databaseUrl: opened.url!, poolSize: 1 }, (error) => errors.push(error))
    const { rows } = await sql(pool).query('SELECT pg_backend_pid() AS pid')
    await sql(opened.pool).query('SELECT pg_terminate_backend($1)', [rows[0].pid])
    await expect.poll(() => errors.length).toBe(1)
    expect(errors[0]).not.toHaveProperty('client')
    expect((await sql(pool).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })
})

describe.each(only('embedded'))('maintenance on $name', ({ open }) => {
  beforeAll(async () => {
    opened = await open()
    await runMaintenance(opened.pool)
  })
  afterAll(() => opened.close())

  const maintain = async () => {
    await sql(opened.pool).query('SELECT pg_stat_force_next_flush()')
    return runMaintenance(opened.pool)
  }

  it('vacuums a table after many changes, once', async () => {
    await sql(opened.pool).query('CREATE TABLE busy AS SELECT g AS n FROM generate_series(1, 1000) g')
    expect(await maintain()).toEqual(['VACUUM (ANALYZE) public.busy'])
    await sql(opened.pool).query('UPDATE busy SET n = n + 1 WHERE n <= 50')
    expect(await maintain()).toEqual([])
    await sql(opened.pool).query('UPDATE busy SET n = n + 1')
    expect(await maintain()).toEqual(['VACUUM (ANALYZE) public.busy'])
  })

  it('writes a checkpoint after 64 MiB of WAL, once', async () => {
    await sql(opened.pool).query('CREATE TABLE big (x text)')
    await sql(opened.pool).query(`INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 30000)`)
    expect(await maintain()).toEqual(['VACUUM (ANALYZE) public.big'])
    await sql(opened.pool).query(`INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 40000)`)
    expect(await maintain()).toEqual(['VACUUM (ANALYZE) public.big', 'CHECKPOINT'])
    expect(await maintain()).toEqual([])
  })
})
