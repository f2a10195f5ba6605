// Deletes the lines of the audit log that are older than `auditDays` days.

import { findPrunableTenant, pruneAuditLines } from '../../../store/sql/trust/audit-lines.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Db } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'

/** Maximum number of lines that one statement deletes. */
const BATCH = 1_000
const DAY_MS = 86_400_000

/** Deletes a batch of old lines of one tenant. Returns the number of deleted lines; 0 if no tenant has old lines. */
export async function pruneAuditLog({
  clock,
  db,
  auditDays,
}: {
  clock: Pick<Clock, 'Date'>
  db: Db
  auditDays: number
}): Promise<number> {
  const before = new Date(clock.Date.now() - auditDays * DAY_MS)
  const tenant = await findPrunableTenant(db, before)
  return tenant === null ? 0 : withTransaction(db, tenant, (tx) => pruneAuditLines(tx, tenant, before, BATCH))
}
