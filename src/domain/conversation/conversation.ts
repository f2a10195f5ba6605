// Creates, reads and updates conversations. conversation-page.ts lists them.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound } from '../../errors.ts'
import type { Prisma } from '../../store/generated/client.ts'
import { ConversationVisibility } from '../../store/generated/enums.ts'
import {
  findConversation,
  conversationsRead,
  type ConversationRow,
} from '../../store/sql/conversation/conversations.ts'
import { readOne, type Read } from '../../store/db/read.ts'
import type { TurnCount } from '../../store/sql/turn/count-turns.ts'
import { writeEntry } from '../../store/sql/turn/journal/write-entry.ts'
import { writeFirstParticipants } from '../../store/sql/conversation/participant/write-first-participants.ts'
import { withTransaction } from '../../store/db/tx.ts'
import type { Platform } from '../kernel/platform.ts'
import { patchMetadata } from '../kernel/merge-patch.ts'
import { announceEntries } from '../kernel/live/publisher.ts'
import { authorize, isWithinReach, lockConversation, requirePermits, trusted } from '../kernel/rights/authorize.ts'
import { conditionsOfCreation, conditionsOfUpdate } from './conversation-conditions.ts'
import { changeVisibility, type VisibilityDeps } from './conversation-visibility.ts'
import { kindOf, newId } from '../kernel/id.ts'
import { AGENT_TURNS, maxAgentTurns } from '../agent/definition/agent-settings.ts'
import { firstParticipants } from './participant/first-participants.ts'
import { count, id, metadata, name, parse, requireStrings, storable, text } from '../kernel/input.ts'
import { participantInput } from './participant/participant.ts'
import { redactInput } from '../kernel/redaction.ts'
import { saltOf } from '../../text/words/hashed-terms.ts'
import { retentionColumns, retentionInput, retentionOfNew } from './retention-policy.ts'
import { policyColumns, policyInput } from './compaction-policy.ts'
import { seesAllOf, seesAllPublic, type Viewer } from '../kernel/view.ts'

/** A conversation as a viewer sees it. */
export type Conversation = Omit<
  ConversationRow,
  'publicTurnCount' | 'publicTokenCount' | 'viewActor' | 'windows' | 'addressed' | 'titleFrom' | 'titleSeq'
> & {
  /** Numbers of committed turns in the viewer's view and of their tokens; null if countOfTurns must count them. */
  counts: TurnCount | null
}

/**
 * Converts a row for its viewer. The stored counters cover the turns without an audience, so they are returned only for
 * a view of exactly these turns. An automatic title is returned only for a view of all turns that it was made from.
 */
export function toConversation(row: ConversationRow): Conversation {
  const { publicTurnCount, publicTokenCount, viewActor, windows, addressed, titleFrom, titleSeq, ...conversation } = row
  if (titleFrom !== null && titleSeq !== null) {
    const isSeen = seesAllOf({ windows }, { fromPosition: titleFrom, toPosition: titleSeq, newestSeq: titleSeq })
    if (!isSeen) conversation.title = null
  }
  const isCounted = seesAllPublic({ actor: viewActor, windows, addressed }) && !addressed
  return { ...conversation, counts: isCounted ? { turnCount: publicTurnCount, tokenCount: publicTokenCount } : null }
}

/** Maximum number of participants in createConversation. */
export const MAX_FIRST_PARTICIPANTS = 1000

/** The fields of a conversation that createConversation and updateConversation set. */
const conversationFields = {
  owner: name.nullish(),
  agentName: name.nullish(),
  title: text(1000).nullish(),
  automaticTitle: z.boolean().nullish(),
  systemPrompt: text(65_536).nullish(),
  metadata: metadata.nullish(),
  factExtraction: z.boolean().nullish(),
  maxAgentTurns: maxAgentTurns.nullish(),
  compaction: policyInput.nullish(),
  visibility: z.enum(ConversationVisibility).nullish(),
  ...retentionInput,
}

