// Every table and column of a migrated database is exported, or listed with the reason why it is not.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXPORTED, NOT_EXPORTED } from '../../../../../support/exported-tables.ts'
import { backends, type Opened } from '../../../../../support/backend.ts'
import { sql } from '../../../../../support/sql.ts'

describe.each(backends)('the list of exported tables on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  const columnsOf = async () => {
    const { rows } = await sql(opened.pool).query<{ table: string; column: string }>(`
      SELECT c.relname AS table, a.attname AS column FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace`)
    return rows
  }

  it('lists each table once', async () => {
    const tables = [...new Set((await columnsOf()).map(({ table }) => table))].sort()
    expect([...Object.keys(EXPORTED), ...Object.keys(NOT_EXPORTED)].sort()).toEqual(tables)
  })

  it.each(Object.entries(EXPORTED))('lists each column of %s once', async (table, { columns, without }) => {
    const stored = (await columnsOf()).filter((each) => each.table === table).map(({ column }) => column)
    expect([...columns.map(({ column }) => column), ...Object.keys(without)].sort()).toEqual(stored.sort())
  })
})
