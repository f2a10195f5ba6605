// The steps of the export of one user: the conversations that the user sees, with the turns by the user, for the user or
// mentioning the user, and the shared state that the user wrote; the facts about the user or by the user; and the profile.
// All reads are made in the user's view.

import { NotFound } from '../../../errors.ts'
import { findConversationOfUser } from '../../../store/sql/trust/erasure/erasures.ts'
import { readParticipants } from '../../../store/sql/conversation/participant/read-participants.ts'
import type { ConversationsOf } from '../../../store/sql/trust/transfer/exported-conversation.ts'
import { readOwnFacts, readOwnSharedStates, readOwnTurns } from '../../../store/sql/trust/transfer/own-objects.ts'
import { getConversations } from '../../conversation/conversation.ts'
import { toParticipant } from '../../conversation/participant/participant.ts'
import { getProfiles } from '../../memory/profile/profile.ts'
import type { Viewer } from '../../kernel/view.ts'
import { attachments } from './export-files.ts'
import { linesOf, STEP_BYTES, STEP_ROWS, type StepDeps, type StepResult, FIRST_PLACE, type Stage } from './position.ts'

type StageAt<At extends Stage['at']> = Extract<Stage, { at: At }>

/** The user as a viewer. The verb has checked that the caller may export the data of the user. */
const viewerOf = ({ tenant, subject }: ConversationsOf): Viewer => ({ tenant, actor: subject! })

async function conversations(
  deps: StepDeps,
  of: ConversationsOf,
  { after }: StageAt<'conversations'>,
): Promise<StepResult> {
  const viewer = viewerOf(of)
  const found = await findConversationOfUser(deps.db, viewer.tenant, viewer.actor, after.id)
  if (!found) return { objects: [], next: { at: 'facts', after: FIRST_PLACE } }
  const place = { ...FIRST_PLACE, id: found.id }
  const conversation = (await getConversations(deps, viewer, [found.id])).get(found.id)
  if (!conversation || conversation.createdAt > of.until)
    return { objects: [], next: { at: 'conversations', after: place } }
  const { id, key, title, owner, visibility, createdAt } = conversation
  const [participant] = await readParticipants(deps.pool, viewer, [id], [viewer.actor])
  const own = participant ? toParticipant(participant) : null
  const objects = linesOf('conversation', [{ id, key, title, owner, visibility, createdAt }])
  if (own) {
    const { actor, kind, displayName, joinedAt, leftAt, lastReadSeq } = own
    objects.push({ type: 'participant', actor, kind, displayName, joinedAt, leftAt, lastReadSeq })
  }
  const files = { id: '', offset: 0 }
  return { objects, next: { at: 'attachments', conversation: place, head: 0, ...files } }
}

async function turns({ pool }: StepDeps, of: ConversationsOf, stage: StageAt<'turns'>): Promise<StepResult> {
  const { conversation, position, seq } = stage
  const after = { position, seq }
  const range = { conversationId: conversation.id, after, limit: STEP_ROWS, bytes: STEP_BYTES }
  const found = await readOwnTurns(pool, viewerOf(of), range)
  const last = found.at(-1)
  if (last) {
    const next: Stage = { at: 'turns', conversation, position: last.position as number, seq: last.seq }
    // The user need not see the version that this one replaced.
    const shown = found.map(({ supersedes: _supersedes, clientHash: _clientHash, ...turn }) => turn)
    return { objects: linesOf('turn', shown), next }
  }
  const states = await readOwnSharedStates(pool, viewerOf(of), conversation.id)
  // The user need not see who else has changed them.
  const objects = linesOf(
    'sharedState',
    states.map(({ writers: _writers, ...state }) => state),
  )
  objects.push({ type: 'conversationEnd', id: conversation.id })
  return { objects, next: { at: 'conversations', after: conversation } }
}

async function facts({ pool }: StepDeps, of: ConversationsOf, { after }: StageAt<'facts'>): Promise<StepResult> {
  const place = { createdAt: new Date(after.createdAt), id: after.id }
  const found = await readOwnFacts(pool, viewerOf(of), place, { limit: STEP_ROWS, until: of.until })
  const objects = linesOf('fact', found)
  const last = found.at(-1) as { createdAt: Date; id: string } | undefined
  if (found.length < STEP_ROWS) return { objects, next: { at: 'profile', after: '' } }
  return { objects, next: { at: 'facts', after: { createdAt: last!.createdAt.toISOString(), id: last!.id } } }
}

async function profile(deps: StepDeps, of: ConversationsOf): Promise<StepResult> {
  const viewer = viewerOf(of)
  const found = (await getProfiles(deps, viewer, [viewer.actor])).get(viewer.actor)
  if (!found) return { objects: [], next: { at: 'end' } }
  const { userId, content, updatedAt } = found
  return { objects: linesOf('profile', [{ userId, content, updatedAt }]), next: { at: 'end' } }
}

/** @throws NotFound for the stage of a complete export */
export async function ownStep(deps: StepDeps, of: ConversationsOf, stage: Stage): Promise<StepResult> {
  switch (stage.at) {
    case 'conversations':
      return conversations(deps, of, stage)
    case 'attachments':
      return attachments(deps, of, stage)
    case 'turns':
      return turns(deps, of, stage)
    case 'facts':
      return facts(deps, of, stage)
    case 'profile':
      return profile(deps, of)
    case 'end':
      return { objects: [], next: stage }
    default:
      throw new NotFound('position', stage.at)
  }
}
