// Reads the runs that a viewer sees, by id or as a list; and, for the engine, runs by id or by lease.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { SYSTEM, type Viewer } from '../../../db/scope.ts'
import { named, raw, sql, type Sql } from '../../kernel/sql.ts'
import { VIEWER, views, among, howMany } from '../../kernel/visible.ts'
import { RUN_COLUMNS, runVisible, type RunRow } from './run-columns.ts'

const READ_RUNS = sql`
  SELECT ${RUN_COLUMNS} FROM run r CROSS JOIN LATERAL (${views(VIEWER, raw('c.id = r.conversation_id'))}) v
  WHERE r.id = ANY ($3::text[]) AND ${runVisible}`.text

/** The runs among the ids that the viewer sees, unordered. Uses the primary key. */
export async function readRuns(pool: Pool, viewer: Viewer, ids: readonly string[]): Promise<RunRow[]> {
  const { rows } = await pool.query<RunRow>({
    scope: viewer.tenant,
    name: 'read-runs',
    text: READ_RUNS,
    values: [viewer.tenant, viewer.actor, ids],
  })
  return rows
}

/** The tenant's runs among the ids, for the journal; the caller applies the view of each reader. */
export async function readRunsOfJournal(pool: Pool, tenant: string, ids: readonly string[]): Promise<RunRow[]> {
  const { rows } = await pool.query<RunRow>({
    scope: tenant,
    name: 'journal-runs',
    text: sql`SELECT ${RUN_COLUMNS} FROM run r WHERE r.id = ANY ($1::text[]) AND r.seq IS NOT NULL`.text,
    values: [ids],
  })
  return rows
}

/** The run, regardless of views; null if it does not exist. `isLocked` locks it until the transaction ends. */
export async function readRun(tx: Tx, id: string, isLocked = false): Promise<RunRow | null> {
  const rows = isLocked
    ? await tx.$queryRaw<RunRow[]>`
        ${named('lock-run')} SELECT ${RUN_COLUMNS} FROM run r WHERE r.id = ${id}::text FOR NO KEY UPDATE`
    : await tx.$queryRaw<RunRow[]>`${named('read-run')} SELECT ${RUN_COLUMNS} FROM run r WHERE r.id = ${id}::text`
  return rows[0] ?? null
}

/** Runs of all tenants whose lease has expired, oldest lease first. Uses the index run_lease. */
export const readLostRuns = (db: Db, limit: number): Promise<RunRow[]> =>
  db.of(SYSTEM).$queryRaw<RunRow[]>`
    ${named('read-lost-runs')}
    SELECT ${RUN_COLUMNS} FROM run r WHERE r.lease_until < now() ORDER BY r.lease_until LIMIT ${limit}::integer`

/** A position in a list of runs. */
export type RunPosition = { createdAt: Date; id: string }

type RunList = { limit: number; after: RunPosition | null; before: RunPosition | null; backwards: boolean }

const place = ({ createdAt, id }: RunPosition): Sql => sql`(${createdAt}::timestamptz, ${id}::text)`

/**
 * For each conversation, at most `limit` of the runs that the viewer sees: the newest, newest first; or if `backwards`,
 * the oldest, oldest first. Uses the index run_newest.
 */
export function pageRuns(
  db: Db,
  viewer: Viewer,
  conversationIds: readonly string[],
  { limit, after, before, backwards }: RunList,
): Promise<RunRow[]> {
  return db.of(viewer.tenant).$queryRaw<RunRow[]>`
    SELECT r.* FROM (${views(viewer, among(conversationIds, howMany(conversationIds)))}) v
    CROSS JOIN LATERAL (
      SELECT ${RUN_COLUMNS} FROM run r
      WHERE r.conversation_id = v.id AND ${runVisible}
        AND ${after ? sql`(r.created_at, r.id) < ${place(after)}` : raw('true')}
        AND ${before ? sql`(r.created_at, r.id) > ${place(before)}` : raw('true')}
      ORDER BY ${backwards ? raw('r.created_at, r.id') : raw('r.created_at DESC, r.id DESC')} LIMIT ${limit}::integer) r`
}
