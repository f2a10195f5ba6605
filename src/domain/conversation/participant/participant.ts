// Reads, adds and removes the participants of a conversation, and maintains their history windows and read marks. A
// participant's view contains the entries in its history windows (view.ts).

import { z } from 'zod'
import { InvalidInput, LimitReached, NotFound } from '../../../errors.ts'
import { HistoryVisibility, ParticipantKind, Respond } from '../../../store/generated/enums.ts'
import { participantKey } from '../../../store/sql/turn/count-turns.ts'
import {
  readParticipants,
  readParticipantsByKey,
  type ParticipantKey,
  type ParticipantRow,
} from '../../../store/sql/conversation/participant/read-participants.ts'
import {
  readForJoining,
  writeParticipant,
  type StoredParticipant,
} from '../../../store/sql/conversation/participant/write-participant.ts'
import { dropWakeUps } from '../../../store/sql/agent/wake-up/drop-wake-ups.ts'
import { lockJournal, writeEntry } from '../../../store/sql/turn/journal/write-entry.ts'
import type { Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import {
  authorize,
  isWithinReach,
  lockConversation,
  notParticipant,
  requireChange,
  requireConversation,
  requirePermits,
  withinReach,
} from '../../kernel/rights/authorize.ts'
import { agentInput, changeResponse, kindOnJoining, requireAgentKind } from '../../agent/definition/agent-settings.ts'
import type { Platform } from '../../kernel/platform.ts'
import { announceEntries, announceRead } from '../../kernel/live/publisher.ts'
import { count, id, metadata, name, parse, requireStrings, text } from '../../kernel/input.ts'
import { redactInput } from '../../kernel/redaction.ts'
import { isSameJson } from '../../kernel/merge-patch.ts'
import { conditionsOfAdding, conditionsOfRemoving, historyAfterJoining } from './participant-conditions.ts'
import type { Viewer } from '../../kernel/view.ts'

/** A participant without the columns that determine its view: other viewers must not read them. */
export type Participant = Omit<ParticipantRow, 'windows' | 'addressed'>

export const toParticipant = ({ windows, addressed, ...participant }: ParticipantRow): Participant => participant

/** Maximum number of participants of a conversation, including former ones. */
export const MAX_PARTICIPANTS = 2000

export const tooManyParticipants = () =>
  new LimitReached(
    `The conversation has ${MAX_PARTICIPANTS} participants, including former ones, which is the maximum.`,
    MAX_PARTICIPANTS,
  )

export const participantInput = z.object({
  actor: name,
  kind: z.enum(ParticipantKind).nullish(),
  displayName: text(200).nullish(),
  historyVisibility: z.enum(HistoryVisibility).nullish(),
  administrator: z.boolean().nullish(),
  metadata: metadata.nullish(),
  respond: z.enum(Respond).nullish(),
  agent: agentInput.nullish(),
})

/**
 * Returns the present and former participants of each conversation, in the order in which they last joined; an empty
 * list if there are none.
 */
export async function getParticipants(
  deps: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, Participant[]>> {
  authorize(viewer, 'getParticipants')
  requireStrings(conversationIds, 'conversationIds')
  const byConversation = new Map<string, Participant[]>(conversationIds.map((conversationId) => [conversationId, []]))
  for (const row of await readParticipants(deps.pool, viewer, withinReach(viewer, conversationIds))) {
    byConversation.get(row.conversationId)?.push(toParticipant(row))
  }
  return byConversation
}

export const keysWithinReach = <K extends ParticipantKey>(viewer: Viewer, keys: readonly K[]): K[] =>
  keys.filter(({ conversationId }) => isWithinReach(viewer, conversationId))

/** Returns the present or former participant of each key, in order; null for an actor who was never one. */
export async function getParticipantsByKey(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  keys: readonly ParticipantKey[],
): Promise<(Participant | null)[]> {
  authorize(viewer, 'getParticipantsByKey')
  const rows = await readParticipantsByKey(pool, viewer, keysWithinReach(viewer, keys))
  const byKey = new Map(rows.map((row) => [participantKey(row.conversationId, row.actor), toParticipant(row)]))
  return keys.map(({ conversationId, actor }) => byKey.get(participantKey(conversationId, actor)) ?? null)
}

/** Returns a present or former participant; null for an actor who was never one. */
async function getParticipant(
  deps: Platform,
  viewer: Viewer,
  conversationId: string,
  actor: string,
): Promise<Participant | null> {
  const [row] = await readParticipants(deps.pool, viewer, [conversationId], [actor])
  return row ? toParticipant(row) : null
}

/** Reads a participant after a change, in its own view. @throws NotFound if the conversation was deleted meanwhile */
export async function participantNow(
  deps: Platform,
  tenant: string,
  conversationId: string,
  actor: string,
): Promise<Participant> {
  const participant = await getParticipant(deps, { tenant, actor }, conversationId, actor)
  if (!participant) throw new NotFound('conversation', conversationId)
  return participant
}

/** Returns the history windows after joining at entry `seq`. */
export function windowsAfterJoining(before: readonly number[], visibility: HistoryVisibility, seq: number): number[] {
  return visibility === 'ALL' ? [1] : [...before, seq]
}

/** Returns the history windows after leaving at entry `seq`; that entry is still in view. @internal */
export const windowsAfterLeaving = (before: readonly number[], seq: number): number[] => [...before, seq + 1]

const addParticipantInput = z.object({ conversationId: id('conversation'), participant: participantInput })
export type AddParticipantInput = z.input<typeof addParticipantInput>

/**
 * Adds the actor to the conversation and returns the participant. For an actor who is a present participant, only the
 * given fields of displayName, metadata, administrator, respond and agent are updated.
 * @throws InvalidInput @throws NotFound @throws LimitReached if the conversation has MAX_PARTICIPANTS
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, or if rights.ts denies the call
 */
export async function addParticipant(deps: Platform, viewer: Viewer, input: AddParticipantInput): Promise<Participant> {
  authorize(viewer, 'addParticipant', input)
  const parsed = await redactInput(deps, viewer, 'addParticipant', parse(addParticipantInput, input))
  const { conversationId, participant: given } = parsed
  return withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const { lastSeq } = await lockConversation(tx, viewer, conversationId)
    const { existing, isFull } = await readForJoining(tx, conversationId, given.actor, MAX_PARTICIPANTS)
    await requirePermits(tx, viewer, 'addParticipant', {
      conversationId,
      conditions: conditionsOfAdding(viewer, given, existing),
    })
    if (isFull) throw tooManyParticipants()
    const isPresent = existing !== null && existing.leftAt === null
    const fields = {
      displayName: given.displayName ?? existing?.displayName ?? null,
      metadata: given.metadata ?? existing?.metadata ?? {},
      administrator: given.administrator ?? (isPresent ? existing.administrator : false),
      respond: given.respond ?? existing?.respond ?? 'NEVER',
      agent: given.agent ?? existing?.agent ?? null,
    }
    const historyVisibility = historyAfterJoining(viewer, given, existing)
    const membership = isPresent
      ? existing
      : {
          kind: kindOnJoining(viewer, given),
          historyVisibility,
          joinedAt: new Date(),
          windows: windowsAfterJoining(existing?.windows ?? [], historyVisibility, lastSeq + 1),
        }
    requireAgentKind(membership.kind, fields.agent, 'participant.agent')
    if (isPresent && isSameJson(fields, fieldsOf(existing))) return rowOf(existing)
    const { seq, participant } = await writeParticipant(tx, conversationId, isPresent ? 'UPDATED' : 'JOINED', {
      actor: given.actor,
      ...membership,
      ...fields,
    })
    if (fields.respond !== (existing?.respond ?? 'NEVER'))
      await changeResponse(tx, conversationId, given.actor, fields.respond)
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last: seq }]))
    return toParticipant(participant)
  })
}

