// Searches all tables of a database for a text.

import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { sql } from './sql.ts'

/**
 * Returns the schema-qualified names of the tables that contain the text in any column. Ignores case, and searches
 * binary columns for the bytes of the text.
 */
export async function tablesContaining(pool: Pool, text: string): Promise<string[]> {
  const { rows } = await sql(pool).query<{ name: string }>(`
    SELECT format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1`)
  const found: string[] = []
  for (const { name } of rows) {
    const { rowCount } = await sql(pool).query(`SELECT FROM ${name} x WHERE to_jsonb(x)::text ILIKE ANY ($1) LIMIT 1`, [
      [`%${text}%`, `%${Buffer.from(text).toString('hex')}%`],
    ])
    if (rowCount) found.push(name)
  }
  return found
}
