// Conversations: creating, reading, listing and updating them.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound } from '../errors.ts'
import type { Prisma } from '../store/generated/client.ts'
import {
  findConversation,
  listConversations,
  readConversations,
  type ConversationOrder,
  type ConversationRow,
} from '../store/sql/conversation/read-conversations.ts'
import type { TurnCount } from '../store/sql/turn/count-turns.ts'
import { lockJournal, writeEntry } from '../store/sql/event/write-entry.ts'
import { writeFirstParticipants } from '../store/sql/participant/write-first-participants.ts'
import { withTransaction } from '../store/tx.ts'
import { cursorFormat, type CursorFormat } from './cursor.ts'
import type { Platform } from './platform.ts'
import { announceEntries } from './publisher.ts'
import { kindOf, newId } from './id.ts'
import { id, metadata, name, parse, storable, text, time } from './input.ts'
import { paging, slice, type Page, type Paging } from './page.ts'
import { participantInput, windowsAfterJoining } from './participant.ts'
import { saltOf } from '../text/term-hash.ts'
import { policyColumns, policyInput } from './compaction-policy.ts'
import { seesAllPublic, type Viewer } from './view.ts'

/** A conversation as a viewer sees it. */
export type Conversation = Omit<
  ConversationRow,
  'publicTurnCount' | 'publicTokenCount' | 'viewActor' | 'windows' | 'addressed'
> & {
  /** Committed turns in the viewer's view, and their tokens; null if countOfTurns must count them. */
  counts: TurnCount | null
}

/** The stored counters cover the turns without an audience, so they apply only to a view of exactly these turns. */
function toConversation(row: ConversationRow): Conversation {
  const { publicTurnCount, publicTokenCount, viewActor, windows, addressed, ...conversation } = row
  const isCounted = seesAllPublic({ actor: viewActor, windows, addressed }) && !addressed
  return { ...conversation, counts: isCounted ? { turnCount: publicTurnCount, tokenCount: publicTokenCount } : null }
}

/** Maximum number of participants in createConversation. */
const PARTICIPANTS = 1000

const createConversationInput = z.object({
  key: name.nullish(),
  owner: name.nullish(),
  agentName: name.nullish(),
  title: text(1000).nullish(),
  systemPrompt: text(65_536).nullish(),
  metadata: metadata.nullish(),
  factExtraction: z.boolean().nullish(),
  compaction: policyInput.nullish(),
  participants: z.array(participantInput).max(PARTICIPANTS).nullish(),
})
export type CreateConversationInput = z.input<typeof createConversationInput>

/**
 * Creates a conversation and returns it. If the tenant already has a conversation with the given key, returns that
 * conversation unchanged.
 * @throws InvalidInput @throws Conflict if the existing conversation is deleted concurrently
 */
export async function createConversation(
  deps: Platform,
  viewer: Viewer,
  input: CreateConversationInput,
): Promise<Conversation> {
  const given = parse(createConversationInput, input)
  const participants = given.participants ?? []
  if (new Set(participants.map(({ actor }) => actor)).size < participants.length) {
    throw InvalidInput.at('participants', 'must name each actor only once')
  }
  const policy = policyColumns(deps, given.compaction)
  const created = newId('conversation')
  const createdAt = new Date()
  const { tenant } = viewer
  const owner = given.owner ?? viewer.actor
  const isNew = await withTransaction(deps.db, async (tx, afterCommit) => {
    const { count } = await tx.conversation.createMany({
      data: [
        {
          id: created,
          tenant,
          key: given.key,
          owner,
          agentName: given.agentName,
          title: given.title,
          systemPrompt: given.systemPrompt,
          metadata: (given.metadata ?? {}) as Prisma.InputJsonObject,
          factExtraction: given.factExtraction ?? false,
          ...policy,
          createdAt,
        },
      ],
      skipDuplicates: true,
    })
    if (count === 0) return false
    const last = participants.length
    await tx.journal.create({
      data: { conversationId: created, tenant, lastSeq: last, salt: saltOf(tenant, owner), updatedAt: createdAt },
    })
    await writeFirstParticipants(
      tx,
      created,
      participants.map(({ actor, kind, displayName, history }, index) => ({
        actor,
        kind: kind ?? 'HUMAN',
        displayName: displayName ?? null,
        history: history ?? 'ALL',
        windowStart: windowsAfterJoining([], history ?? 'ALL', index + 1)[0]!,
      })),
    )
    if (last > 0) afterCommit(() => announceEntries(deps, [{ tenant, conversationId: created, first: 1, last }]))
    return true
  })
  const conversationId = isNew ? created : await findConversation(deps.db, tenant, given.key!)
  const conversation = conversationId && (await getConversations(deps, viewer, [conversationId])).get(conversationId)
  if (!conversation) throw new Conflict('The conversation was deleted concurrently. Try again.')
  return conversation
}

