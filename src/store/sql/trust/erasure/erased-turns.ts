// Statements that erase versions of turns, in the transaction that has locked the conversation's journal.

import type { Db, Tx } from '../../../db/db.ts'
import type { TurnStatus } from '../../../generated/enums.ts'

/** A version of a turn to erase. */
export type TurnToErase = {
  id: string
  seq: number
  position: number
  status: TurnStatus
  tokenCount: number
  /** Whether the turn has no audience. */
  isPublic: boolean
  /** Whether no version superseded it. */
  isNewest: boolean
}

/**
 * Locks the conversation against writers of vectors and participants, and returns the versions at the positions that
 * are not erased, in the order of seq. Uses the index turn_transcript.
 */
export async function lockTurnsToErase(
  tx: Tx,
  conversationId: string,
  positions: readonly number[],
): Promise<TurnToErase[]> {
  await tx.$queryRaw`SELECT FROM conversation WHERE id = ${conversationId}::text FOR UPDATE`
  return tx.$queryRaw<TurnToErase[]>`
    SELECT t.id, t.seq, t.root_seq AS "position", t.status, t.token_count AS "tokenCount",
           t.audience IS NULL AS "isPublic", t.superseded_by IS NULL AS "isNewest"
    FROM turn t
    WHERE t.conversation_id = ${conversationId}::text AND t.root_seq = ANY (${positions}::integer[]) AND t.status <> 'ERASED'
    ORDER BY t.seq`
}

/** Removes the content of the versions, and the data computed from it. Returns the number of versions. */
export const eraseContent = (tx: Tx, conversationId: string, ids: readonly string[]): Promise<number> =>
  tx.$executeRaw`
    UPDATE turn
    SET status = 'ERASED', text = '', parts = NULL, mentions = NULL, sources = NULL, metadata = NULL, abort_reason = NULL, trace_id = NULL,
        context_id = NULL,
        client_hash = NULL, end_hash = NULL, content_hash = NULL, token_count = 0, terms = NULL, cues = NULL, pinned = false
    WHERE id = ANY (${ids}::text[]) AND conversation_id = ${conversationId}::text`

export const deleteToolCalls = (tx: Tx, conversationId: string, turnIds: readonly string[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM tool_call WHERE conversation_id = ${conversationId}::text AND turn_id = ANY (${turnIds}::text[])`

export const deleteToolResults = (tx: Tx, conversationId: string, turnIds: readonly string[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM tool_result WHERE conversation_id = ${conversationId}::text AND turn_id = ANY (${turnIds}::text[])`

export const deleteWakeUps = (tx: Tx, conversationId: string, positions: readonly number[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM wake_up WHERE conversation_id = ${conversationId}::text AND position = ANY (${positions}::integer[])`

/** Ends the streams of open turns, and deletes their chunks. */
export const deleteStreams = (tx: Tx, turnIds: readonly string[]): Promise<number> =>
  tx.$executeRaw`DELETE FROM stream WHERE turn_id = ANY (${turnIds}::text[])`

export const deleteVectors = (tx: Tx, conversationId: string, positions: readonly number[]): Promise<number> =>
  tx.$executeRaw`
    DELETE FROM turn_vector
    WHERE conversation_id = ${conversationId}::text AND root_seq = ANY (${positions}::integer[])`

/**
 * Marks the summaries that cover the first of the positions or a later one as stale. Deletes the summaries that cover
 * one of the positions, including superseded and stale summaries, and returns their number.
 */
export async function deleteSummaries(tx: Tx, conversationId: string, positions: readonly number[]): Promise<number> {
  await tx.$executeRaw`SELECT take_back_summaries(${conversationId}::text, ${Math.min(...positions)}::integer)`
  return tx.$executeRaw`
    DELETE FROM summary s
    WHERE s.conversation_id = ${conversationId}::text AND EXISTS (
      SELECT FROM unnest(${positions}::integer[]) AS p(at) WHERE p.at BETWEEN s.from_seq AND s.to_seq)`
}

/** Clears an automatic title that was made from one of the positions or from a turn after it. */
export const clearAutomaticTitle = (tx: Tx, conversationId: string, positions: readonly number[]): Promise<number> =>
  tx.$executeRaw`
    UPDATE conversation c SET title = NULL, title_from = NULL, title_seq = NULL, title_tried = 0
    WHERE c.id = ${conversationId}::text AND EXISTS (
      SELECT FROM unnest(${positions}::integer[]) AS p(at) WHERE p.at BETWEEN c.title_from AND c.title_seq)`

/** Writes one ERASED entry for each version, in the order given. Returns the seq of the last one. */
export async function writeErasedEntries(tx: Tx, conversationId: string, turnIds: readonly string[]): Promise<number> {
  const rows = await tx.$queryRaw<[{ last: number }]>`
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + ${turnIds.length}::integer, updated_at = now()
      WHERE conversation_id = ${conversationId}::text RETURNING last_seq),
    written AS (
      INSERT INTO entry (conversation_id, seq, kind, turn_id)
      SELECT ${conversationId}::text, head.last_seq - ${turnIds.length}::integer + t.o::integer, 'ERASED', t.id
      FROM head, unnest(${turnIds}::text[]) WITH ORDINALITY AS t(id, o))
    SELECT last_seq AS last FROM head`
  return rows[0].last
}

/** Ids of other conversations with facts that facts of these turns superseded. Uses the index fact_source_turn. */
export async function readConversationsSupersededByTurns(
  db: Db,
  tenant: string,
  conversationId: string,
  positions: readonly number[],
): Promise<string[]> {
  const rows = await db.of(tenant).$queryRaw<{ conversationId: string }[]>`
    SELECT DISTINCT f.conversation_id AS "conversationId"
    FROM turn t JOIN fact_source w ON w.turn_id = t.id AND w.conversation_id = t.conversation_id
    JOIN fact f ON f.superseded_by = w.fact_id AND f.conversation_id <> ${conversationId}::text
    WHERE t.conversation_id = ${conversationId}::text AND t.root_seq = ANY (${positions}::integer[])`
  return rows.map((row) => row.conversationId)
}
