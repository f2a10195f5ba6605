// Reads and writes one participant under the conversation's lock, each with one statement: addParticipant is about as
// common as an append, and Prisma's client needs a statement for each of these steps (`npm run bench -- participants`).

import type { Tx } from '../../../db/db.ts'
import type { EntryKind } from '../../../generated/enums.ts'
import { named, raw } from '../../kernel/sql.ts'
import { PARTICIPANT_COLUMNS, type ParticipantRow } from './read-participants.ts'

/** A stored participant, with the fields that only the verbs of participants read. */
export type StoredParticipant = ParticipantRow & {
  metadata: Record<string, unknown>
  agent: Record<string, unknown> | null
  /** Whether another actor removed it. */
  removed: boolean
}

const STORED_COLUMNS = raw('p.metadata, p.agent, p.removed')

/**
 * Reads the participant, null for an actor who was never one, and whether the conversation has `max` participants,
 * including former ones. Uses the primary key. The transaction has locked the journal.
 */
export async function readForJoining(
  tx: Tx,
  conversationId: string,
  actor: string,
  max: number,
): Promise<{ existing: StoredParticipant | null; isFull: boolean }> {
  type Row = { isFull: boolean } & (StoredParticipant | { conversationId: null })
  const [row] = await tx.$queryRaw<[Row]>`
    ${named('read-for-joining')}
    SELECT ${PARTICIPANT_COLUMNS}, ${STORED_COLUMNS},
           p.actor IS NULL AND EXISTS (
             SELECT FROM participant o WHERE o.conversation_id = a.conversation_id OFFSET ${max - 1}::integer) AS "isFull"
    FROM (SELECT ${conversationId}::text AS conversation_id) a
    LEFT JOIN participant p ON p.conversation_id = a.conversation_id AND p.actor = ${actor}::text`
  const { isFull, ...participant } = row
  return { existing: participant.conversationId === null ? null : participant, isFull }
}

/** The columns that are written when a participant joins or is updated. */
export type WrittenParticipant = Pick<
  StoredParticipant,
  | 'actor'
  | 'kind'
  | 'displayName'
  | 'historyVisibility'
  | 'metadata'
  | 'joinedAt'
  | 'administrator'
  | 'windows'
  | 'respond'
  | 'agent'
>

/**
 * Writes the next entry of the conversation, and makes the actor a present participant with the given columns. Returns
 * the entry's seq and the participant. The transaction has locked the journal.
 */
export async function writeParticipant(
  tx: Tx,
  conversationId: string,
  entry: Extract<EntryKind, 'JOINED' | 'UPDATED'>,
  { actor, metadata, agent, ...participant }: WrittenParticipant,
): Promise<{ seq: number; participant: ParticipantRow }> {
  const { kind, displayName, historyVisibility, joinedAt, administrator, windows, respond } = participant
  const [{ seq, ...written }] = await tx.$queryRaw<[ParticipantRow & { seq: number }]>`
    ${named('write-participant')}
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + 1, updated_at = now()
      WHERE conversation_id = ${conversationId}::text RETURNING conversation_id, last_seq
    ), written AS (
      INSERT INTO entry (conversation_id, seq, kind, actor)
      SELECT h.conversation_id, h.last_seq, ${entry}::entry_kind, ${actor}::text FROM head h)
    INSERT INTO participant AS p (conversation_id, actor, kind, display_name, history, metadata, joined_at, administrator,
                                  windows, respond, agent)
    SELECT h.conversation_id, ${actor}::text, ${kind}::participant_kind, ${displayName}::text,
           ${historyVisibility}::history_visibility, ${JSON.stringify(metadata)}::jsonb, ${joinedAt}::timestamptz,
           ${administrator}::boolean, ${windows}::integer[], ${respond}::respond,
           ${agent === null ? null : JSON.stringify(agent)}::jsonb
    FROM head h
    ON CONFLICT (conversation_id, actor) DO UPDATE
    SET kind = excluded.kind, display_name = excluded.display_name, history = excluded.history,
        metadata = excluded.metadata, joined_at = excluded.joined_at, left_at = NULL, removed = false,
        administrator = excluded.administrator, windows = excluded.windows, respond = excluded.respond,
        agent = excluded.agent
    RETURNING ${PARTICIPANT_COLUMNS}, (SELECT h.last_seq FROM head h) AS seq`
  return { seq, participant: written }
}
