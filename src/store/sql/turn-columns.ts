// The columns of a turn as every statement selects them, and the row they make.

import type { Role, TurnStatus } from '../generated/enums.ts'

export type TurnRow = {
  id: string
  conversationId: string
  seq: number
  rootSeq: number
  actor: string
  role: Role
  status: TurnStatus
  text: string
  parts: unknown[] | null
  audience: string[] | null
  tokenCount: number
  promptTokens: number | null
  completionTokens: number | null
  model: string | null
  adapter: string | null
  traceId: string | null
  sources: unknown[] | null
  pinned: boolean
  metadata: Record<string, unknown> | null
  supersededBy: string | null
  abortReason: string | null
  createdAt: Date
}

/** Of the turn that the statement calls `t`. */
export const TURN_COLUMNS = `
  t.id, t.conversation_id AS "conversationId", t.seq, t.root_seq AS "rootSeq", t.actor, t.role, t.status, t.text,
  t.parts, t.audience, t.token_count AS "tokenCount", t.prompt_tokens AS "promptTokens",
  t.completion_tokens AS "completionTokens", t.model, t.adapter, t.trace_id AS "traceId", t.sources, t.pinned,
  t.metadata, t.superseded_by AS "supersededBy", t.abort_reason AS "abortReason", t.created_at AS "createdAt"`
