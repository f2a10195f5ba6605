// Statements that undo a reconciliation: read what a fact superseded, and make facts active again.

import type { Db, Tx } from '../../../db/db.ts'
import type { Scope } from '../../../db/scope.ts'
import { FACT_COLUMNS, type FactRow } from './fact-columns.ts'

/** The given facts of the tenant, active or not, whoever sees them, unordered. Uses the primary key. */
export const readFactRows = (tx: Tx, tenant: string, ids: readonly string[]): Promise<FactRow[]> =>
  tx.$queryRaw<FactRow[]>`
    SELECT ${FACT_COLUMNS} FROM fact f WHERE f.id = ANY (${ids}::text[]) AND f.tenant = ${tenant}::text`

/**
 * The ids of the fact and of the facts that it superseded as duplicates, and the conversations of all these facts. Uses
 * the index fact_superseded_by.
 */
export async function readMerge(
  db: Db,
  scope: Scope,
  mergedId: string,
): Promise<{ ids: string[]; conversationIds: string[] }> {
  const rows = await db.of(scope).$queryRaw<{ id: string; conversationId: string | null }[]>`
    SELECT f.id, f.conversation_id AS "conversationId" FROM fact f
    WHERE f.id = ${mergedId}::text OR f.superseded_by = ${mergedId}::text AND f.supersede_reason = 'DUPLICATED'`
  return { ids: rows.map(({ id }) => id), conversationIds: rows.flatMap(({ conversationId }) => conversationId ?? []) }
}

/** Records that the active facts were restored, with the reason, and makes their reconciliation due. */
export async function markRestored(tx: Tx, ids: readonly string[], note: string | null): Promise<void> {
  if (ids.length === 0) return
  await tx.$executeRaw`
    UPDATE fact f SET restored_at = clock_timestamp(), restore_note = ${note}::text, reconciled_at = NULL
    WHERE f.id = ANY (${ids}::text[])`
}
