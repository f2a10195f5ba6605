// Runs SQL statements of tests as the user of the connection, across all tenants.

import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import type { Pool } from '../../src/store/db/tenant-pool.ts'

/** Resets the role before each statement, because the pool's role sees no rows unless a tenant is set. */
export const sql = (pool: Pick<Pool, 'connect'>) => ({
  async query<Row extends QueryResultRow = any>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<Row>> {
    const client = await pool.connect()
    try {
      await client.query('RESET ROLE')
      const result = await client.query<Row>(statement as string, values)
      await client.query('SET ROLE colloquy_app')
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  },
})
