// Reads the turns that no summary covers yet, and finds later results of their tool calls.

import type { Db } from '../../../db/db.ts'
import type { TurnRow } from '../../turn/turn-columns.ts'
import { named } from '../../kernel/sql.ts'

export type UncoveredTurn = Pick<
  TurnRow,
  'id' | 'position' | 'actor' | 'status' | 'text' | 'parts' | 'tokenCount' | 'createdAt'
> & {
  /**
   * Time at which the entry of the turn's first version was written. `createdAt` of an imported turn may be much
   * earlier.
   */
  writtenAt: Date
}

/** The turns of a conversation with position above `after`. */
type TurnsAfter = { conversationId: string; after: number }

/**
 * Reads committed and open turns without audience: newest versions only, in order of position. Stops after `turns`
 * turns, or after the turn at which the sum of tokens reaches `tokens`. Uses the index turn_place; the CASE prevents the
 * planner from reading the whole conversation (see page-turns.ts). Used by jobs, so not limited to a tenant.
 */
export async function readUncoveredTurns(
  db: Db,
  tenant: string,
  { conversationId, after }: TurnsAfter,
  { turns, tokens }: { turns: number; tokens: number },
): Promise<UncoveredTurn[]> {
  const rows = await db.of(tenant).$queryRaw<UncoveredTurn[]>`
      ${named('read-uncovered-turns')}
      SELECT t.id, t."position", t.actor, t.status, t.text, t.parts, t."tokenCount", t."createdAt",
             (SELECT e.at FROM entry e WHERE e.conversation_id = ${conversationId}::text AND e.seq = t."position") AS "writtenAt"
      FROM (
        SELECT t.id, t.root_seq AS "position", t.actor, t.status, t.text, t.parts, t.token_count AS "tokenCount",
               t.created_at AS "createdAt",
               sum(t.token_count) OVER (ORDER BY t.root_seq) - t.token_count AS before
        FROM (
          SELECT * FROM turn t
          WHERE t.conversation_id = ${conversationId}::text AND t.root_seq > ${after}::integer
            AND CASE WHEN t.audience IS NULL AND t.superseded_by IS NULL AND t.status IN ('COMMITTED', 'STREAMING')
                THEN true ELSE false END
          ORDER BY t.root_seq, t.seq LIMIT ${turns}::integer) t) t
      WHERE t.before < ${tokens}::bigint ORDER BY t."position"`
  return rows
}

/** A tool call: the position of its turn, and its id. */
export type CallRef = { position: number; callId: string }

/**
 * The given tool calls that a committed turn without audience answers. Uses the key of tool_result.
 */
export async function readLaterAnswers(
  db: Db,
  tenant: string,
  { conversationId, after }: TurnsAfter,
  calls: readonly CallRef[],
): Promise<CallRef[]> {
  return db.of(tenant).$queryRaw<CallRef[]>`
      ${named('read-tool-calls')}
      SELECT DISTINCT r.call_position AS position, r.call_id AS "callId"
      FROM jsonb_to_recordset(${JSON.stringify(calls)}::jsonb) AS c(position integer, "callId" text)
      JOIN tool_result r ON r.conversation_id = ${conversationId}::text AND r.call_id = c."callId"
                        AND r.call_position = c.position
      JOIN turn t ON t.id = r.turn_id AND t.conversation_id = ${conversationId}::text
      WHERE t.root_seq > ${after}::integer AND t.audience IS NULL AND t.superseded_by IS NULL AND t.status = 'COMMITTED'`
}
