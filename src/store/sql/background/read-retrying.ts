// Reads the jobs that wait for a retry, for the job queue. Takes a pg pool, because the job queue has no Prisma client.

import { SYSTEM } from '../../db/scope.ts'
import type { Pool } from '../../db/tenant-pool.ts'

/**
 * The singleton keys among `keys` with a job that waits for a retry in the queue. Uses the partial index job_i5, which
 * requires the first of the conditions on the state.
 */
export async function readRetrying(pool: Pool, name: string, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await pool.query<{ key: string }>({
    scope: SYSTEM,
    name: 'read-retrying',
    text: `
      SELECT j.singleton_key AS key FROM pgboss.job j
      WHERE j.name = $1::text AND j.state < 'active' AND j.state = 'retry' AND j.singleton_key = ANY ($2::text[])`,
    values: [name, keys],
  })
  return new Set(rows.map(({ key }) => key))
}
