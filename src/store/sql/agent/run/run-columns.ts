// The columns of a run, and the rule of its visibility: a viewer sees a run as it would see a turn with the run's
// audience and with the seq of the entry that recorded the run's start.

import type { RunState } from '../../../generated/enums.ts'
import { raw, type Sql } from '../../kernel/sql.ts'

export type RunRow = {
  id: string
  tenant: string
  conversationId: string
  /** Seq of the entry that recorded its start; null before. */
  seq: number | null
  actor: string
  viewer: string
  audience: string[] | null
  state: RunState
  provider: string
  model: string
  replyToId: string | null
  /** The version that its first reply supersedes; null for a run whose replies are new turns. */
  supersedesId: string | null
  turnId: string | null
  round: number
  corrected: boolean
  options: unknown
  /** Null for a run that no credential started, and for one that has ended. */
  credential: unknown
  promptTokens: number
  completionTokens: number
  errorCode: string | null
  errorMessage: string | null
  clientHash: string | null
  holder: string | null
  version: number
  createdAt: Date
  endedAt: Date | null
}

/** SELECT list of the run aliased `r`. */
export const RUN_COLUMNS: Sql = raw(`r.id, r.tenant, r.conversation_id AS "conversationId", r.seq, r.actor, r.viewer,
  r.audience, r.state, r.provider, r.model, r.reply_to_id AS "replyToId", r.supersedes_id AS "supersedesId", r.turn_id AS "turnId",
  r.round, r.corrected, r.options, r.credential, r.prompt_tokens::double precision AS "promptTokens",
  r.completion_tokens::double precision AS "completionTokens", r.error_code AS "errorCode",
  r.error_message AS "errorMessage", r.client_hash AS "clientHash", r.holder, r.version, r.created_at AS "createdAt",
  r.ended_at AS "endedAt"`)

/** Whether the view `v` contains run `r`. */
export const runVisible: Sql = raw(`(
  r.seq IS NOT NULL AND width_bucket(r.seq, v.windows) % 2 = 1 AND (r.audience IS NULL OR v.actor = ANY (r.audience)))`)
