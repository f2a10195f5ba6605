// Deletes the rows of old transfers. The file of an export belongs to the client, and what an import has written stays.

import type { Clock } from '../../../runtime/clock.ts'
import type { Db } from '../../../store/db/db.ts'
import { deleteTransfersBefore } from '../../../store/sql/trust/transfer/transfers.ts'

/** Time after its last change for which a transfer can be read, ms: 30 days. */
export const KEPT_MS = 30 * 24 * 60 * 60 * 1000
/** Maximum number of transfers that one statement deletes. */
const BATCH = 1_000

/** Deletes transfers that did not change for KEPT_MS, and returns their number. Any number of processes may run it. */
export const deleteOldTransfers = ({ db, clock }: { db: Db; clock: Pick<Clock, 'Date'> }): Promise<number> =>
  deleteTransfersBefore(db, new Date(clock.Date.now() - KEPT_MS), BATCH)