const createConversationInput = z.object({
  ...conversationFields,
  key: name.nullish(),
  participants: z.array(participantInput).max(MAX_FIRST_PARTICIPANTS).nullish(),
})
export type CreateConversationInput = z.input<typeof createConversationInput>

/** The new conversation; or, if `created` is false, the existing conversation with the given key. */
export type CreatedConversation = { conversation: Conversation; created: boolean }

/**
 * Creates a conversation. If the viewer sees a conversation with the given key, returns that conversation unchanged.
 * The creator of a MEMBERS conversation becomes one of its participants.
 * @throws InvalidInput @throws NotAllowed if rights.ts denies the call
 * @throws Conflict if the existing conversation is changed or deleted concurrently
 */
export async function createConversation(
  deps: Platform,
  caller: Viewer,
  input: CreateConversationInput,
): Promise<CreatedConversation> {
  authorize(caller, 'createConversation')
  const given = await redactInput(deps, caller, 'createConversation', parse(createConversationInput, input))
  const visibility = given.visibility ?? deps.conversationVisibility
  const participants = firstParticipants(given.participants ?? [], visibility, caller)
  const conditions = conditionsOfCreation(caller, { owner: given.owner, participants })
  await requirePermits(deps.db.of(caller.tenant), caller, 'createConversation', { conversationId: null, conditions })
  const viewer = trusted(caller)
  const policy = policyColumns(deps, given.compaction)
  const conversationId = newId('conversation')
  const createdAt = new Date()
  const { tenant } = viewer
  const owner = given.owner ?? viewer.actor
  const existing = given.key == null ? null : await getConversationByKey(deps, viewer, given.key)
  if (existing) return { conversation: existing, created: false }
  const retained = await retentionOfNew(deps, tenant, given, createdAt)
  const created = await withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    const { count } = await tx.conversation.createMany({
      data: [
        {
          id: conversationId,
          tenant,
          key: given.key,
          owner,
          agentName: given.agentName,
          title: given.title,
          automaticTitle: given.automaticTitle ?? true,
          systemPrompt: given.systemPrompt,
          metadata: (given.metadata ?? {}) as Prisma.InputJsonObject,
          factExtraction: given.factExtraction ?? false,
          maxAgentTurns: given.maxAgentTurns ?? AGENT_TURNS.default,
          ...policy,
          ...retained,
          visibility,
          keyScope: visibility === 'OPEN' ? '' : viewer.actor,
          createdAt,
        },
      ],
      skipDuplicates: true,
    })
    if (count === 0) return false
    const last = participants.length
    await tx.journal.create({
      data: {
        conversationId,
        tenant,
        visibility,
        lastSeq: last,
        salt: saltOf(tenant, owner),
        updatedAt: createdAt,
        responding: participants.some(({ respond }) => respond !== 'NEVER'),
      },
    })
    await writeFirstParticipants(tx, conversationId, participants)
    if (last > 0) afterCommit(() => announceEntries(deps, [{ tenant, conversationId, first: 1, last }]))
    return true
  })
  const conversation = created
    ? (await getConversations(deps, viewer, [conversationId])).get(conversationId)
    : await getConversationByKey(deps, viewer, given.key!)
  if (!conversation) throw new Conflict('The conversation was changed or deleted concurrently. Try again.')
  return { conversation, created }
}

/** Returns the read that `getConversations` runs, without authorising it. */
export function conversationsOf(viewer: Viewer, ids: readonly string[]): Read<Map<string, Conversation>> {
  const readable = ids.filter((each) => kindOf(each) === 'conversation' && isWithinReach(viewer, each))
  const { statement, toResult } = conversationsRead(viewer, readable)
  return { statement, toResult: (rows) => new Map(toResult(rows).map((row) => [row.id, toConversation(row)])) }
}

