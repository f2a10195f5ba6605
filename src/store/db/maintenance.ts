// Maintenance of the embedded database, which has no background processes. Without CHECKPOINT, its log would grow
// without limit. Without VACUUM (ANALYZE), its tables would grow and its planner would have no statistics.

import type { PoolClient } from 'pg'
import type { Pool } from './tenant-pool.ts'

/** Runs the statements that are due, and returns them. VACUUM is due by Postgres' defaults, CHECKPOINT by log size. */
export async function runMaintenance(pool: Pick<Pool, 'connect'>): Promise<string[]> {
  const client = await pool.connect()
  try {
    // Only the owner of a table may vacuum it.
    await client.query('RESET ROLE')
    const due = await runDue(client)
    await client.query('SET ROLE colloquy_app')
    client.release()
    return due
  } catch (error) {
    client.release(true)
    throw error
  }
}

async function runDue(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ due: string }>(`
    SELECT format('VACUUM (ANALYZE) %I.%I', schemaname, relname) AS due
    FROM pg_stat_user_tables
    WHERE n_dead_tup > 50 + 0.2 * n_live_tup OR n_mod_since_analyze > 50 + 0.1 * n_live_tup
    UNION ALL
    SELECT 'CHECKPOINT' FROM pg_control_checkpoint() WHERE pg_current_wal_insert_lsn() - redo_lsn > 64 * 1024 * 1024`)
  for (const { due } of rows) await client.query(due)
  return rows.map(({ due }) => due)
}
