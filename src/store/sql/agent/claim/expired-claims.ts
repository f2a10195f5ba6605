// Expires the claims that erased streaming turns keep, and finds the expired claims for the sweep that ends them.

import type { Db, Tx } from '../../../db/db.ts'
import { SYSTEM } from '../../../db/scope.ts'
import { sql } from '../../kernel/sql.ts'
import { CLAIM_COLUMNS, EXPIRED, type ClaimRow } from './claim-columns.ts'

/**
 * Expires the live claims that the open turns keep, because the turns end without close_turn. Returns the number of
 * claims. Uses the index claim_answer.
 */
export const expireClaimsAnsweredBy = (tx: Tx, turnIds: readonly string[]): Promise<number> => tx.$executeRaw`
  UPDATE claim SET expires_at = clock_timestamp(), answer_id = NULL
  WHERE answer_id = ANY (${turnIds}::text[]) AND ended_at IS NULL`

/**
 * Conversations with expired claims that have not been ended, at most `limit`. Takes the tenants in rotation,
 * so that one tenant's claims do not delay another's. Uses the index claim_expires.
 */
export const readExpiredConversations = (
  db: Db,
  limit: number,
): Promise<{ tenant: string; conversationId: string }[]> =>
  db.of(SYSTEM).$queryRaw<{ tenant: string; conversationId: string }[]>(sql`
    SELECT x.tenant, x.conversation_id AS "conversationId"
    FROM (
      SELECT k.tenant, k.conversation_id, min(k.expires_at) AS expired_at,
             row_number() OVER (PARTITION BY k.tenant ORDER BY min(k.expires_at)) AS place
      FROM claim k
      WHERE ${EXPIRED}
      GROUP BY k.tenant, k.conversation_id) x
    ORDER BY x.place, x.expired_at LIMIT ${limit}::integer`)

/** The expired claims of the conversation, oldest first, at most `limit`. The transaction has locked the journal. */
export const readExpiredClaims = (tx: Tx, conversationId: string, limit: number): Promise<ClaimRow[]> =>
  tx.$queryRaw<ClaimRow[]>(sql`
    SELECT ${CLAIM_COLUMNS} FROM claim k WHERE k.conversation_id = ${conversationId} AND ${EXPIRED}
    ORDER BY k.expires_at, k.turn_id, k.slot LIMIT ${limit}::integer`)
