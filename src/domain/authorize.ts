// Decides whether the viewer may read or change a conversation. Only present and former participants see a MEMBERS
// conversation, and only present participants may change it. The statements in store/sql enforce the first rule
// (visible.ts).

import { NotAllowed, NotFound } from '../errors.ts'
import type { Tx } from '../store/db.ts'
import { readLastSeq } from '../store/sql/event/read-journal.ts'
import { lockJournal, type LockedJournal } from '../store/sql/event/write-entry.ts'
import type { Platform } from './platform.ts'
import type { Viewer } from './view.ts'

/** Returns the seq of the newest entry. @throws NotFound if the viewer sees no such conversation */
export async function requireConversation(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationId: string,
): Promise<number> {
  const last = await readLastSeq(pool, viewer, conversationId)
  if (last === null) throw new NotFound('conversation', conversationId)
  return last
}

/**
 * Locks the conversation for a change by the viewer. If it throws, the caller must roll back, which ends the lock.
 * @throws NotFound if the viewer sees no such conversation
 * @throws NotAllowed if it is a MEMBERS conversation that the viewer has left
 */
export async function lockConversation(tx: Tx, viewer: Viewer, conversationId: string): Promise<LockedJournal> {
  const locked = await lockJournal(tx, viewer, conversationId)
  if (locked === null) throw new NotFound('conversation', conversationId)
  await requireChange(tx, viewer, conversationId, locked)
  return locked
}

/**
 * Checks that the viewer may change the conversation, whose journal the transaction has locked.
 * @throws NotFound and NotAllowed in the same cases as `lockConversation`
 */
export async function requireChange(
  tx: Tx,
  { actor }: Viewer,
  conversationId: string,
  { visibility }: LockedJournal,
): Promise<void> {
  if (visibility === 'OPEN') return
  const membership = await membershipOf(tx, actor, conversationId)
  if (membership === 'NEVER') throw new NotFound('conversation', conversationId)
  if (membership === 'LEFT') throw notParticipant(actor)
}

/** Checks that the actor is in the conversation, which the transaction has locked. @throws NotAllowed if it is not */
export async function requireMembership(tx: Tx, actor: string, conversationId: string): Promise<void> {
  if ((await membershipOf(tx, actor, conversationId)) !== 'PRESENT') throw notParticipant(actor)
}

async function membershipOf(tx: Tx, actor: string, conversationId: string): Promise<'PRESENT' | 'LEFT' | 'NEVER'> {
  const key = { conversationId_actor: { conversationId, actor } }
  const participant = await tx.participant.findUnique({ where: key, select: { leftAt: true } })
  if (participant === null) return 'NEVER'
  return participant.leftAt === null ? 'PRESENT' : 'LEFT'
}

export const notParticipant = (actor: string) =>
  new NotAllowed(`${JSON.stringify(actor)} is not in the conversation: add it as a participant first.`)
