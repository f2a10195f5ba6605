// Reads the transcript of conversations in a viewer's view: pages in both directions, and the newest turns.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { JsonText } from '../../runtime/json/text.ts'
import { Role } from '../../store/generated/enums.ts'
import { mapRead, readAll, readOne, type Read } from '../../store/db/read.ts'
import { countTurns, type TurnCount } from '../../store/sql/turn/count-turns.ts'
import {
  pageTurns,
  turnJsonPagesRead,
  turnPagesRead,
  type TurnJsonRead,
  type TurnPage,
  type TurnPosition,
  type TurnsRead,
} from '../../store/sql/turn/page-turns.ts'
import { readChangesSince } from '../../store/sql/turn/read-changes-since.ts'
import type { TurnTemplate } from '../../store/sql/turn/turn-json.ts'
import { authorize, withinReach } from '../kernel/rights/authorize.ts'
import { conversationsOf, type Conversation } from '../conversation/conversation.ts'
import { cursorFormat } from '../kernel/cursor.ts'
import type { Platform } from '../kernel/platform.ts'
import { count, name, parse, requireStrings, time } from '../kernel/input.ts'
import {
  DEFAULT_PAGE_SIZE,
  neighbours,
  NO_PAGE,
  paging,
  slice,
  type Page,
  type PageRequest,
  type Paging,
  type RenderedPage,
} from '../kernel/page.ts'
import type { Viewer } from '../kernel/view.ts'
import { withOpenParts, type Turn } from './turn.ts'

const turnFilter = z.object({
  actors: z.array(name).max(1000).nullish(),
  roles: z.array(z.enum(Role)).nullish(),
  createdAfter: time.nullish(),
  createdBefore: time.nullish(),
  pinned: z.boolean().nullish(),
  sinceSeq: count.nullish(),
})
export type TurnFilter = z.input<typeof turnFilter>

export type TurnsArgs = Paging & { filter?: TurnFilter | null; includeSuperseded?: boolean | null }

/** Greater than every seq. */
const MAX_SEQ = 2 ** 31 - 1

const CURSOR = cursorFormat<TurnPosition>(
  ({ position, seq }) => `turn:${position}:${seq}`,
  /^turn:(\d{1,10}):(\d{1,10})$/,
  (...groups) => {
    const [position, seq] = groups.map(Number) as [number, number]
    return position < 2 ** 31 && seq < 2 ** 31 ? { position, seq } : null
  },
)

/** Returns a turn's position in the transcript as an opaque cursor. Later writes do not invalidate it. */
export const turnCursor = (turn: TurnPosition): string => CURSOR.encode(turn)

/** Maximum size of the turns on a page, in bytes. A page that would be larger ends earlier. @internal */
export const PAGE_BYTES = 1024 * 1024
/** Maximum size of the turns in one `history`, in bytes. */
export const HISTORY_BYTES = 4 * 1024 * 1024
/** Minimum share of these maximums for each of several conversations that are read together, in bytes. @internal */
export const MIN_SHARE_BYTES = 256 * 1024

/** Returns the share of `bytes` for each of the conversations that are read together, in bytes. */
export const shareOf = (bytes: number, conversations: number): number =>
  Math.max(MIN_SHARE_BYTES, Math.floor(bytes / Math.max(1, conversations)))

/**
 * Returns the turns of a read that left out none.
 * @param maxBytes the size limit of the read
 * @throws InvalidInput if the read left out turns because of the limit
 */
export function wholeHistory(read: TurnsRead | undefined, maxBytes: number): Turn[] {
  if (!read?.isCut) return withOpenParts(read?.turns ?? [])
  const { length } = read.turns
  throw InvalidInput.at('limit', `the newest turns have more than ${maxBytes} bytes; ask for at most ${length} at once`)
}

/**
 * Returns the filter for the turns that changed after the entry `sinceSeq`, and a lower bound of their positions, so
 * that older turns are not read. The bound is not below `after`.
 */
async function changedSince(
  { pool }: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  { sinceSeq, after }: { sinceSeq: number | null | undefined; after: TurnPosition | null },
) {
  if (!sinceSeq || (after !== null && after.position >= sinceSeq)) return { after, sinceSeq }
  const { firstPosition, closedIds } = await readChangesSince(pool, viewer, conversationIds, sinceSeq)
  const bound = firstPosition === null ? { position: sinceSeq, seq: MAX_SEQ } : { position: firstPosition, seq: 0 }
  return { after: after !== null && after.position >= bound.position ? after : bound, sinceSeq, closedIds }
}

