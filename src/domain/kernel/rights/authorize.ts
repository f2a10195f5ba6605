// Decides by the table in rights.ts whether the viewer may call a verb, and whether it may read or change a
// conversation. Every verb calls `authorize` first. Only present and former participants see a MEMBERS conversation,
// which store/sql/kernel/visible.ts enforces in every statement; only present participants may change it.

import { NotAllowed, NotFound } from '../../../errors.ts'
import type { Tx } from '../../../store/db/db.ts'
import { readLastSeq } from '../../../store/sql/turn/journal/read-journal.ts'
import { isHeld } from '../../../store/sql/trust/erasure/erasures.ts'
import { lockJournal, type LockedJournal } from '../../../store/sql/turn/journal/write-entry.ts'
import type { Platform } from '../platform.ts'
import { reaches, relationOf } from './relation.ts'
import { CONDITIONS, VERBS, type Condition, type Permit, type Verb } from './rights.ts'
import { beyondConversations, lacksPermit, lacksRight } from './rights-text.ts'
import type { Viewer } from '../view.ts'

/** The conversation that a call names, and `as`, the actor that it acts as if that is not the viewer's actor yet. */
type Concern = { conversationId?: string | null; as?: string | null }

/**
 * Checks that the viewer's credential permits the call. Reads nothing from the database, so that a refusal reveals
 * nothing about it. A viewer without a principal has every right. `requirePermits` checks the permits of the verb.
 * @throws NotAllowed if the credential lacks the right of the verb or the right to act as another actor, or if it is
 * limited to some conversations and the call names none
 * @throws NotFound if it is limited to conversations other than `conversationId`
 */
export function authorize({ tenant, actor, principal }: Viewer, verb: Verb, concern: Concern = {}): void {
  if (principal === undefined) return
  const { right, limited } = VERBS[verb]
  if (tenant !== principal.tenant) throw new NotAllowed('This credential belongs to another tenant.')
  if (!principal.rights.has(right)) throw lacksRight(right, verb)
  if ((concern.as ?? actor) !== principal.actor && !principal.rights.has('act-as')) throw lacksRight('act-as', verb)
  if (principal.conversations === null || limited === 'OBJECTS') return
  const { conversationId } = concern
  if (limited === 'NONE' || conversationId == null) throw beyondConversations(verb)
  if (!principal.conversations.has(conversationId)) throw new NotFound('conversation', conversationId)
}

/** Checks that the credential may act as any actor, not only as its own. @throws NotAllowed */
export function authorizeActing({ principal }: Viewer): void {
  if (principal !== undefined && !principal.rights.has('act-as')) throw lacksRight('act-as')
}

/**
 * Whether the viewer's credential permits access to objects of the conversation.
 * @param conversationId null for an object without a conversation
 */
export const isWithinReach = ({ principal }: Viewer, conversationId: string | null): boolean =>
  principal === undefined
  || principal.conversations === null
  || (conversationId !== null && principal.conversations.has(conversationId))

/** Returns the conversations among `ids` to which the viewer's credential permits access. */
export const withinReach = (viewer: Viewer, ids: readonly string[]): readonly string[] =>
  viewer.principal?.conversations ? ids.filter((id) => isWithinReach(viewer, id)) : ids

/** Returns the viewer with every right, for reads inside a verb that was authorised, for example of its result. */
export const trusted = ({ tenant, actor }: Viewer): Viewer => ({ tenant, actor })

/**
 * What a call of a verb concerns: the conversation, null for none, so that only the rights are checked; and the
 * conditions that the input meets.
 */
type Guarded = { conversationId: string | null; conditions?: readonly Condition[] }

/**
 * Checks the permit of the verb and those of the conditions that its input meets. Reads the actor's relation to the
 * conversation only if the credential lacks the right of one of these permits.
 * @param db the transaction that has locked the conversation, if there is one
 * @throws NotFound if the viewer does not see the conversation @throws NotAllowed
 */