/** Returns the conversations that the viewer sees, by id. */
export async function getConversations(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Conversation>> {
  authorize(viewer, 'getConversations')
  requireStrings(ids, 'ids')
  return readOne(pool, viewer.tenant, conversationsOf(viewer, ids))
}

/** Returns the oldest conversation with the given key that the viewer sees; null if there is none. */
export async function getConversationByKey(
  deps: Pick<Platform, 'pool'>,
  viewer: Viewer,
  key: string,
): Promise<Conversation | null> {
  authorize(viewer, 'getConversationByKey')
  const conversationId = storable(key) ? null : await findConversation(deps.pool, viewer, key)
  return (conversationId && (await getConversations(deps, viewer, [conversationId])).get(conversationId)) || null
}

const updateConversationInput = z.object({
  ...conversationFields,
  conversationId: id('conversation'),
  expectedVersion: count.nullish(),
  metadataPatch: metadata.nullish(),
})
export type UpdateConversationInput = z.input<typeof updateConversationInput>

/** The other title columns when a client sets the title: it was made from no turns. */
const GIVEN_TITLE = { titleFrom: null, titleSeq: null, titleTried: 0 }

const otherVersion = (version: number) =>
  new Conflict(
    `expectedVersion does not match: the conversation has version ${version}. Read it again before you change it.`,
  )

/**
 * Updates the given fields and returns the conversation. Null clears a field or restores its default; a null `owner` is
 * rejected, and a null `metadataPatch` or `expectedVersion` is ignored. `metadata` replaces the metadata as a whole;
 * `metadataPatch` is merged into it (RFC 7396). Subscriptions of viewers who no longer see the conversation end.
 * @throws InvalidInput @throws NotFound
 * @throws NotAllowed if the viewer has left a MEMBERS conversation, or changes the visibility but is not a present
 * participant, or if rights.ts denies the call
 * @throws Conflict if its version is not expectedVersion, or if it would become OPEN and another OPEN conversation has
 * its key
 */
export async function updateConversation(
  deps: VisibilityDeps,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  authorize(viewer, 'updateConversation', input)
  const {
    conversationId,
    expectedVersion,
    owner,
    metadata: data,
    metadataPatch,
    factExtraction,
    maxAgentTurns: agentTurns,
    compaction,
    visibility: givenVisibility,
    automaticTitle,
    retention,
    ttlSeconds,
    expiresAt,
    ...texts
  } = await redactInput(deps, viewer, 'updateConversation', parse(updateConversationInput, input))
  const policy = policyColumns(deps, compaction)
  if (owner === null) throw InvalidInput.at('owner', 'must not be null')
  if (metadataPatch != null && data !== undefined)
    throw InvalidInput.at('metadataPatch', 'must not be given with metadata')
  await withTransaction(deps.db, viewer.tenant, async (tx, afterCommit) => {
    const before = await lockConversation(tx, viewer, conversationId)
    await requirePermits(tx, viewer, 'updateConversation', { conversationId, conditions: conditionsOfUpdate(input) })
    const stored = await tx.conversation.findUniqueOrThrow({ where: { id: conversationId } })
    if (expectedVersion != null && expectedVersion !== stored.version) throw otherVersion(stored.version)
    const visibility = givenVisibility === null ? deps.conversationVisibility : (givenVisibility ?? before.visibility)
    if (visibility !== before.visibility) await changeVisibility(deps, tx, viewer, { conversationId, visibility })
    await tx.conversation.update({
      where: { id: conversationId },
      data: {
        ...texts,
        ...(texts.title !== undefined && GIVEN_TITLE),
        automaticTitle: automaticTitle === null ? true : automaticTitle,
        owner,
        metadata: (metadataPatch ? patchMetadata(stored.metadata, metadataPatch) : data === null ? {} : data) as
          | Prisma.InputJsonObject
          | undefined,
        factExtraction: factExtraction === null ? false : factExtraction,
        maxAgentTurns: agentTurns === null ? AGENT_TURNS.default : agentTurns,
        version: { increment: 1 },
        ...policy,
        ...retentionColumns(deps, { retention, ttlSeconds, expiresAt }, stored.createdAt),
      },
    })
    const seq = await writeEntry(tx, conversationId, 'UPDATED', {})
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last: seq }]))
  })
  const conversation = (await getConversations(deps, trusted(viewer), [conversationId])).get(conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  return conversation
}
