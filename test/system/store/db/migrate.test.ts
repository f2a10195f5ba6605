// Migrations: applied once and completely under concurrent starts, recorded as Prisma does, and rejected if they do not
// match the migrations of the database. The resulting tables equal schema.prisma.

import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOwnerPool } from '../../../../src/store/db/db.ts'
import { migrate } from '../../../../src/store/db/migrate.ts'
import { backends, type Opened } from '../../../support/backend.ts'
import { sql } from '../../../support/sql.ts'

const prisma = fileURLToPath(new URL('../../../../prisma', import.meta.url))
const shipped = readdirSync(join(prisma, 'migrations'))
  .filter((name) => !name.includes('.'))
  .sort()

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'colloquy-test-'))
  cpSync(join(prisma, 'migrations'), directory, { recursive: true })
})
afterEach(() => rmSync(directory, { recursive: true }))

function write(name: string, sql: string): void {
  mkdirSync(join(directory, name), { recursive: true })
  writeFileSync(join(directory, name, 'migration.sql'), sql)
}

describe.each(backends)('migrate on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  const applied = async () => {
    const { rows } = await sql(opened.pool).query(
      'SELECT migration_name FROM _prisma_migrations ORDER BY migration_name',
    )
    return rows.map((row) => row.migration_name)
  }
  const exists = async (table: string) =>
    (await sql(opened.pool).query('SELECT to_regclass($1) IS NOT NULL AS there', [table])).rows[0].there

  it('applies no migration twice', async () => {
    expect(await migrate(opened.pool)).toEqual([])
    expect(await applied()).toEqual(shipped)
  })

  it('records applied migrations as Prisma does', async () => {
    const { rows } = await sql(opened.pool).query('SELECT * FROM _prisma_migrations ORDER BY migration_name')
    expect(rows).toEqual(
      shipped.map((name) => ({
        id: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
        checksum: sha256(readFileSync(join(prisma, 'migrations', name, 'migration.sql'))),
        finished_at: expect.any(Date),
        migration_name: name,
        logs: null,
        rolled_back_at: null,
        started_at: expect.any(Date),
        applied_steps_count: 1,
      })),
    )
  })

  it('applies new migrations in order, and rolls back a failing one completely', async () => {
    write('30000101000000_first', 'CREATE TABLE made_first (n integer); INSERT INTO made_first VALUES (1)')
    write('30000102000000_second', 'ALTER TABLE made_first ADD m integer; CREATE TABLE made_second (); SELECT 1 / 0')
    await expect(migrate(opened.pool, { directory })).rejects.toThrow('division by zero')
    expect(await applied()).toEqual([...shipped, '30000101000000_first'])
    expect([await exists('made_first'), await exists('made_second')]).toEqual([true, false])

    write('30000102000000_second', 'CREATE TABLE made_second ()')
    expect(await migrate(opened.pool, { directory })).toEqual(['30000102000000_second'])
    expect(await exists('made_second')).toBe(true)

    await sql(opened.pool).query('DROP TABLE made_first, made_second')
    await sql(opened.pool).query(`DELETE FROM _prisma_migrations WHERE migration_name LIKE '3000%'`)
  })

  it('applies no migration that it cannot record', async () => {
    write(
      '30000101000000_secret',
      `
      CREATE TABLE never_made ();
      ALTER TABLE _prisma_migrations ADD CHECK (migration_name NOT LIKE '%secret')`,
    )
    await expect(migrate(opened.pool, { directory })).rejects.toThrow('violates check constraint')
    expect(await exists('never_made')).toBe(false)
    expect(await migrate(opened.pool)).toEqual([])
  })

  it('rejects a database of a newer version', async () => {
    rmSync(join(directory, shipped.at(-1)!), { recursive: true })
    write('30000101000000_other', 'CREATE TABLE never_made ()')
    await expect(migrate(opened.pool, { directory })).rejects.toThrow(`${shipped.at(-1)} of a newer version`)
    expect(await exists('never_made')).toBe(false)
  })

  it('rejects a migration that was edited after it was applied', async () => {
    write(shipped[0]!, `${readFileSync(join(directory, shipped[0]!, 'migration.sql'), 'utf8')}\n`)
    write('30000101000000_other', 'CREATE TABLE never_made ()')
    await expect(migrate(opened.pool, { directory })).rejects.toThrow(`${shipped[0]} was edited`)
    expect(await exists('never_made')).toBe(false)
  })

  it('rejects a migration that Prisma left unfinished, unless it was rolled back', async () => {
    await sql(opened.pool).query(`
      INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('half', 'x', '30000101000000_half')`)
    await expect(migrate(opened.pool)).rejects.toThrow('30000101000000_half failed')
    await sql(opened.pool).query(`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE id = 'half'`)
    expect(await migrate(opened.pool)).toEqual([])
    await sql(opened.pool).query(`DELETE FROM _prisma_migrations WHERE id = 'half'`)
  })

  it('creates the tables, columns, keys and enums of schema.prisma, and no others', async () => {
    const expected = readSchema(readFileSync(join(prisma, 'schema.prisma'), 'utf8'))
    expect(expected.length).toBeGreaterThan(70)
    const { rows } = await sql(opened.pool).query<{ line: string }>(`
      SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || CASE WHEN t.typcategory = 'A' THEN '' WHEN a.attnotnull THEN ' NOT NULL' ELSE ' NULL' END AS line
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
        AND NOT a.attisdropped AND NOT c.relispartition AND c.relname <> '_prisma_migrations'
      UNION ALL
      SELECT c.relname || ' ' || pg_get_constraintdef(k.oid)
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE c.relnamespace = 'public'::regnamespace AND k.contype = 'p' AND NOT c.relispartition
        AND c.relname <> '_prisma_migrations'
      UNION ALL
      SELECT 'enum ' || t.typname || ' ' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder)
      FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY t.typname`)
    expect(rows.map(({ line }) => line).sort()).toEqual(expected.sort())
    const views = await sql(opened.pool).query<{ relname: string }>(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm')`,
    )
    expect(views.rows.map(({ relname }) => relname)).toEqual(['superseded_fact'])
  })
})

