// Records when recall first returned a fact.

import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

/**
 * Sets `recalled_at` of the facts that have none, by primary key. Facts locked by another transaction are skipped, so
 * that neither waits: they are marked the next time they are recalled.
 */
export async function markRecalled(db: Db, ids: readonly string[]): Promise<void> {
  await db.$executeRaw`
      ${named('mark-recalled')}
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.recalled_at IS NULL
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE fact f SET recalled_at = now() FROM mine WHERE f.id = mine.id`
}
