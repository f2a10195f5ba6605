// Makes the actor of a write a participant, as an append does (prisma/functions/check_turns.sql), for writes that run in
// a transaction of their own.

import { NotAllowed } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { readForJoining, writeParticipant } from '../../../store/sql/conversation/participant/write-participant.ts'
import type { LockedJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import { kindOnJoining } from '../../agent/definition/agent-settings.ts'
import type { Viewer } from '../../kernel/view.ts'
import { MAX_PARTICIPANTS, tooManyParticipants, windowsAfterJoining } from './participant.ts'

/**
 * Adds the viewer to the OPEN conversation, unless it is a present participant. The transaction has locked the journal,
 * and checked that the viewer may change the conversation. Returns the seq of the entry JOINED; null if none was written.
 * @throws NotAllowed if another actor has removed the viewer
 * @throws LimitReached if the conversation has MAX_PARTICIPANTS
 */
export async function joinIfAbsent(
  tx: Tx,
  viewer: Viewer,
  conversationId: string,
  { lastSeq }: LockedJournal,
): Promise<number | null> {
  const { actor } = viewer
  const { existing, isFull } = await readForJoining(tx, conversationId, actor, MAX_PARTICIPANTS)
  if (existing !== null && existing.leftAt === null) return null
  if (existing?.removed) {
    throw new NotAllowed(
      `${JSON.stringify(actor)} was removed from the conversation. Another actor must add the participant again.`,
    )
  }
  if (isFull) throw tooManyParticipants()
  const historyVisibility = existing?.historyVisibility ?? 'ALL'
  const { seq } = await writeParticipant(tx, conversationId, 'JOINED', {
    actor,
    kind: existing?.kind ?? kindOnJoining(viewer, { actor }),
    historyVisibility,
    joinedAt: new Date(),
    windows: windowsAfterJoining(existing?.windows ?? [], historyVisibility, lastSeq + 1),
    displayName: existing?.displayName ?? null,
    metadata: existing?.metadata ?? {},
    administrator: false,
    respond: existing?.respond ?? 'NEVER',
    agent: existing?.agent ?? null,
  })
  return seq
}