/** Returns the conversations that the viewer sees, by id. */
export async function getConversations(
  deps: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Conversation>> {
  const rows = await readConversations(
    deps.pool,
    viewer,
    ids.filter((each) => kindOf(each) === 'conversation'),
  )
  return new Map(rows.map((row) => [row.id, toConversation(row)]))
}

/** Returns the conversation with the key in the viewer's tenant, or null. */
export async function getConversationByKey(deps: Platform, viewer: Viewer, key: string): Promise<Conversation | null> {
  const conversationId = storable(key) ? null : await findConversation(deps.db, viewer.tenant, key)
  return (conversationId && (await getConversations(deps, viewer, [conversationId])).get(conversationId)) || null
}

const conversationFilter = z.object({
  owner: name.nullish(),
  agentName: name.nullish(),
  participant: name.nullish(),
  metadata: metadata.nullish(),
  updatedBefore: time.nullish(),
  search: text(200).nullish(),
})
export type ConversationFilter = z.input<typeof conversationFilter>

/** `orderBy` defaults to CREATED. */
export type ConversationsArgs = Paging & { filter?: ConversationFilter | null; orderBy?: ConversationOrder | null }

/** `at` is the time by which the list is ordered. */
type Position = { at: Date; id: string }

const cursorIn = (order: ConversationOrder) =>
  cursorFormat<Position>(
    ({ at, id: conversationId }) => `${order}:${at.getTime()}:${conversationId}`,
    new RegExp(`^${order}:(\\d{1,15}):(conv_\\w{26})$`),
    (at, conversationId) => ({ at: new Date(Number(at)), id: conversationId }),
    'this list in this order',
  )
const CURSORS: Record<ConversationOrder, CursorFormat<Position>> = {
  CREATED: cursorIn('CREATED'),
  ACTIVE: cursorIn('ACTIVE'),
}

/** Returns the cursor of a conversation in a list in the given order. */
export function conversationCursor(conversation: Conversation, order: ConversationOrder): string {
  const at = order === 'CREATED' ? conversation.createdAt : conversation.updatedAt
  return CURSORS[order].encode({ at, id: conversation.id })
}

/**
 * Returns a page of the tenant's conversations that match the filter, newest first. In CREATED order, concurrent writes
 * cannot make a page repeat or miss a conversation. In ACTIVE order, a conversation with a new entry moves to the
 * front.
 * @throws InvalidInput
 */
export async function getConversationPage(
  deps: Platform,
  viewer: Viewer,
  args: ConversationsArgs,
): Promise<Page<Conversation>> {
  const page = paging(args, deps.limits.pageSize)
  const filter = parse(conversationFilter, args.filter ?? {})
  const order = args.orderBy ?? 'CREATED'
  const rows = await listConversations(deps.pool, viewer, {
    ...filter,
    order,
    limit: page.size + 1,
    from: page.backwards ? 'oldest' : 'newest',
    after: page.after == null ? null : CURSORS[order].decode(page.after, 'after'),
    before: page.before == null ? null : CURSORS[order].decode(page.before, 'before'),
  })
  return slice(rows.map(toConversation), page)
}

const updateConversationInput = z.object({
  id: id('conversation'),
  title: text(1000).nullish(),
  systemPrompt: text(65_536).nullish(),
  metadata: metadata.nullish(),
  factExtraction: z.boolean().nullish(),
  compaction: policyInput.nullish(),
})
export type UpdateConversationInput = z.input<typeof updateConversationInput>

/**
 * Updates the given fields and returns the conversation. Null clears a field or restores its default; metadata is
 * replaced as a whole.
 * @throws InvalidInput @throws NotFound
 */
export async function updateConversation(
  deps: Platform,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  const {
    id: conversationId,
    metadata: data,
    factExtraction,
    compaction,
    ...texts
  } = parse(updateConversationInput, input)
  const policy = policyColumns(deps, compaction)
  await withTransaction(deps.db, async (tx, afterCommit) => {
    if ((await lockJournal(tx, viewer.tenant, conversationId)) === null)
      throw new NotFound('conversation', conversationId)
    await tx.conversation.update({
      where: { id: conversationId },
      data: {
        ...texts,
        metadata: data === null ? {} : (data as Prisma.InputJsonObject | undefined),
        factExtraction: factExtraction === null ? false : factExtraction,
        ...policy,
      },
    })
    const seq = await writeEntry(tx, conversationId, 'UPDATED', {})
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, conversationId, first: seq, last: seq }]))
  })
  const conversation = (await getConversations(deps, viewer, [conversationId])).get(conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  return conversation
}
