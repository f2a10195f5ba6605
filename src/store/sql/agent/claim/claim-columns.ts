// The stored claims of a turn, as the statements of this folder return them. Only the database's clock decides
// whether a claim is live, because the clocks of processes may differ.

import type { ClaimOutcome } from '../../../generated/enums.ts'
import { raw, type Sql } from '../../kernel/sql.ts'

/** HELD: live, until it expires. ANSWERING: live, as long as the streaming turn `answerId` is open. */
export type ClaimState = 'HELD' | 'ANSWERING' | ClaimOutcome

export type ClaimRow = {
  /** Id of the first version of the turn. */
  turnId: string
  /** Name of the claiming actor for scope AGENT; empty for scope TURN. */
  slot: string
  conversationId: string
  actor: string
  tokenHash: string
  expiresAt: Date
  /** Id of the turn that answers, streaming or committed; null for none. */
  answerId: string | null
  /** EXPIRED as soon as the claim expires, even if its end is not stored yet. */
  state: ClaimState
  /** Whether the journal has an entry for its end. */
  hasEnded: boolean
}

/** Condition: the claim `k` has expired, and its end is not stored yet. */
export const EXPIRED: Sql = raw('(k.ended_at IS NULL AND k.answer_id IS NULL AND k.expires_at <= clock_timestamp())')

export const CLAIM_COLUMNS: Sql = raw(`k.turn_id AS "turnId", k.slot, k.conversation_id AS "conversationId", k.actor,
  k.token_hash AS "tokenHash", k.expires_at AS "expiresAt", k.answer_id AS "answerId",
  CASE WHEN k.ended_at IS NOT NULL THEN k.outcome::text WHEN k.answer_id IS NOT NULL THEN 'ANSWERING'
       WHEN k.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE 'HELD' END AS state,
  k.ended_at IS NOT NULL AS "hasEnded"`)
