// Lists conversations in pages: defines the filter, the orders and their cursors.

import { z } from 'zod'
import { pageConversations, type ConversationOrder } from '../../store/sql/conversation/conversations.ts'
import { authorize } from '../kernel/rights/authorize.ts'
import { cursorFormat, type CursorFormat } from '../kernel/cursor.ts'
import type { Platform } from '../kernel/platform.ts'
import { name, parse, text, time } from '../kernel/input.ts'
import { metadataFilter } from '../kernel/metadata-filter.ts'
import { paging, slice, type Page, type Paging } from '../kernel/page.ts'
import { toConversation, type Conversation } from './conversation.ts'
import type { Viewer } from '../kernel/view.ts'

/** Maximum length of the text to search titles for, in characters. */
export const MAX_SEARCH = 200

const conversationFilter = z.object({
  owner: name.nullish(),
  agentName: name.nullish(),
  participant: name.nullish(),
  metadata: metadataFilter.nullish(),
  hasUnread: z.boolean().nullish(),
  updatedAfter: time.nullish(),
  updatedBefore: time.nullish(),
  search: text(MAX_SEARCH).nullish(),
})
export type ConversationFilter = z.input<typeof conversationFilter>

/** `orderBy` defaults to CREATED_AT. */
export type ConversationsArgs = Paging & { filter?: ConversationFilter | null; orderBy?: ConversationOrder | null }

/** `at` is `createdAt` or `updatedAt`, depending on the order. */
type Position = { at: Date; id: string }

const cursorIn = (order: ConversationOrder) =>
  cursorFormat<Position>(
    ({ at, id: conversationId }) => `${order}:${at.getTime()}:${conversationId}`,
    new RegExp(`^${order}:(\\d{1,15}):(conv_\\w{26})$`),
    (at, conversationId) => ({ at: new Date(Number(at)), id: conversationId }),
    'this list in this order',
  )
const CURSORS: Record<ConversationOrder, CursorFormat<Position>> = {
  CREATED_AT: cursorIn('CREATED_AT'),
  UPDATED_AT: cursorIn('UPDATED_AT'),
}

/** Returns the cursor of a conversation in a list in the given order. */
export function conversationCursor(conversation: Conversation, order: ConversationOrder): string {
  const at = order === 'CREATED_AT' ? conversation.createdAt : conversation.updatedAt
  return CURSORS[order].encode({ at, id: conversation.id })
}

/**
 * Returns a page of the visible conversations that match the filter, newest first. In CREATED_AT order, concurrent
 * writes cannot make a page repeat or miss a conversation. In UPDATED_AT order, a conversation with a new entry moves
 * to the front.
 * @throws InvalidInput
 */
export async function getConversationPage(
  deps: Platform,
  viewer: Viewer,
  args: ConversationsArgs,
): Promise<Page<Conversation>> {
  authorize(viewer, 'getConversationPage')
  const page = paging(args, deps.limits.pageSize)
  const filter = parse(conversationFilter, args.filter ?? {})
  const order = args.orderBy ?? 'CREATED_AT'
  const rows = await pageConversations(deps.pool, viewer, {
    ...filter,
    ids: viewer.principal?.conversations ? [...viewer.principal.conversations] : null,
    order,
    limit: page.size + 1,
    from: page.backwards ? 'oldest' : 'newest',
    after: page.after == null ? null : CURSORS[order].decode(page.after, 'after'),
    before: page.before == null ? null : CURSORS[order].decode(page.before, 'before'),
  })
  return slice(rows.map(toConversation), page)
}
