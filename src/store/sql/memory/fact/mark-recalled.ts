// Records on which days (UTC) recalls or contexts returned facts.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { named, raw } from '../../kernel/sql.ts'

/** The day in UTC. Connections have the time zone UTC (db.ts). */
const TODAY = raw('current_date')

/**
 * Counts today for the facts that were not recalled today yet. Skips facts that another transaction has locked, so that
 * no transaction waits. Uses the primary key.
 * @returns the ids of the skipped facts
 */
export async function markRecalled(db: Db, ids: readonly string[]): Promise<string[]> {
  const skipped = await db.of(SYSTEM).$queryRaw<{ id: string }[]>`
      ${named('mark-recalled')}
      WITH mine AS MATERIALIZED (
        SELECT f.id FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.recalled_on IS DISTINCT FROM ${TODAY}
        ORDER BY f.id FOR NO KEY UPDATE SKIP LOCKED),
      marked AS (
        UPDATE fact f SET recalled_at = coalesce(f.recalled_at, now()), recalled_on = ${TODAY}, recall_days = f.recall_days + 1
        FROM mine WHERE f.id = mine.id)
      SELECT f.id FROM fact f
      WHERE f.id = ANY (${ids}::text[]) AND f.recalled_on IS DISTINCT FROM ${TODAY} AND f.id NOT IN (SELECT m.id FROM mine m)`
  return skipped.map(({ id }) => id)
}