/**
 * Returns the requested page, the options of the statement that reads it, and `sinceSeq`, which needs a separate
 * statement (changedSince). @throws InvalidInput
 */
function requestOf({ limits }: Pick<Platform, 'limits'>, conversations: number, args: TurnsArgs) {
  const page = paging(args, limits.pageSize)
  const { sinceSeq, ...filter } = parse(turnFilter, args.filter ?? {})
  const includeSuperseded = args.includeSuperseded ?? false
  // If superseded versions are not listed, a cursor is before or after all versions of its turn.
  const edge = (version: TurnPosition, seq: number) => (includeSuperseded ? version : { ...version, seq })
  const turns: TurnPage = {
    limit: page.size + 1,
    maxBytes: shareOf(PAGE_BYTES, conversations),
    from: page.backwards ? 'newest' : 'oldest',
    after: page.after == null ? null : edge(CURSOR.decode(page.after, 'after'), MAX_SEQ),
    before: page.before == null ? null : edge(CURSOR.decode(page.before, 'before'), 0),
    includeSuperseded,
    ...filter,
  }
  return { page, turns, sinceSeq }
}

/** The requested page, and the options of the statement that reads it. */
type TurnsRequest = { page: PageRequest; turns: TurnPage }

/** Like `requestOf`, but applies the filter `sinceSeq`, with a statement of its own. @throws InvalidInput */
async function pageRequestOf(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: TurnsArgs,
): Promise<TurnsRequest> {
  const { page, turns, sinceSeq } = requestOf(deps, conversationIds.length, args)
  const readIds = withinReach(viewer, conversationIds)
  const changed = await changedSince(deps, viewer, readIds, { sinceSeq, after: turns.after ?? null })
  return { page, turns: { ...turns, ...changed } }
}

/**
 * A page of turns that was rendered as JSON. `items` has the positions of the first and the last turn if the template
 * has `withEnds`; otherwise it is empty.
 */
export type TurnJsonPage = RenderedPage<TurnPosition>

/** A page of each conversation, by id. */
function pagesRead(
  viewer: Viewer,
  conversationIds: readonly string[],
  { page, turns }: TurnsRequest,
): Read<Map<string, Page<Turn>>> {
  const pageOf = (read: TurnsRead | undefined) => slice(withOpenParts(read?.turns ?? []), page, read?.isCut)
  return mapRead(
    turnPagesRead(viewer, withinReach(viewer, conversationIds), turns),
    (reads) => new Map(conversationIds.map((id) => [id, pageOf(reads.get(id))])),
  )
}

/** A rendered page of each conversation, by id. Conversations that the viewer does not see have no key. */
function jsonPagesRead(
  viewer: Viewer,
  conversationIds: readonly string[],
  { page, turns }: TurnsRequest,
  template: TurnTemplate,
): Read<Map<string, TurnJsonPage>> {
  const pageOf = ({ json, count, isMore, ends }: TurnJsonRead) => ({
    items: ends,
    ...neighbours(page, isMore),
    list: new JsonText(json, 1 + count * template.values),
  })
  return mapRead(
    turnJsonPagesRead(viewer, withinReach(viewer, conversationIds), turns, template),
    (reads) => new Map([...reads].map(([id, read]) => [id, pageOf(read)])),
  )
}

/**
 * Returns a page of each conversation's turns in the viewer's view, oldest first. Unknown conversations get an empty
 * page. A page has fewer turns than requested if more would exceed PAGE_BYTES, or the conversation's share of it; it
 * has at least one turn if there is any. `filter.sinceSeq` selects the turns whose newest version was written,
 * committed or aborted after that entry; with `includeSuperseded`, it selects individual versions instead.
 * @throws InvalidInput
 */
export async function pageOfTurns(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: TurnsArgs,
): Promise<Map<string, Page<Turn>>> {
  authorize(viewer, 'pageOfTurns')
  requireStrings(conversationIds, 'conversationIds')
  const request = await pageRequestOf(deps, viewer, conversationIds, args)
  return readOne(deps.pool, viewer.tenant, pagesRead(viewer, conversationIds, request))
}

/**
 * Like `pageOfTurns`, but the turns are rendered as JSON. Conversations that the viewer does not see have no key.
 * @throws InvalidInput
 */
