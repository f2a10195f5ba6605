// Notes when facts were found again for the first time.

import type { Pool } from 'pg'

/**
 * Notes it of those that never were, by primary key. One that somebody writes at this moment is passed over, so that
 * neither waits for the other: it is noted the next time.
 */
export async function markRecalled(pool: Pool, ids: readonly string[]): Promise<void> {
  await pool.query({
    name: 'mark-recalled',
    text: `
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY ($1::text[]) AND f.recalled_at IS NULL
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE fact f SET recalled_at = now() FROM mine WHERE f.id = mine.id`,
    values: [ids],
  })
}
