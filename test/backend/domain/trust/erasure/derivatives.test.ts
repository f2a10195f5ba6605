// The register of derivatives is complete: every table of a migrated database and of the job queue is in exactly one of
// its two lists, and the foreign keys that it relies on exist.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DERIVATIVES, NOT_DERIVED } from '../../../../../src/domain/trust/erasure/derivatives.ts'
import { createJobQueue } from '../../../../../src/store/jobs/job-queue.ts'
import { backends, type Opened } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'

/** Errors in the two lists, for a database with the given tables. */
function faultsOf(tables: readonly string[], derived: readonly string[], notDerived: readonly string[]): string[] {
  const listed = [...derived, ...notDerived]
  return [
    ...tables.filter((table) => !listed.includes(table)).map((table) => `${table} is in neither list`),
    ...listed.filter((table, index) => listed.indexOf(table) !== index).map((table) => `${table} is listed twice`),
    ...listed.filter((table) => !tables.includes(table)).map((table) => `${table} does not exist`),
  ]
}

describe('the comparison with the database catalogue', () => {
  it.each([
    [['a', 'b', 'c'], ['a'], ['b'], 'c is in neither list'],
    [['a', 'b'], ['a', 'b'], ['b'], 'b is listed twice'],
    [['a', 'b'], ['a', 'a'], ['b'], 'a is listed twice'],
    [['a'], ['a'], ['b'], 'b does not exist'],
  ])('of %j with %j and %j reports that %s', (tables, derived, notDerived, fault) => {
    expect(faultsOf(tables, derived, notDerived)).toEqual([fault])
  })
})

describe.each(backends)('the register of derivatives on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
    // The job queue creates its tables when the first worker starts.
    const jobs = createJobQueue(opened.pool, () => {})
    await jobs.work('test', 1, async () => {})
    await jobs.close()
  })
  afterAll(() => opened.close())

  const namesIn = async (text: string) =>
    (await sql(opened.pool).query<{ name: string }>(text)).rows.map(({ name }) => name).sort()

  it('lists each table of the database once', async () => {
    // Partitions are part of their table.
    const tables = await namesIn(`
      SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'm', 'f') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'`)
    const derived = DERIVATIVES.map(({ table }) => table)
    expect(faultsOf(tables, derived, Object.keys(NOT_DERIVED))).toEqual([])
  })

  it('names CASCADE for exactly the tables that ON DELETE CASCADE reaches from conversation', async () => {
    const reached = await namesIn(`
      WITH RECURSIVE reached AS (
        SELECT 'conversation'::regclass::oid AS id
        UNION
        SELECT k.conrelid FROM pg_constraint k JOIN reached r ON k.confrelid = r.id
        WHERE k.contype = 'f' AND k.confdeltype = 'c')
      SELECT c.relname AS name FROM reached r JOIN pg_class c ON c.oid = r.id 
      WHERE c.relname <> 'conversation' AND NOT c.relispartition`)
    const cascading = DERIVATIVES.filter(({ onDelete }) => onDelete.by === 'CASCADE').map(({ table }) => table)
    expect(cascading.sort()).toEqual(reached)
  })
})
