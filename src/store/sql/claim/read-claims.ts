// Reads the claims on a turn. Uses the primary key of claim.

import type { Tx } from '../../db.ts'
import { sql } from '../sql.ts'
import { CLAIM_COLUMNS, type ClaimRow } from './claim-columns.ts'

/** The newest claim of each slot on the turn, given by its first version. The transaction has locked the journal. */
export const readClaims = (tx: Tx, turnId: string): Promise<ClaimRow[]> =>
  tx.$queryRaw<ClaimRow[]>(sql`SELECT ${CLAIM_COLUMNS} FROM claim k WHERE k.turn_id = ${turnId}::text ORDER BY k.slot`)
