// The columns of a turn as every statement selects them, and the row they make.

import type { Role, TurnStatus } from '../../generated/enums.ts'

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

/** Of the turn that the statement calls `t`, in the order of `turnOf`. */
export const TURN_COLUMNS = `
  t.id, t.conversation_id AS "conversationId", t.seq, t.root_seq AS "rootSeq", t.actor, t.role, t.status, t.text,
  t.parts, t.audience, t.token_count AS "tokenCount", t.prompt_tokens AS "promptTokens",
  t.completion_tokens AS "completionTokens", t.model, t.adapter, t.trace_id AS "traceId", t.sources, t.pinned,
  t.metadata, t.superseded_by AS "supersededBy", t.abort_reason AS "abortReason", t.created_at AS "createdAt"`

/**
 * The turn from a row of TURN_COLUMNS that was read with `rowMode: 'array'`. For pages: a literal is made, and read, in
 * half the time of an object that gets its properties one by one, by their names.
 */
export const turnOf = (row: unknown[]) =>
  ({
    id: row[0],
    conversationId: row[1],
    seq: row[2],
    rootSeq: row[3],
    actor: row[4],
    role: row[5],
    status: row[6],
    text: row[7],
    parts: row[8],
    audience: row[9],
    tokenCount: row[10],
    promptTokens: row[11],
    completionTokens: row[12],
    model: row[13],
    adapter: row[14],
    traceId: row[15],
    sources: row[16],
    pinned: row[17],
    metadata: row[18],
    supersededBy: row[19],
    abortReason: row[20],
    createdAt: row[21],
  }) satisfies Record<keyof TurnRow, unknown> as TurnRow
