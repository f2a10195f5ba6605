// Partitioned databases: their tables have the definitions of unpartitioned tables, and each conversation is in one
// partition. The number of partitions is chosen once. `npm run test:partitions` runs the suites of the partitioned
// tables on such a database.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOwnerPool } from '../../../../src/store/db/db.ts'
import { migrate } from '../../../../src/store/db/migrate.ts'
import { PARTITIONED_TABLES } from '../../../../src/store/scaling/partitions.ts'

const { TEST_DATABASE_URL: server } = process.env

/** Reads the properties of tables that affect statements, and their isolation between tenants. */
const DEFINITION = `
  SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
    ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || a.attidentity::text || a.attstorage::text
                 || coalesce(' ' || pg_get_expr(d.adbin, d.adrelid), '')
          FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attname) AS columns,
    ARRAY(SELECT pg_get_serial_sequence(c.relname, a.attname) FROM pg_attribute a
          WHERE a.attrelid = c.oid AND a.attidentity <> '') AS sequences,
    ARRAY(SELECT k.conname || ' ' || pg_get_constraintdef(k.oid) FROM pg_constraint k
          WHERE k.conrelid = c.oid AND k.contype <> 'n' ORDER BY 1) AS constraints,
    ARRAY(SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') FROM pg_index i
          WHERE i.indrelid = c.oid ORDER BY 1) AS indexes,
    ARRAY(SELECT k.conrelid::regclass || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid) FROM pg_constraint k
          WHERE k.confrelid = c.oid AND k.conparentid = 0 ORDER BY 1) AS "references",
    ARRAY(SELECT p.polname || ' ' || p.polroles::regrole[]::text || ' ' || p.polcmd::text || p.polpermissive
                 || coalesce(' USING ' || pg_get_expr(p.polqual, c.oid), '')
                 || coalesce(' CHECK ' || pg_get_expr(p.polwithcheck, c.oid), '')
          FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies,
    ARRAY(SELECT a.grantee::regrole || ' ' || a.privilege_type FROM aclexplode(c.relacl) a
          WHERE a.grantee <> c.relowner ORDER BY 1) AS grants
  FROM pg_class c WHERE c.oid = ANY ($1::text[]::regclass[]) ORDER BY 1`

