// The relation of an actor to a conversation, from the stored data that determines it. Pure.

import type { Relation } from './rights.ts'

/** The stored data that determines an actor's relation to a conversation. */
type RelationData = {
  owner: string
  visibility: 'OPEN' | 'MEMBERS'
  /** Null for an actor who was never a participant. */
  participant: { leftAt: Date | null; administrator: boolean } | null
}

/** Returns the actor's relation. The owner of a MEMBERS conversation must also be a participant of it. */
export function relationOf(actor: string, { owner, visibility, participant }: RelationData): Relation {
  const isPresent = participant !== null && participant.leftAt === null
  if (actor === owner && (isPresent || (participant === null && visibility === 'OPEN'))) return 'OWNER'
  if (isPresent) return participant.administrator ? 'ADMINISTRATOR' : 'PARTICIPANT'
  return participant === null ? 'STRANGER' : 'FORMER'
}