/** Returns the fields of a present participant that addParticipant can change. */
const fieldsOf = ({ displayName, metadata, administrator, respond, agent }: StoredParticipant) => ({
  displayName,
  metadata,
  administrator,
  respond,
  agent,
})

/** Returns the participant without the fields that getParticipantDetails returns. */
function rowOf({ metadata: _, agent: __, removed: ___, ...row }: StoredParticipant): Participant {
  return toParticipant(row)
}

/** Returns the owner of the conversation; '' for a viewer without a principal, which needs no permits. */
export async function ownerOf(tx: Tx, { principal }: Viewer, conversationId: string): Promise<string> {
  if (principal === undefined) return ''
  return (await tx.conversation.findUniqueOrThrow({ where: { id: conversationId }, select: { owner: true } })).owner
}

const removeParticipantInput = z.object({ conversationId: id('conversation'), actor: name })
export type RemoveParticipantInput = z.input<typeof removeParticipantInput>

/**
 * Removes the participant and returns it. Its view ends with the LEFT entry. A participant who removes itself may join
 * again by appending a turn; one removed by another actor must be added again. For a participant who has already left,
 * returns it without an entry, so that the call can be repeated.
 * @throws InvalidInput @throws NotFound for an actor who was never a participant
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, unless the viewer removes itself again;
 * or if rights.ts denies the call
 */
