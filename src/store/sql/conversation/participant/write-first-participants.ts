// Writes the participants of a new conversation, and their JOINED entries. Uses one SQL statement, because Prisma's
// client takes hundreds of milliseconds of processor time for a thousand participants.

import type { Tx } from '../../../db/db.ts'
import type { HistoryVisibility, ParticipantKind, Respond } from '../../../generated/enums.ts'

/** `windowStart`: the seq at which the participant's view opens. */
export type FirstParticipant = {
  actor: string
  kind: ParticipantKind
  displayName: string | null
  historyVisibility: HistoryVisibility
  administrator: boolean
  metadata: object
  respond: Respond
  agent: object | null
  windowStart: number
}

/** Writes the participants in the given order, with entries from seq 1. The conversation must not have any entries. */
export async function writeFirstParticipants(
  tx: Tx,
  conversationId: string,
  participants: readonly FirstParticipant[],
): Promise<void> {
  await tx.$executeRaw`
    WITH p AS (
      SELECT * FROM unnest(
        ${participants.map(({ actor }) => actor)}::text[],
        ${participants.map(({ kind }) => kind)}::participant_kind[],
        ${participants.map(({ displayName }) => displayName)}::text[],
        ${participants.map(({ historyVisibility }) => historyVisibility)}::history_visibility[],
        ${participants.map(({ administrator }) => administrator)}::boolean[],
        ${participants.map(({ metadata }) => JSON.stringify(metadata))}::jsonb[],
        ${participants.map(({ respond }) => respond)}::respond[],
        ${participants.map(({ agent }) => (agent === null ? null : JSON.stringify(agent)))}::jsonb[],
        ${participants.map(({ windowStart }) => windowStart)}::integer[])
      WITH ORDINALITY AS p(actor, kind, display_name, history, administrator, metadata, respond, agent, window_start, seq)
    ), entries AS (
      INSERT INTO entry (conversation_id, seq, kind, actor)
      SELECT ${conversationId}, seq, 'JOINED', actor FROM p
    )
    INSERT INTO participant (conversation_id, actor, kind, display_name, history, administrator, metadata, respond, agent, windows)
    SELECT ${conversationId}, actor, kind, display_name, history, administrator, metadata, respond, agent, ARRAY[window_start]
    FROM p`
}
