// Reads the job queue from the tables of pg-boss 10 (schema version 24). The first worker creates the tables; without
// them, there are no jobs. boss.ts sets when a finished job is archived; archived jobs are not read.
//
// The tables belong to colloquy_system, so row-level security does not apply: the statements, including `views`,
// compare the tenant.
//
// The tables have no index by tenant: each query reads all unfinished jobs, and all finished jobs until they are
// archived.

import { SYSTEM, type Viewer } from '../../db/scope.ts'
import type { Db } from '../../db/db.ts'
import { raw, sql, type Sql } from '../kernel/sql.ts'
import { views } from '../kernel/visible.ts'

/** Queue of jobs about agents: the keys have the id of the conversation, a blank, and the actor. */
export const AGENT_QUEUE = 'run-agent'

export type JobState = 'WAITING' | 'RETRYING' | 'ACTIVE' | 'COMPLETED' | 'FAILED'

export type JobRow = {
  id: string
  /** Name of the queue. */
  name: string
  /** Depending on the queue: the id of a conversation, the id of a user, or a key as described at AGENT_QUEUE. */
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
  /** First sort key of the list: 0 for an unfinished job, 1 for a finished one. */
  rank: number
  /** Second sort key of the list, ascending: a time in µs, negated for finished jobs. */
  order: number
}

/** A position in the list, which is in the order of `rank`, `order` and `id`. */
export type JobPosition = Pick<JobRow, 'rank' | 'order' | 'id'>

/** Job id passed to the statement if no position is given. */
const NO_JOB = '00000000-0000-0000-0000-000000000000'

const isInstalled = async (db: Db): Promise<boolean> => {
  const rows = await db.of(SYSTEM).$queryRaw<
    { installed: boolean }[]
  >`SELECT to_regclass('pgboss.job') IS NOT NULL AS installed`
  return rows[0]!.installed
}

/**
 * Whether the viewer sees job `b`. Viewers of a conversation see its jobs. The jobs for a user are seen by the user only,
 * because a change of facts queues them, and the facts may be outside the view of others.
 */
const isSeen = (viewer: Viewer): Sql => sql`(
  CASE WHEN b.name = ${AGENT_QUEUE} OR b.data->>'key' ~ '^conv_\\w{26}$'
    THEN EXISTS (${views(viewer, raw(`c.id = split_part(b.data->>'key', ' ', 1)`))})
  ELSE b.data->>'key' = ${viewer.actor}::text END)`

type JobsRead = {
  /** Null means any. */
  state: JobState | null
  /** Null means any. */
  id: string | null
  after: JobPosition | null
  before: JobPosition | null
  limit: number
  /** Whether the last jobs between the positions are read, in reverse order, and not the first ones. */
  backwards: boolean
}

/**
 * The jobs that the viewer sees in the queues `names`: first the unfinished jobs, oldest first; then the finished jobs,
 * last finished first.
 */
export async function readJobs(
  db: Db,
  viewer: Viewer,
  names: readonly string[],
  { state, id, after, before, limit, backwards }: JobsRead,
): Promise<JobRow[]> {
  if (!(await isInstalled(db))) return []
  const direction = raw(backwards ? 'DESC' : 'ASC')
  const rows = await db.of(SYSTEM).$queryRaw<(Omit<JobRow, 'order'> & { order: bigint })[]>`
      SELECT j.id, j.name, j.data->>'key' AS key, j.job_state AS state, j.created_on AS "createdAt",
             j.started_on AS "startedAt",
             extract(epoch FROM coalesce(j.completed_on, now()) - j.created_on)::double precision AS "ageSeconds",
             j.retry_count + (j.started_on IS NOT NULL)::integer AS attempts,
             coalesce(j.output->>'message', j.output->'value'->>'message',
                      CASE jsonb_typeof(j.output->'value') WHEN 'string' THEN j.output->>'value' END) AS "lastError",
             j.rank, j.place AS order
      FROM (SELECT *, CASE b.state::text WHEN 'created' THEN 'WAITING' WHEN 'retry' THEN 'RETRYING'
                                         WHEN 'active' THEN 'ACTIVE' WHEN 'completed' THEN 'COMPLETED'
                                         ELSE 'FAILED' END AS job_state,
                   (b.completed_on IS NOT NULL)::integer AS rank,
                   (extract(epoch FROM coalesce(b.completed_on, b.created_on)) * 1000000)::bigint
                     * CASE WHEN b.completed_on IS NULL THEN 1 ELSE -1 END AS place
            FROM pgboss.job b
            WHERE b.name = ANY (${names}::text[]) AND b.data->>'tenant' = ${viewer.tenant}::text AND ${isSeen(viewer)}
              AND (${id}::uuid IS NULL OR b.id = ${id}::uuid)) j
      WHERE (${state}::text IS NULL OR j.job_state = ${state}::text)
        AND (${after === null} OR (j.rank, j.place, j.id)
               > (${after?.rank ?? 0}::integer, ${after?.order ?? 0}::bigint, ${after?.id ?? NO_JOB}::uuid))
        AND (${before === null} OR (j.rank, j.place, j.id)
               < (${before?.rank ?? 0}::integer, ${before?.order ?? 0}::bigint, ${before?.id ?? NO_JOB}::uuid))
      ORDER BY j.rank ${direction}, j.place ${direction}, j.id ${direction}
      LIMIT ${limit}::integer`
  return rows.map(({ order, ...row }) => ({ ...row, order: Number(order) }))
}

/** Number of waiting and retrying jobs that the viewer sees. `ageSeconds`: age of the oldest one; null for none. */
export async function readQueue(
  db: Db,
  viewer: Viewer,
  names: readonly string[],
): Promise<{ waiting: number; ageSeconds: number | null }> {
  if (!(await isInstalled(db))) return { waiting: 0, ageSeconds: null }
  const rows = await db.of(SYSTEM).$queryRaw<{ waiting: number; ageSeconds: number | null }[]>`
      SELECT count(*)::integer AS waiting,
             extract(epoch FROM now() - min(b.created_on))::double precision AS "ageSeconds"
      FROM pgboss.job b
      WHERE b.name = ANY (${names}::text[]) AND b.data->>'tenant' = ${viewer.tenant}::text
        AND b.state IN ('created', 'retry') AND ${isSeen(viewer)}`
  return rows[0]!
}