export async function removeParticipant(
  deps: Platform,
  viewer: Viewer,
  input: RemoveParticipantInput,
): Promise<Participant> {
  authorize(viewer, 'removeParticipant', input)
  const { conversationId, actor } = parse(removeParticipantInput, input)
  const key = { conversationId_actor: { conversationId, actor } }
  await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const isSelf = actor === viewer.actor
    const locked = await lockJournal(tx, viewer, conversationId)
    if (locked === null) throw new NotFound('conversation', conversationId)
    const existing = await tx.participant.findUnique({ where: key })
    const hasLeft = existing !== null && existing.leftAt !== null
    if (hasLeft && isSelf) return
    await requireChange(tx, viewer, conversationId, locked)
    const conditions = conditionsOfRemoving(viewer, actor, existing, await ownerOf(tx, viewer, conversationId))
    await requirePermits(tx, viewer, 'removeParticipant', { conversationId, conditions })
    if (!existing) throw new NotFound('participant', actor)
    if (hasLeft) {
      // A participant that left by itself and is then removed by another actor must be added again, too.
      if (!existing.removed) await tx.participant.update({ where: key, data: { removed: true } })
      return
    }
    const seq = await writeEntry(tx, conversationId, 'LEFT', { actor })
    await tx.participant.update({
      where: key,
      data: {
        leftAt: new Date(),
        removed: !isSelf,
        administrator: false,
        windows: windowsAfterLeaving(existing.windows, seq),
      },
    })
    await dropWakeUps(tx, conversationId, actor, 'LEFT')
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last: seq }]))
  })
  return participantNow(deps, viewer.tenant, conversationId, actor)
}

/**
 * Returns the viewer as a participant of the conversation.
 * @throws NotFound @throws NotAllowed if the viewer is not in the conversation
 */
export async function participantIn(deps: Platform, viewer: Viewer, conversationId: string): Promise<Participant> {
  const participant = await getParticipant(deps, viewer, conversationId, viewer.actor)
  if (participant && participant.leftAt === null) return participant
  await requireConversation(deps, viewer, conversationId)
  throw notParticipant(viewer.actor)
}

const markReadInput = z.object({ conversationId: id('conversation'), seq: count })
export type MarkReadInput = z.input<typeof markReadInput>

/**
 * Marks entries up to `seq` as read by the viewer and returns the participant. The read mark never moves back.
 * @throws InvalidInput if `seq` is greater than the journal's last seq @throws NotFound @throws NotAllowed
 */
export async function markRead(deps: Platform, viewer: Viewer, input: MarkReadInput): Promise<Participant> {
  authorize(viewer, 'markRead', input)
  const { conversationId, seq } = parse(markReadInput, input)
  const participant = await participantIn(deps, viewer, conversationId)
  const last = await requireConversation(deps, viewer, conversationId)
  if (seq > last) throw InvalidInput.at('seq', `is ${seq}, but the newest entry of the conversation is ${last}`)
  const { count: moved } = await deps.db
    .of(viewer.tenant)
    .participant.updateMany({
      where: { conversationId, actor: viewer.actor, lastReadSeq: { lt: seq } },
      data: { lastReadSeq: seq },
    })
  // A concurrent call may have moved the read mark further.
  if (moved === 0) return (await getParticipant(deps, viewer, conversationId, viewer.actor)) ?? participant
  announceRead(deps, viewer.tenant, conversationId, viewer.actor)
  return { ...participant, lastReadSeq: seq }
}
