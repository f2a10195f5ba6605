// What waits, runs and ran in the job queue: the tables of pg-boss 10 (schema version 24). They are made when the first
// worker starts, so they may not be there: then there is no job. Whatever has been over for an hour is gone.
//
// Nothing there is indexed by tenant: each of these reads the jobs of the last hour, and all that are not finished.

import type { Db } from '../../db.ts'

export type JobState = 'WAITING' | 'RETRYING' | 'ACTIVE' | 'COMPLETED' | 'FAILED'

export type JobRow = {
  id: string
  /** Of the queue. */
  name: string
  /** A conversation, or a user of the tenant. */
  key: string
  state: JobState
  createdAt: Date
  /** When the newest try began; null before the first. */
  startedAt: Date | null
  /** From `createdAt` to its end, or until now. */
  ageSeconds: number
  /** Tries that were begun. */
  attempts: number
  /** Why the newest try that is over failed; null where it did not, or there was none. */
  lastError: string | null
}

const isMade = async (db: Db): Promise<boolean> => {
  const rows = await db.$queryRaw<{ made: boolean }[]>`SELECT to_regclass('pgboss.job') IS NOT NULL AS made`
  return rows[0]!.made
}

/**
 * The tenant's jobs in those queues: unfinished ones first, the oldest of them first; then finished ones, newest first.
 */
export async function readJobs(
  db: Db,
  tenant: string,
  names: readonly string[],
  state: JobState | null,
  limit: number,
): Promise<JobRow[]> {
  if (!(await isMade(db))) return []
  const rows = await db.$queryRaw<JobRow[]>`
      SELECT j.id, j.name, j.data->>'key' AS key, j.said AS state, j.created_on AS "createdAt",
             j.started_on AS "startedAt",
             extract(epoch FROM coalesce(j.completed_on, now()) - j.created_on)::double precision AS "ageSeconds",
             j.retry_count + (j.started_on IS NOT NULL)::integer AS attempts,
             coalesce(j.output->>'message', j.output->'value'->>'message',
                      CASE jsonb_typeof(j.output->'value') WHEN 'string' THEN j.output->>'value' END) AS "lastError"
      FROM (SELECT *, CASE b.state::text WHEN 'created' THEN 'WAITING' WHEN 'retry' THEN 'RETRYING'
                                         WHEN 'active' THEN 'ACTIVE' WHEN 'completed' THEN 'COMPLETED'
                                         ELSE 'FAILED' END AS said
            FROM pgboss.job b
            WHERE b.name = ANY (${names}::text[]) AND b.data->>'tenant' = ${tenant}::text) j
      WHERE ${state}::text IS NULL OR j.said = ${state}::text
      ORDER BY j.completed_on IS NOT NULL, CASE WHEN j.completed_on IS NULL THEN j.created_on END,
               j.completed_on DESC, j.id
      LIMIT ${limit}::integer`
  return rows
}

/** How many of the tenant's jobs wait, be it to be tried again, and since when the oldest does, in seconds. */
export async function readQueue(
  db: Db,
  tenant: string,
  names: readonly string[],
): Promise<{ waiting: number; ageSeconds: number | null }> {
  if (!(await isMade(db))) return { waiting: 0, ageSeconds: null }
  const rows = await db.$queryRaw<{ waiting: number; ageSeconds: number | null }[]>`
      SELECT count(*)::integer AS waiting,
             extract(epoch FROM now() - min(j.created_on))::double precision AS "ageSeconds"
      FROM pgboss.job j
      WHERE j.name = ANY (${names}::text[]) AND j.data->>'tenant' = ${tenant}::text AND j.state IN ('created', 'retry')`
  return rows[0]!
}
