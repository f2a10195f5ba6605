// Reads the job queue from the tables of pg-boss 10 (schema version 24). The first worker creates the tables; without
// them, there are no jobs. boss.ts sets when a finished job is archived; archived jobs are not read.
//
// The tables have no index by tenant: each query reads all unfinished jobs, and all finished jobs until they are
// archived.

import type { Db } from '../../db.ts'
import { raw, sql, type Sql } from '../sql.ts'
import { views } from '../visible.ts'
import type { Viewer } from '../../viewer.ts'

export type JobState = 'WAITING' | 'RETRYING' | 'ACTIVE' | 'COMPLETED' | 'FAILED'

export type JobRow = {
  id: string
  /** Name of the queue. */
  name: string
  /** The id of a conversation or of a user, depending on the queue. */
  key: string
  state: JobState
  createdAt: Date
  /** Start of the latest attempt; null before the first. */
  startedAt: Date | null
  /** Seconds from `createdAt` until the job finished, or until now. */
  ageSeconds: number
  /** Number of attempts started. */
  attempts: number
  /** Error of the latest finished attempt; null if it succeeded or there was none. */
  lastError: string | null
}

const isInstalled = async (db: Db): Promise<boolean> => {
  const rows = await db.$queryRaw<{ installed: boolean }[]>`SELECT to_regclass('pgboss.job') IS NOT NULL AS installed`
  return rows[0]!.installed
}

/** Whether the viewer sees job `b`: its conversation, or if it is about another user, any conversation of that user. */
const isSeen = (viewer: Viewer): Sql => sql`(
  CASE WHEN b.data->>'key' ~ '^conv_\\w{26}$' THEN EXISTS (${views(viewer, raw(`c.id = b.data->>'key'`))})
  ELSE b.data->>'key' = ${viewer.actor}::text OR EXISTS (${views(
    viewer,
    raw(`c.id IN (SELECT u.conversation_id FROM participant u WHERE u.actor = b.data->>'key')`),
  )}) END)`

/**
 * The jobs that the viewer sees in the queues `names`, at most `limit`: first the unfinished jobs, oldest first; then
 * the finished jobs, last finished first. A null `state` means any.
 */
export async function readJobs(
  db: Db,
  viewer: Viewer,
  names: readonly string[],
  state: JobState | null,
  limit: number,
): Promise<JobRow[]> {
  if (!(await isInstalled(db))) return []
  const rows = await db.$queryRaw<JobRow[]>`
      SELECT j.id, j.name, j.data->>'key' AS key, j.job_state AS state, j.created_on AS "createdAt",
             j.started_on AS "startedAt",
             extract(epoch FROM coalesce(j.completed_on, now()) - j.created_on)::double precision AS "ageSeconds",
             j.retry_count + (j.started_on IS NOT NULL)::integer AS attempts,
             coalesce(j.output->>'message', j.output->'value'->>'message',
                      CASE jsonb_typeof(j.output->'value') WHEN 'string' THEN j.output->>'value' END) AS "lastError"
      FROM (SELECT *, CASE b.state::text WHEN 'created' THEN 'WAITING' WHEN 'retry' THEN 'RETRYING'
                                         WHEN 'active' THEN 'ACTIVE' WHEN 'completed' THEN 'COMPLETED'
                                         ELSE 'FAILED' END AS job_state
            FROM pgboss.job b
            WHERE b.name = ANY (${names}::text[]) AND b.data->>'tenant' = ${viewer.tenant}::text AND ${isSeen(viewer)}) j
      WHERE ${state}::text IS NULL OR j.job_state = ${state}::text
      ORDER BY j.completed_on IS NOT NULL, CASE WHEN j.completed_on IS NULL THEN j.created_on END,
               j.completed_on DESC, j.id
      LIMIT ${limit}::integer`
  return rows
}

/** Number of waiting and retrying jobs that the viewer sees. `ageSeconds`: age of the oldest one; null for none. */
export async function readQueue(
  db: Db,
  viewer: Viewer,
  names: readonly string[],
): Promise<{ waiting: number; ageSeconds: number | null }> {
  if (!(await isInstalled(db))) return { waiting: 0, ageSeconds: null }
  const rows = await db.$queryRaw<{ waiting: number; ageSeconds: number | null }[]>`
      SELECT count(*)::integer AS waiting,
             extract(epoch FROM now() - min(b.created_on))::double precision AS "ageSeconds"
      FROM pgboss.job b
      WHERE b.name = ANY (${names}::text[]) AND b.data->>'tenant' = ${viewer.tenant}::text
        AND b.state IN ('created', 'retry') AND ${isSeen(viewer)}`
  return rows[0]!
}
