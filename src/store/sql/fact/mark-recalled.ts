// Records the time at which a recall or a context first returned a fact.

import { SYSTEM } from '../../scope.ts'
import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

/**
 * Sets `recalled_at` of the facts that have none. Skips facts that another transaction has locked, so that no
 * transaction waits; they are marked when they are recalled again. Uses the primary key.
 */
export async function markRecalled(db: Db, ids: readonly string[]): Promise<void> {
  await db.of(SYSTEM).$executeRaw`
      ${named('mark-recalled')}
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.recalled_at IS NULL
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED)
      UPDATE fact f SET recalled_at = now() FROM mine WHERE f.id = mine.id`
}
