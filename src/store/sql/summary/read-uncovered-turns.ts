// Turns that no summary covers: those a next one could cover, and those that none ever does.

import type { Pool } from 'pg'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../turn/turn-columns.ts'
import { newest, views, visible } from '../visible.ts'

export type UncoveredTurn = Pick<
  TurnRow,
  'id' | 'rootSeq' | 'actor' | 'status' | 'text' | 'parts' | 'tokenCount' | 'createdAt'
> & {
  /** When the entry that created it was written; an imported turn may say that it was said long before. */
  writtenAt: Date
}

/**
 * The conversation's committed and open turns without audience after the place `after`, newest versions, in order: at most
 * `turns`, and none before which `tokens` are read already. By the index turn_place; the CASE keeps the planner from
 * reading the whole conversation (see page-turns.ts). For jobs: in any tenant.
 */
export async function readUncoveredTurns(
  pool: Pool,
  conversationId: string,
  after: number,
  turns: number,
  tokens: number,
): Promise<UncoveredTurn[]> {
  const { rows } = await pool.query<UncoveredTurn>({
    name: 'read-uncovered-turns',
    text: `
      SELECT t.id, t."rootSeq", t.actor, t.status, t.text, t.parts, t."tokenCount", t."createdAt",
             (SELECT e.at FROM entry e WHERE e.conversation_id = $1::text AND e.seq = t."rootSeq") AS "writtenAt"
      FROM (
        SELECT t.id, t.root_seq AS "rootSeq", t.actor, t.status, t.text, t.parts, t.token_count AS "tokenCount",
               t.created_at AS "createdAt",
               sum(t.token_count) OVER (ORDER BY t.root_seq) - t.token_count AS before
        FROM (
          SELECT * FROM turn t
          WHERE t.conversation_id = $1::text AND t.root_seq > $2::integer
            AND CASE WHEN t.audience IS NULL AND t.superseded_by IS NULL AND t.status IN ('COMMITTED', 'STREAMING')
                THEN true ELSE false END
          ORDER BY t.root_seq, t.seq LIMIT $3::integer) t) t
      WHERE t.before < $4::bigint ORDER BY t."rootSeq"`,
    values: [conversationId, after, turns, tokens],
  })
  return rows
}

/** Which of the calls have a result, without audience, at a place after `after`. Reads the conversation from there on. */
export async function readLaterAnswers(
  pool: Pool,
  conversationId: string,
  after: number,
  calls: readonly string[],
): Promise<string[]> {
  const { rows } = await pool.query<{ call: string }>({
    name: 'read-later-answers',
    text: `
      SELECT DISTINCT p.part->>'callId' AS call
      FROM turn t CROSS JOIN LATERAL jsonb_array_elements(t.parts) AS p(part)
      WHERE t.conversation_id = $1::text AND t.root_seq > $2::integer AND t.audience IS NULL
        AND t.superseded_by IS NULL AND t.status = 'COMMITTED' AND jsonb_typeof(t.parts) = 'array'
        AND p.part->>'type' = 'toolResult' AND p.part->>'callId' = ANY ($3::text[])`,
    values: [conversationId, after, calls],
  })
  return rows.map(({ call }) => call)
}

/**
 * The newest turns at places up to `through` and before `before` that the viewer sees and no summary covers, wherever
 * they stand: with an audience, broken off. Newest first, at most `limit`; through the partial index turn_uncovered.
 */
export async function readNeverCoveredTurns(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  through: number,
  before: number,
  limit: number,
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    rowMode: 'array',
    name: 'read-never-covered-turns',
    text: `
      SELECT ${TURN_COLUMNS}
      FROM (${views('$1', '$2', 'c.id = $3::text')}) v
      JOIN turn t ON t.conversation_id = v.id
      WHERE t.root_seq <= $4::integer AND t.root_seq < $5::integer
        AND (t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND ${visible()} AND ${newest()}
      ORDER BY t.root_seq DESC LIMIT $6::integer`,
    values: [viewer.tenant, viewer.actor, conversationId, through, before, limit],
  })
  return rows.map(turnOf)
}
