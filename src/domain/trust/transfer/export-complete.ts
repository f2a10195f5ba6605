// The steps of a complete export: of a conversation, of an owner's conversations, or of a tenant. It contains everything,
// whatever its viewers see, so only administrators may make one.

import { NotFound } from '../../../errors.ts'
import {
  readConversationSettings,
  readEntries,
  readNextConversation,
  readParticipantsAfter,
  readSharedStatesOf,
  type ConversationsOf,
} from '../../../store/sql/trust/transfer/exported-conversation.ts'
import { readFactsAfter, readListAfter } from '../../../store/sql/trust/transfer/exported-memory.ts'
import type { OpenContent } from '../../../store/sql/turn/streaming/open-content.ts'
import type { ExportedObject } from '../../../store/sql/trust/transfer/exported-conversation.ts'
import { abortedParts } from '../../turn/streamed-part.ts'
import { attachments } from './export-files.ts'
import { linesOf, STEP_BYTES, STEP_ROWS, type StepDeps, type StepResult, FIRST_PLACE, type Stage } from './position.ts'

type StageAt<At extends Stage['at']> = Extract<Stage, { at: At }>
type ListStage = StageAt<'profile' | 'erasure' | 'heldUser'>
type Place = { createdAt: string; id: string }

type Turn = OpenContent & { id: string; status: string }

/** Returns the entry. The import aborts an open turn, so the turn gets the content that it would have then. */
function withClosedTurn(entry: ExportedObject): ExportedObject {
  const turn = entry.turn as Turn | undefined
  if (turn?.status !== 'STREAMING' || !turn.parts) return entry
  const parts = abortedParts(turn).map((part) =>
    part.type === 'toolResult' ? { ...part, callTurnId: turn.id, callPosition: entry.seq as number } : part,
  )
  return { ...entry, turn: { ...turn, parts } }
}

const FACTS: Stage = { at: 'facts', after: FIRST_PLACE }
const toPlace = ({ createdAt, id }: { createdAt: Date; id: string }): Place => ({
  createdAt: createdAt.toISOString(),
  id,
})
const fromPlace = ({ createdAt, id }: Place) => ({ createdAt: new Date(createdAt), id })

/** The stage after the last conversation of the scope. */
const afterConversation = ({ scope }: ConversationsOf, after: Place): Stage =>
  scope === 'CONVERSATION' ? FACTS : { at: 'conversations', after }

/** Writes the settings of the next conversation. Its journal is exported up to its present head. */
async function conversations(
  { pool }: StepDeps,
  of: ConversationsOf,
  { after }: StageAt<'conversations'>,
): Promise<StepResult> {
  const { tenant, scope, subject } = of
  const found =
    scope === 'CONVERSATION'
      ? { id: subject!, createdAt: new Date(after.createdAt) }
      : await readNextConversation(pool, of, fromPlace(after))
  if (!found) return { objects: [], next: FACTS }
  const settings = await readConversationSettings(pool, tenant, found.id)
  if (!settings) {
    if (scope === 'CONVERSATION') throw new NotFound('conversation', found.id)
    // It was deleted after readNextConversation.
    return { objects: [], next: { at: 'conversations', after: toPlace(found) } }
  }
  const place = toPlace(found)
  const files = { id: '', offset: 0 }
  const next: Stage = { at: 'attachments', conversation: place, head: settings.lastSeq, ...files }
  return { objects: linesOf('conversation', [settings]), next }
}

async function entries(
  { pool }: StepDeps,
  { tenant }: ConversationsOf,
  stage: StageAt<'entries'>,
): Promise<StepResult> {
  const { conversation, head, seq } = stage
  const range = { conversationId: conversation.id, after: seq, through: head, limit: STEP_ROWS, bytes: STEP_BYTES }
  const found = seq < head ? await readEntries(pool, tenant, range) : []
  if (seq < head && found.length === 0) throw new NotFound('conversation', conversation.id)
  const last = (found.at(-1)?.seq as number | undefined) ?? head
  const next: Stage = last < head ? { ...stage, seq: last } : { at: 'participants', conversation, actor: '' }
  return { objects: linesOf('entry', found.map(withClosedTurn)), next }
}

async function participants(
  { pool }: StepDeps,
  of: ConversationsOf,
  { conversation, actor }: StageAt<'participants'>,
): Promise<StepResult> {
  const found = await readParticipantsAfter(pool, of.tenant, {
    conversationId: conversation.id,
    after: actor,
    limit: STEP_ROWS,
  })
  const objects = linesOf('participant', found)
  if (found.length === STEP_ROWS) {
    return { objects, next: { at: 'participants', conversation, actor: found.at(-1)!.actor as string } }
  }
  objects.push(...linesOf('sharedState', await readSharedStatesOf(pool, of.tenant, conversation.id)))
  objects.push({ type: 'conversationEnd', id: conversation.id })
  return { objects, next: afterConversation(of, conversation) }
}

async function facts({ pool }: StepDeps, of: ConversationsOf, { after }: StageAt<'facts'>): Promise<StepResult> {
  const found = await readFactsAfter(pool, of, fromPlace(after), STEP_ROWS)
  const objects = linesOf('fact', found)
  if (found.length === STEP_ROWS) {
    return { objects, next: { at: 'facts', after: toPlace(found.at(-1) as { createdAt: Date; id: string }) } }
  }
  return { objects, next: of.scope === 'TENANT' ? { at: 'profile', after: '' } : { at: 'end' } }
}

/** The key of an object of each list (readListAfter), and the stage after the list. */
const LISTS: Record<ListStage['at'], { keyOf: (object: Record<string, unknown>) => unknown; next: Stage }> = {
  profile: {
    keyOf: ({ userId, visibility = '' }) => `${String(userId)}\n${String(visibility)}`,
    next: { at: 'erasure', after: '' },
  },
  erasure: { keyOf: ({ id }) => id, next: { at: 'heldUser', after: '' } },
  heldUser: { keyOf: ({ userId }) => userId, next: { at: 'end' } },
}

async function list({ pool }: StepDeps, { tenant }: ConversationsOf, { at, after }: ListStage): Promise<StepResult> {
  const found = await readListAfter(pool, tenant, at, { after, limit: STEP_ROWS })
  const { keyOf, next } = LISTS[at]
  const isFull = found.length === STEP_ROWS
  return { objects: linesOf(at, found), next: isFull ? { at, after: keyOf(found.at(-1)!) as string } : next }
}

/** @throws NotFound if a conversation was deleted while it was exported */
export async function completeStep(deps: StepDeps, of: ConversationsOf, stage: Stage): Promise<StepResult> {
  switch (stage.at) {
    case 'conversations':
      return conversations(deps, of, stage)
    case 'attachments':
      return attachments(deps, of, stage)
    case 'entries':
      return entries(deps, of, stage)
    case 'participants':
      return participants(deps, of, stage)
    case 'facts':
      return facts(deps, of, stage)
    case 'profile':
    case 'erasure':
    case 'heldUser':
      return list(deps, of, stage)
    case 'turns':
    case 'end':
      return { objects: [], next: { at: 'end' } }
  }
}
