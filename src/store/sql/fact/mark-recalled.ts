// Notes when facts were found again for the first time.

import type { Db } from '../../db.ts'

/**
 * Notes it of those that never were, by primary key. One that somebody writes at this moment is passed over, so that
 * neither waits for the other: it is noted the next time.
 */
export async function markRecalled(db: Db, ids: readonly string[]): Promise<void> {
  await db.$executeRaw`
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.recalled_at IS NULL
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE fact f SET recalled_at = now() FROM mine WHERE f.id = mine.id`
}