describe.each(backends.filter(({ name }) => name === 'postgres'))('ten concurrent processes', ({ open }) => {
  it('apply each migration once, even if they wait longer than the statement timeout', async () => {
    const opened = await open()
    await sql(opened.pool).query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    write('30000101000000_slow', 'CREATE TABLE slow (); SELECT pg_sleep(0.5)')
    // Shorter than the migration: neither it nor the wait for it may be subject to the statement timeout.
    const databaseUrl = `${opened.url}?statement_timeout=200`
    const pools = Array.from({ length: 10 }, () => createOwnerPool({ databaseUrl, poolSize: 1 }, console.error))
    const results = await Promise.all(pools.map((pool) => migrate(pool, { directory })))
    expect(results.filter((names) => names.length > 0)).toEqual([[...shipped, '30000101000000_slow']])
    expect((await pools[0]!.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '200ms' }])
    await Promise.all(pools.map((pool) => pool.end()))
    await opened.close()
  })
})

const types: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'double precision',
  Boolean: 'boolean',
  Json: 'jsonb',
  DateTime: 'timestamp(3) with time zone',
  Bytes: 'bytea',
}

/** The type that an attribute names; undefined for the usual type. */
const narrower = (rest: string) => /@db\.(SmallInt|Date|Json)\b/.exec(rest)?.[1]?.toLowerCase()

/** A field of schema.prisma: its name, its type or Unsupported("…"), [] or ?, and its attributes. */
const FIELD = /^(?<name>\w+)\s+(?:Unsupported\("(?<other>[^"]+)"\)|(?<type>\w+))(?<mark>\[\]|\?)?(?<rest>.*)$/

type Field = { name: string; other?: string; type: string; mark?: string; rest: string }

/** The lines that the query above must return for a database with this schema. */
function readSchema(text: string): string[] {
  const blocks = [...text.matchAll(/^(model|enum) (\w+) \{\n(.*?)^\}/gms)].map(([, kind, name, body]) => ({
    kind,
    name: name!,
    mapped: body!.match(/@@map\("(\w+)"\)/)?.[1] ?? name!,
    lines: body!
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line && !line.startsWith('//')),
  }))
  const models = new Set(blocks.filter(({ kind }) => kind === 'model').map(({ name }) => name))
  const enums = new Map(blocks.filter(({ kind }) => kind === 'enum').map(({ name, mapped }) => [name, mapped]))

  return blocks.flatMap(({ kind, mapped: table, lines }) => {
    const members = lines.filter((line) => !line.startsWith('@@'))
    if (kind === 'enum') return [`enum ${table} ${members.join(', ')}`]
    const columns = members
      .map((line) => line.match(FIELD)!.groups as Field)
      .filter(({ type }) => !models.has(type))
      .map(({ name, other, type, mark, rest }) => ({
        name,
        column: rest.match(/@map\("(\w+)"\)/)?.[1] ?? name,
        type:
          (other ?? enums.get(type) ?? narrower(rest) ?? types[type] ?? `unknown ${type}`)
          + (mark === '[]' ? '[]' : ''),
        nullness: mark === '[]' ? '' : mark === '?' ? ' NULL' : ' NOT NULL',
        isKey: /@id\b/.test(rest),
      }))
    const composite = lines
      .find((line) => line.startsWith('@@id('))
      ?.match(/\[(.*?)\]/)?.[1]
      ?.split(/,\s*/)
    const key = columns.filter(({ name, isKey }) => (composite ? composite.includes(name) : isKey))
    if (composite) key.sort((a, b) => composite.indexOf(a.name) - composite.indexOf(b.name))
    return [
      ...columns.map(({ column, type, nullness }) => `${table}.${column} ${type}${nullness}`),
      `${table} PRIMARY KEY (${key.map(({ column }) => column).join(', ')})`,
    ]
  })
}
