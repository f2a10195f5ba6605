// Replaces src/store/embedded/embedded.ts in the tests that share a process (see vitest.config.ts). Starting an embedded
// database takes 0.9 s of CPU time, so a closed database is not stopped, but emptied and reused for the next suite.
// Reopening a data directory returns the database with its data.

import pg from 'pg'
import { startEmbedded as start, type Embedded } from '../../src/store/embedded/embedded.ts'
import { TEMPLATES, newDataDir } from './backend.ts'

export { DataDirInUse } from '../../src/store/embedded/embedded.ts'

/** Indicates to backend.ts that this module replaces src/store/embedded/embedded.ts. */
export const isReused = true

type KeptDatabase = {
  database: Embedded
  /** The data directory that the test named. The database has a directory of its own. */
  dataDir: string
  isOpen: boolean
  /** The schema of the empty database. */
  schema: string
}

const kept: KeptDatabase[] = []

/** Digest of the relations, functions, triggers and policies. A database whose schema a test changed is not reused. */
const SCHEMA = `
  SELECT md5(string_agg(object, ',' ORDER BY object)) AS schema FROM (
    SELECT concat_ws(' ', c.oid, c.relnatts, c.relchecks, c.relrowsecurity, c.relforcerowsecurity) AS object
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL SELECT p.proname || p.prosrc FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    UNION ALL SELECT t.tgname::text FROM pg_trigger t
    UNION ALL SELECT concat_ws(' ', p.polname, p.polrelid, pg_get_expr(p.polqual, p.polrelid)) FROM pg_policy p) objects`

/** The tables that are not empty, or whose deleted rows still take space. */
const USED = `
  SELECT c.oid::regclass::text AS name FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> '_prisma_migrations'
    AND pg_relation_size(c.oid) > 0`

/**
 * Deletes all rows. Does not use TRUNCATE, which takes 0.14 s, because it recreates all tables and indexes, and must
 * include every table that references another. `session_replication_role = replica` disables the triggers of foreign
 * keys, and the trigger that protects the audit log.
 */
async function empty(client: pg.Client): Promise<void> {
  const used = (await client.query<{ name: string }>(USED)).rows.map(({ name }) => name)
  await client.query(`
    SET session_replication_role = replica;
    DROP SCHEMA IF EXISTS pgboss CASCADE;
    ${used.map((name) => `DELETE FROM ${name};`).join('\n')}
    SELECT setval(s.seqrelid::regclass, s.seqstart, false) FROM pg_sequence s;
    DELETE FROM pg_statistic;
    RESET session_replication_role`)
  if (used.length > 0) await client.query(`VACUUM ${used.join(', ')}`)
}

async function withClient<T>({ connection }: Embedded, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const schemaOf = async (client: pg.Client): Promise<string> =>
  (await client.query<{ schema: string }>(SCHEMA)).rows[0]!.schema

async function create(dataDir: string): Promise<KeptDatabase> {
  const directory = await newDataDir()
  const database = await start(directory)
  const each = { database, dataDir, isOpen: true, schema: await withClient(database, schemaOf) }
  kept.push(each)
  return each
}

/** Empties a closed database and assigns it to `dataDir`. Returns null if no database can be reused. */
async function reuse(dataDir: string): Promise<KeptDatabase | null> {
  for (const each of kept.filter(({ isOpen }) => !isOpen)) {
    each.isOpen = true
    const isUnchanged = await withClient(each.database, async (client) => {
      await client.query('DISCARD ALL')
      await empty(client)
      return (await schemaOf(client)) === each.schema
    })
    if (isUnchanged) return Object.assign(each, { dataDir })
    kept.splice(kept.indexOf(each), 1)
    await each.database.close()
  }
  return null
}

export async function startEmbedded(dataDir: string | null): Promise<Embedded> {
  // newDataDir starts the template of all data directories, so it must not get a copy of the template.
  if (dataDir === null || dataDir.startsWith(TEMPLATES)) return start(dataDir)
  const reopened = kept.find((each) => !each.isOpen && each.dataDir === dataDir)
  if (reopened) reopened.isOpen = true
  const opened = reopened ?? (await reuse(dataDir)) ?? (await create(dataDir))
  return {
    ...opened.database,
    async close() {
      opened.isOpen = false
    },
  }
}

export const launchEmbedded = startEmbedded
