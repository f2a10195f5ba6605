// Rooms: making one, finding it, changing and deleting it.

import { z } from 'zod'
import { Conflict, InvalidInput, NotFound } from '../errors.ts'
import type { Prisma } from '../store/generated/client.ts'
import { deleteProfilesOfRoom, lockFactsOfRoom, readRoomsGivenWay, reviveFacts } from '../store/sql/erasure/erase-facts.ts'
import {
  findConversation,
  listConversations,
  readConversations,
  type ConversationOrder,
  type ConversationRow,
} from '../store/sql/conversation/read-conversations.ts'
import { lockJournal, writeEntry } from '../store/sql/event/write-entry.ts'
import { withTransaction } from '../store/tx.ts'
import type { Deps, Ground } from './platform.ts'
import { announceDeleted, announceEntries } from './publisher.ts'
import { lockRooms, noteFacts } from './fact/write.ts'
import { kindOf, newId } from './id.ts'
import { id, metadata, name, parse, storable, text, time } from './input.ts'
import { paging, slice, type Page, type Paging } from './page.ts'
import { participantInput, windowsAfterJoining } from './participant.ts'
import { saltOf } from './indexing/index-entry.ts'
import { policyColumns, policyInput } from './compaction-policy.ts'
import type { Viewer } from './view.ts'

/** A room as `viewer` sees it. */
export type Conversation = ConversationRow & { viewer: Viewer }

const seenBy =
  (viewer: Viewer) =>
  (row: ConversationRow): Conversation =>
    Object.assign(row, { viewer })

/** Participants a room may be made with. */
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
 * The new room; with a key that the tenant used before, the room that has it, unchanged.
 * @throws InvalidInput @throws Conflict when that room is deleted at this moment
 */
export async function createConversation(
  deps: Deps,
  viewer: Viewer,
  input: CreateConversationInput,
): Promise<Conversation> {
  const given = parse(createConversationInput, input)
  const participants = given.participants ?? []
  if (new Set(participants.map(({ actor }) => actor)).size < participants.length) {
    throw InvalidInput.at('participants', 'name each actor once')
  }
  const policy = policyColumns(deps, given.compaction)
  const created = newId('conversation')
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
        },
      ],
      skipDuplicates: true,
    })
    if (count === 0) return false
    const last = participants.length
    await tx.journal.create({ data: { conversationId: created, tenant, lastSeq: last, salt: saltOf(tenant, owner) } })
    await tx.participant.createMany({
      data: participants.map(({ actor, kind, displayName, history }, index) => ({
        conversationId: created,
        actor,
        kind: kind ?? 'HUMAN',
        displayName,
        history: history ?? 'ALL',
        windows: windowsAfterJoining([], history ?? 'ALL', index + 1),
      })),
    })
    await tx.entry.createMany({
      data: participants.map(({ actor }, index) => ({
        conversationId: created,
        seq: index + 1,
        kind: 'JOINED' as const,
        actor,
      })),
    })
    if (last > 0) afterCommit(() => announceEntries(deps, [{ tenant, room: created, first: 1, last }]))
    return true
  })
  const room = isNew ? created : await findConversation(deps.pool, tenant, given.key!)
  const found = room && (await getConversations(deps, viewer, [room])).get(room)
  if (!found) throw new Conflict('The room was deleted at this very moment. Try again.')
  return found
}