export async function pageOfTurnJson(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  { args, template }: { args: TurnsArgs; template: TurnTemplate },
): Promise<Map<string, TurnJsonPage>> {
  authorize(viewer, 'pageOfTurnJson')
  const request = await pageRequestOf(deps, viewer, conversationIds, args)
  return readOne(deps.pool, viewer.tenant, jsonPagesRead(viewer, conversationIds, request, template))
}

/** A conversation with a page of its turns. If the viewer does not see it, `conversation` is null and the page is empty. */
export type ConversationWithTurns = { conversation: Conversation | null; turns: Page<Turn> | TurnJsonPage }

/**
 * Returns the conversations, each with a page of its turns, in the order of the ids. Does the work of
 * `getConversations` and of `pageOfTurns`, or of `pageOfTurnJson` if there is a template, in one round trip. Ignores `filter.sinceSeq`, which needs an earlier read.
 * @param template renders the turns as JSON; null for objects
 * @throws InvalidInput
 */
export async function getConversationsWithTurns(
  deps: Platform,
  viewer: Viewer,
  ids: readonly string[],
  { args, template }: { args: TurnsArgs; template: TurnTemplate | null },
): Promise<ConversationWithTurns[]> {
  authorize(viewer, 'getConversationsWithTurns')
  const request = requestOf(deps, ids.length, args)
  const [conversations, pages] = await readAll(deps.pool, viewer.tenant, [
    conversationsOf(viewer, ids),
    template ? jsonPagesRead(viewer, ids, request, template) : pagesRead(viewer, ids, request),
  ])
  return ids.map((id) => ({ conversation: conversations.get(id) ?? null, turns: pages.get(id) ?? NO_PAGE }))
}

const historyArgs = z
  .object({ limit: count.nullish(), beforePosition: count.nullish(), afterPosition: count.nullish() })
  .refine(({ beforePosition, afterPosition }) => beforePosition == null || afterPosition == null, {
    path: ['afterPosition'],
    message: 'is exclusive with beforePosition',
  })
export type HistoryArgs = z.input<typeof historyArgs>

/** The page of a history: at most `size` items, all of them before or after a position if it is not null. */
export type HistoryPage = { size: number; before: number | null; after: number | null }

/** Returns the page that the arguments request. @throws InvalidInput */
export function historyPage({ limits }: Pick<Platform, 'limits'>, args: HistoryArgs): HistoryPage {
  const { limit, beforePosition, afterPosition } = parse(historyArgs, args)
  const size = limit ?? Math.min(DEFAULT_PAGE_SIZE, limits.pageSize)
  if (size < 1 || size > limits.pageSize) {
    throw InvalidInput.at('limit', `is ${size}; it must be 1 to ${limits.pageSize}`)
  }
  return { size, before: beforePosition ?? null, after: afterPosition ?? null }
}

/**
 * Returns turns of each conversation, oldest first, at most `limit`: those that follow `afterPosition` if it is given,
 * or else the newest ones, with a position below `beforePosition` if that is given.
 * @throws InvalidInput, also if the turns would exceed HISTORY_BYTES, or the conversation's share of it
 */
export async function history(
  deps: Platform,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: HistoryArgs,
): Promise<Map<string, Turn[]>> {
  authorize(viewer, 'history')
  requireStrings(conversationIds, 'conversationIds')
  const { size, before, after } = historyPage(deps, args)
  const maxBytes = shareOf(HISTORY_BYTES, conversationIds.length)
  const read = await pageTurns(deps.pool, viewer, withinReach(viewer, conversationIds), {
    limit: size,
    maxBytes,
    from: after === null ? 'newest' : 'oldest',
    after: after === null ? null : { position: after, seq: MAX_SEQ },
    before: before === null ? null : { position: before, seq: 0 },
  })
  const ordered = (turns: Turn[]) => (after === null ? turns.toReversed() : turns)
  return new Map(
    conversationIds.map((conversationId) => [
      conversationId,
      ordered(wholeHistory(read.get(conversationId), maxBytes)),
    ]),
  )
}

/**
 * Returns the number of committed turns and their tokens in the viewer's view of each conversation; newest versions
 * only.
 */
export async function countOfTurns(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, TurnCount>> {
  authorize(viewer, 'countOfTurns')
  return countTurns(pool, viewer, withinReach(viewer, conversationIds))
}
