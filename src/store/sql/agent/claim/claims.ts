// Writes claims, in the transaction that has locked the conversation's journal. Times are those of the database.

import type { Tx } from '../../../db/db.ts'
import type { ClaimOutcome } from '../../../generated/enums.ts'
import { sql } from '../../kernel/sql.ts'
import { CLAIM_COLUMNS, type ClaimRow } from './claim-columns.ts'

export type NewClaim = Pick<ClaimRow, 'turnId' | 'slot' | 'conversationId' | 'actor' | 'tokenHash'>

const until = (ttlSeconds: number) => sql`clock_timestamp() + make_interval(secs => ${ttlSeconds}::integer)`

/** Stores the claim. Replaces the earlier claim of its slot, which must not be live. */
export async function putClaim(tx: Tx, claim: NewClaim, ttlSeconds: number): Promise<ClaimRow> {
  const [row] = await tx.$queryRaw<[ClaimRow]>(sql`
    INSERT INTO claim AS k (turn_id, slot, conversation_id, actor, token_hash, expires_at)
    VALUES (${claim.turnId}, ${claim.slot}, ${claim.conversationId}, ${claim.actor}, ${claim.tokenHash}, ${until(ttlSeconds)})
    ON CONFLICT (turn_id, slot) DO UPDATE
    SET actor = excluded.actor, token_hash = excluded.token_hash, expires_at = excluded.expires_at,
        answer_id = NULL, ended_at = NULL, outcome = NULL
    RETURNING ${CLAIM_COLUMNS}`)
  return row
}

/** Makes the live claim expire in `ttlSeconds` seconds. */
export async function extendClaim(
  tx: Tx,
  { turnId, slot }: Pick<ClaimRow, 'turnId' | 'slot'>,
  ttlSeconds: number,
): Promise<ClaimRow> {
  const [row] = await tx.$queryRaw<[ClaimRow]>(sql`
    UPDATE claim k SET expires_at = ${until(ttlSeconds)} WHERE k.turn_id = ${turnId} AND k.slot = ${slot}
    RETURNING ${CLAIM_COLUMNS}`)
  return row
}

/** Ends the claim; does nothing if it has ended. Returns the number of ended claims. */
export const endClaim = (
  tx: Tx,
  { turnId, slot }: Pick<ClaimRow, 'turnId' | 'slot'>,
  outcome: Exclude<ClaimOutcome, 'ANSWERED'>,
): Promise<number> => tx.$executeRaw`
  UPDATE claim SET ended_at = clock_timestamp(), outcome = ${outcome}::claim_outcome
  WHERE turn_id = ${turnId} AND slot = ${slot} AND ended_at IS NULL`

/** Ends the participant's wake-up without an answer; does nothing if it has ended. Returns the number of wake-ups. */
export const endWakeUp = (tx: Tx, { turnId, actor }: { turnId: string; actor: string }): Promise<number> =>
  tx.$executeRaw`
    UPDATE wake_up SET answered_at = now() WHERE turn_id = ${turnId} AND actor = ${actor} AND answered_at IS NULL`
