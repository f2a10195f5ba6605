// prisma/functions contains the current definition of every database function, one file each. The migrations contain
// copies. This suite applies the files to a migrated database and expects no change.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends, type Opened } from '../../../support/backend.ts'

const directory = fileURLToPath(new URL('../../../../prisma/functions', import.meta.url))
const files = readdirSync(directory).sort()

/** The definitions of all functions by name, without those of extensions. */
async function readDefinitions(client: PoolClient): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; definition: string }>(`
    SELECT p.proname AS name, pg_get_functiondef(p.oid) AS definition
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.prokind IN ('f', 'p') AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    ORDER BY p.proname, p.oid`)
  // Names must be unique: an overload would replace another function in the result.
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  return Object.fromEntries(rows.map(({ name, definition }) => [name, definition]))
}

describe.each(backends)('the functions of a migrated database on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  async function inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await opened.pool.connect()
    try {
      await client.query('RESET ROLE; BEGIN')
      await work(client)
    } finally {
      client.release(true)
    }
  }

  it('have one file each, and each file has a function', () =>
    inTransaction(async (client) => {
      expect(Object.keys(await readDefinitions(client)).map((name) => `${name}.sql`)).toEqual(files)
    }))

  it.each(files)('equal the definition in %s', (file) =>
    inTransaction(async (client) => {
      const migrated = await readDefinitions(client)
      await client.query(readFileSync(join(directory, file), 'utf8'))
      expect(await readDefinitions(client)).toEqual(migrated)
    }),
  )
})