/** Those of the rooms that the viewer sees, keyed by id. */
export async function getConversations(
  deps: Pick<Ground, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Conversation>> {
  const rows = await readConversations(
    deps.pool,
    viewer,
    ids.filter((each) => kindOf(each) === 'conversation'),
  )
  return new Map(rows.map((row) => [row.id, seenBy(viewer)(row)]))
}

/** The room with that key in the viewer's tenant, or null. */
export async function getConversationByKey(deps: Ground, viewer: Viewer, key: string): Promise<Conversation | null> {
  const room = storable(key) ? null : await findConversation(deps.pool, viewer.tenant, key)
  return (room && (await getConversations(deps, viewer, [room])).get(room)) || null
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

export type ConversationsArgs = Paging & { filter?: ConversationFilter | null; orderBy?: ConversationOrder | null }

const CURSOR = /^(CREATED|ACTIVE):(\d{1,15}):(conv_\w{26})$/

/** A room's place in a list in that order, as an opaque cursor. */
export function conversationCursor(room: Conversation, order: ConversationOrder): string {
  const at = order === 'CREATED' ? room.createdAt : room.updatedAt
  return Buffer.from(`${order}:${at.getTime()}:${room.id}`).toString('base64url')
}

function toPlace(cursor: string, order: ConversationOrder, argument: string): { at: Date; id: string } {
  const match = CURSOR.exec(Buffer.from(cursor, 'base64url').toString())
  if (match?.[1] !== order) {
    throw InvalidInput.at(argument, `${JSON.stringify(cursor)} is not a cursor of this list in this order`)
  }
  return { at: new Date(Number(match[2])), id: match[3]! }
}

/**
 * The tenant's rooms that match, newest first. Ordered by creation, no page repeats or misses a room, whatever is
 * written meanwhile; ordered by activity, a room that gets an entry moves to the front.
 * @throws InvalidInput
 */
export async function getConversationPage(
  deps: Ground,
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
    after: page.after == null ? null : toPlace(page.after, order, 'after'),
    before: page.before == null ? null : toPlace(page.before, order, 'before'),
  })
  return slice(rows.map(seenBy(viewer)), page)
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
 * The room with what was given changed: null clears, what is left out stays, metadata is replaced whole.
 * @throws InvalidInput @throws NotFound
 */
export async function updateConversation(
  deps: Deps,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  const { id: room, metadata: data, factExtraction, compaction, ...texts } = parse(updateConversationInput, input)
  const policy = policyColumns(deps, compaction)
  await withTransaction(deps.db, async (tx, afterCommit) => {
    if ((await lockJournal(tx, viewer.tenant, room)) === null) throw new NotFound('conversation', room)
    await tx.conversation.update({
      where: { id: room },
      data: {
        ...texts,
        metadata: data === null ? {} : (data as Prisma.InputJsonObject | undefined),
        factExtraction: factExtraction === null ? false : factExtraction,
        ...policy,
      },
    })
    const seq = await writeEntry(tx, room, 'UPDATED', {})
    afterCommit(() => announceEntries(deps, [{ tenant: viewer.tenant, room, first: seq, last: seq }]))
  })
  const found = (await getConversations(deps, viewer, [room])).get(room)
  if (!found) throw new NotFound('conversation', room)
  return found
}

/** What was erased, counted. */
export type ErasureReceipt = {
  conversations: number
  turns: number
  facts: number
  summaries: number
  profiles: number
  completedAt: Date
}

/**
 * Deletes the room with all that is in it, and the profiles that tell of its facts, in one transaction; facts of other
 * rooms that gave way to its own hold again. Its readers are told, and end.
 * @throws NotFound
 */
export async function deleteConversation(deps: Deps, viewer: Viewer, room: string): Promise<ErasureReceipt> {
  if (kindOf(room) !== 'conversation') throw new NotFound('conversation', room)
  const others = await readRoomsGivenWay(deps.pool, room)
  return withTransaction(deps.db, async (tx, afterCommit) => {
    const heads = await lockRooms(tx, viewer.tenant, [room, ...others])
    if (!heads.has(room)) throw new NotFound('conversation', room)
    const turns = await tx.turn.count({ where: { conversationId: room } })
    const summaries = await tx.summary.count({ where: { conversationId: room } })
    const { facts, gaveWay } = await lockFactsOfRoom(tx, room)
    const profiles = facts === 0 ? 0 : await deleteProfilesOfRoom(tx, viewer.tenant, room)
    const participants = await tx.participant.findMany({ where: { conversationId: room }, select: { actor: true } })
    await tx.conversation.delete({ where: { id: room } })
    const revived = await reviveFacts(tx, gaveWay)
    await noteFacts(
      deps,
      tx,
      afterCommit,
      viewer.tenant,
      revived.filter(({ conversationId }) => conversationId !== null && heads.has(conversationId)),
    )
    afterCommit(() => {
      deps.vectors.forget(room)
      announceDeleted(
        deps,
        viewer.tenant,
        room,
        participants.map(({ actor }) => actor),
      )
    })
    return { conversations: 1, turns, facts, summaries, profiles, completedAt: new Date() }
  })
}