describe.runIf(server)('a database with partitions', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })

  /** Creates an empty database, and returns a pool of its owner. */
  async function create(): Promise<pg.Pool> {
    const name = `colloquy_${randomBytes(8).toString('hex')}`
    const client = new pg.Client(server)
    await client.connect()
    await client.query(`CREATE DATABASE ${name}`)
    closing.push(async () => {
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await client.end()
    })
    const url = Object.assign(new URL(server!), { pathname: `/${name}` }).href
    const pool = createOwnerPool({ databaseUrl: url, poolSize: 2 }, console.error)
    closing.push(() => pool.end())
    return pool
  }
  const definitions = async (pool: pg.Pool, tables: readonly string[]) =>
    (await pool.query<Record<string, unknown>>(DEFINITION, [tables])).rows
  const addConversation = (pool: pg.Pool, id: string) =>
    pool.query(`INSERT INTO conversation (id, owner, tenant) VALUES ($1, 'ada', 'acme')`, [id])

  let plain: pg.Pool
  let partitioned: pg.Pool
  beforeAll(async () => {
    plain = await create()
    partitioned = await create()
    await migrate(plain)
    await migrate(partitioned, { partitions: 4 })
  })

  it('has the columns, sequences, keys, indexes, policies and grants of an unpartitioned database', async () => {
    const expected = await definitions(plain, PARTITIONED_TABLES)
    expect(expected).toHaveLength(PARTITIONED_TABLES.length)
    expect(await definitions(partitioned, PARTITIONED_TABLES)).toEqual(expected)
  })

  it('has the views of the past and the triggers of an unpartitioned database', async () => {
    const read = async (pool: pg.Pool) => {
      const views = await pool.query(`SELECT viewname, definition FROM pg_views WHERE schemaname = 'past' ORDER BY 1`)
      const triggers = await pool.query(`
        SELECT tgname, tgrelid::regclass::text AS relation, pg_get_triggerdef(oid) AS definition FROM pg_trigger
        WHERE NOT tgisinternal AND tgparentid = 0 ORDER BY 1, 2`)
      return { views: views.rows, triggers: triggers.rows }
    }
    const expected = await read(plain)
    expect(expected.views).toHaveLength(13)
    expect(await read(partitioned)).toEqual(expected)
  })

  it('has the policies on each partition too, and no grants there', async () => {
    const parts = PARTITIONED_TABLES.flatMap((table) => [0, 1, 2, 3].map((n) => `${table}_${n}`)).sort()
    const expected = await definitions(plain, PARTITIONED_TABLES)
    const found = await definitions(partitioned, parts)
    expect(found.map(({ name }) => name)).toEqual(parts)
    for (const { name, forced, policies, grants } of found) {
      const table = expected.find((each) => String(name).replace(/_\d$/, '') === each.name)!
      expect({ name, forced, policies, grants }).toEqual({ name, forced: true, policies: table.policies, grants: [] })
    }
  })

  it('lets the planner expect as many rows of a conversation as an unpartitioned database does', async () => {
    const options = async (pool: pg.Pool, tables: readonly string[]) =>
      (
        await pool.query<{ name: string; options: string[] }>(
          // Some versions of Postgres add an option of their own, pg_attver.
          `SELECT attrelid::regclass::text AS name,
                  ARRAY(SELECT o FROM unnest(attoptions) o WHERE o LIKE 'n_distinct%') AS options
           FROM pg_attribute
           WHERE attrelid = ANY ($1::text[]::regclass[]) AND attname = 'conversation_id' ORDER BY 1`,
          [tables],
        )
      ).rows
    const tables = [...PARTITIONED_TABLES].sort()
    const all = (names: readonly string[], value: string) => names.map((name) => ({ name, options: [value] }))
    expect(await options(plain, tables)).toEqual(all(tables, 'n_distinct=20'))
    expect(await options(partitioned, tables)).toEqual(all(tables, 'n_distinct_inherited=20'))
    const parts = tables.map((table) => `${table}_3`)
    expect(await options(partitioned, parts)).toEqual(all(parts, 'n_distinct=5'))
  })

  it('keeps the rows of a conversation in one partition', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      await addConversation(partitioned, id)
      await partitioned.query(
        `INSERT INTO entry (conversation_id, seq, kind, tenant) SELECT $1, n, 'APPENDED', 'acme' FROM generate_series(1, 10) n`,
        [id],
      )
    }
    const { rows } = await partitioned.query<{ parts: number; rows: number }>(
      'SELECT count(DISTINCT tableoid)::integer AS parts, count(*)::integer AS rows FROM entry GROUP BY conversation_id',
    )
    expect(rows).toEqual(Array.from({ length: 8 }, () => ({ parts: 1, rows: 10 })))
    const [all] = (await partitioned.query('SELECT count(DISTINCT tableoid)::integer AS parts FROM entry')).rows
    expect(all.parts).toBeGreaterThan(1)
  })

  it('is not changed by a later start, with or without the setting', async () => {
    expect(await migrate(partitioned, { partitions: 4 })).toEqual([])
    expect(await migrate(partitioned)).toEqual([])
    expect((await partitioned.query('SELECT count(*)::integer AS n FROM entry')).rows).toEqual([{ n: 80 }])
  })

  it('refuses another number of partitions', async () => {
    await expect(migrate(partitioned, { partitions: 8 })).rejects.toThrow(
      'DATABASE_PARTITIONS is 8, but the database has 4 partitions.',
    )
  })

  it('is not created from an unpartitioned database that has conversations', async () => {
    await addConversation(plain, 'a')
    await expect(migrate(plain, { partitions: 4 })).rejects.toThrow('has no partitions, but conversations')
    expect(await migrate(plain)).toEqual([])
  })

  it('is complete or unchanged if its creation fails', async () => {
    const pool = await create()
    await migrate(pool)
    await pool.query('CREATE TABLE tool_result_3 ()')
    await expect(migrate(pool, { partitions: 4 })).rejects.toThrow('"tool_result_3" already exists')
    expect(await definitions(pool, PARTITIONED_TABLES)).toEqual(await definitions(plain, PARTITIONED_TABLES))
    await pool.query('DROP TABLE tool_result_3')
    await migrate(pool, { partitions: 4 })
    expect(await definitions(pool, PARTITIONED_TABLES)).toEqual(await definitions(plain, PARTITIONED_TABLES))
  })

  it('is created once if several processes start', async () => {
    const pool = await create()
    await Promise.all([1, 2, 3].map(() => migrate(pool, { partitions: 2 })))
    const { rows } = await pool.query(
      `SELECT count(*)::integer AS n FROM pg_inherits WHERE inhparent = 'turn'::regclass`,
    )
    expect(rows).toEqual([{ n: 2 }])
  })
})
