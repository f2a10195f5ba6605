// The relations of an actor to a conversation, and the stored data that determines the relation. Pure.

/**
 * Relations of the acting actor to a conversation, closest first. An OWNER is also an ADMINISTRATOR, and an
 * ADMINISTRATOR is also a PARTICIPANT. FORMER is a former participant; STRANGER was never a participant.
 */
const RELATIONS = ['OWNER', 'ADMINISTRATOR', 'PARTICIPANT', 'FORMER', 'STRANGER'] as const
export type Relation = (typeof RELATIONS)[number]

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

/** Whether the relation is at least the required one. */
export const reaches = (relation: Relation, required: Relation): boolean =>
  RELATIONS.indexOf(relation) <= RELATIONS.indexOf(required)
