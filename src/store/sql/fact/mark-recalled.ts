// Records the time at which a recall or a context first returned a fact.

import { SYSTEM } from '../../scope.ts'
import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

/**
 * Sets `recalled_at` of the facts that have none. Skips facts that another transaction has locked, so that no
 * transaction waits. Uses the primary key.
 * @returns the ids of the skipped facts
 */
export async function markRecalled(db: Db, ids: readonly string[]): Promise<string[]> {
  const skipped = await db.of(SYSTEM).$queryRaw<{ id: string }[]>`
      ${named('mark-recalled')}
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.recalled_at IS NULL
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED),
      marked AS (UPDATE fact f SET recalled_at = now() FROM mine WHERE f.id = mine.id)
      SELECT f.id FROM fact f
      WHERE f.id = ANY (${ids}::text[]) AND f.recalled_at IS NULL AND f.id NOT IN (SELECT m.id FROM mine m)`
  return skipped.map(({ id }) => id)
}
