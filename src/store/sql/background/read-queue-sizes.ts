// Counts the unfinished jobs of all tenants, for /metrics.

import { SYSTEM } from '../../db/scope.ts'
import type { Db } from '../../db/db.ts'

export type QueueSize = {
  /** Name of the queue. */
  name: string
  state: 'waiting' | 'retrying' | 'active'
  count: number
  /** Age of the oldest of these jobs, in seconds. */
  ageSeconds: number
}

/** Returns one row for each queue and state with jobs. Reads all unfinished jobs. Empty before the first worker. */
export async function readQueueSizes(db: Db, names: readonly string[]): Promise<QueueSize[]> {
  const installed = await db.of(SYSTEM).$queryRaw<{ is: boolean }[]>`SELECT to_regclass('pgboss.job') IS NOT NULL AS is`
  if (!installed[0]!.is) return []
  return db.of(SYSTEM).$queryRaw<QueueSize[]>`
    SELECT name, CASE state WHEN 'created' THEN 'waiting' WHEN 'retry' THEN 'retrying' ELSE 'active' END AS state,
      count(*)::int AS count, extract(epoch FROM now() - min(created_on))::float8 AS "ageSeconds"
    FROM pgboss.job
    WHERE name = ANY (${names}::text[]) AND state < 'completed'
    GROUP BY name, state`
}