export async function requirePermits(
  db: Tx,
  viewer: Viewer,
  verb: Verb,
  { conversationId, conditions = [] }: Guarded,
): Promise<void> {
  const { principal, actor, tenant } = viewer
  if (principal === undefined) return
  const needed: (Permit & { when?: string })[] = conditions.map((condition) => CONDITIONS[condition])
  const { permit } = VERBS[verb]
  if (permit) needed.unshift(permit)
  const lacking = needed.filter(({ right }) => !principal.rights.has(right))
  if (lacking.length === 0) return
  const conversation = conversationId === null ? null : await readRelationData(db, { tenant, actor }, conversationId)
  if (conversationId !== null && !conversation) throw new NotFound('conversation', conversationId)
  const relation = conversation ? relationOf(actor, conversation) : 'STRANGER'
  const refused = lacking.find((each) => !each.relation || !reaches(relation, each.relation))
  if (refused) throw lacksPermit(refused, verb, refused.when)
}

/** Reads the data that determines the actor's relation; null if the actor does not see the conversation. */
async function readRelationData(db: Tx, { tenant, actor }: Viewer, conversationId: string) {
  const found = await db.conversation.findFirst({
    where: { id: conversationId, tenant },
    select: { owner: true, visibility: true, participants: { where: { actor }, take: 1 } },
  })
  if (!found) return null
  const [participant = null] = found.participants
  if (found.visibility === 'MEMBERS' && participant === null) return null
  return { ...found, participant }
}

/** Returns the seq of the conversation's newest entry. @throws NotFound if the viewer does not see the conversation */
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
 * @throws NotFound if the viewer does not see the conversation
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it
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

/**
 * Checks that the viewer may change the conversation, without locking it. Used before work whose steps lock it.
 * @throws NotFound and NotAllowed in the same cases as `lockConversation`
 */
export async function requireWriter(db: Tx, viewer: Viewer, conversationId: string): Promise<void> {
  const found = await readRelationData(db, viewer, conversationId)
  if (!found) throw new NotFound('conversation', conversationId)
  const hasLeft = found.participant !== null && found.participant.leftAt !== null
  if (found.visibility === 'MEMBERS' && hasLeft) throw notParticipant(viewer.actor)
}

/** Whether the actor is a present participant of the conversation, which `tx` has locked. */
export const isPresent = async (tx: Tx, actor: string, conversationId: string): Promise<boolean> =>
  (await membershipOf(tx, actor, conversationId)) === 'PRESENT'

/** Checks that the actor is a present participant. `tx` has locked the conversation. @throws NotAllowed if it is not */
export async function requireMembership(tx: Tx, actor: string, conversationId: string): Promise<void> {
  if (!(await isPresent(tx, actor, conversationId))) throw notParticipant(actor)
}

async function membershipOf(tx: Tx, actor: string, conversationId: string): Promise<'PRESENT' | 'LEFT' | 'NEVER'> {
  const key = { conversationId_actor: { conversationId, actor } }
  const participant = await tx.participant.findUnique({ where: key, select: { leftAt: true } })
  if (participant === null) return 'NEVER'
  return participant.leftAt === null ? 'PRESENT' : 'LEFT'
}

export const notParticipant = (actor: string) =>
  new NotAllowed(`${JSON.stringify(actor)} is not in the conversation: add it as a participant first.`)

/**
 * Checks that neither the conversation nor one of the actors is under legal hold (legal-hold.ts). Call it under the
 * conversation's lock.
 * @throws NotAllowed
 */
export async function requireNoHold(
  db: Tx,
  tenant: string,
  conversationId: string | null,
  actors: readonly string[],
): Promise<void> {
  if (await isHeld(db, tenant, conversationId, actors)) {
    const subject = conversationId === null ? 'This user' : 'This conversation or one of the users concerned'
    throw new NotAllowed(`${subject} is under legal hold. End the hold with setLegalHold first.`)
  }
}
