// Reads the jobs that wait to be retried, for the job queue. Takes a pg pool, as pg-boss does.

import type { Pool } from 'pg'

/** The singleton keys among `keys` that have a job waiting to be retried in the queue. By the index job_i5. */
export async function readRetrying(pool: Pool, name: string, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await pool.query<{ key: string }>({
    name: 'read-retrying',
    text: `
      SELECT j.singleton_key AS key FROM pgboss.job j
      WHERE j.name = $1::text AND j.state < 'active' AND j.state = 'retry' AND j.singleton_key = ANY ($2::text[])`,
    values: [name, keys],
  })
  return new Set(rows.map(({ key }) => key))
}
