// Reads stored contexts, and the turns that were generated from them. A context is visible only to the actor in whose
// view it was built, while that actor sees the conversation. A message with a source that the actor no longer sees is
// left out, as a message with an erased source is.

import {
  readReplies,
  readStoredContexts,
  type ReplyPosition,
  type ReplyRow,
} from '../../../store/sql/memory/context/read-stored-contexts.ts'
import { authorize, isWithinReach } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { kindOf } from '../../kernel/id.ts'
import { requireStrings } from '../../kernel/input.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import type { Platform } from '../../kernel/platform.ts'
import { getTurns, type Turn } from '../../turn/turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import { messagesOf, withoutLost } from './body.ts'
import type { Context, ContextItem } from './message.ts'

/**
 * Returns the stored contexts that the viewer may read, by id, as they were when they were built. Other ids have no
 * key. A credential that is limited to some conversations does not see messages with data from outside them.
 */
export async function getContexts(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<Map<string, Context>> {
  authorize(viewer, 'getContexts')
  requireStrings(ids, 'ids')
  const known = ids.filter((id) => kindOf(id) === 'context')
  if (known.length === 0) return new Map()
  const conversations = viewer.principal?.conversations
  const rows = await readStoredContexts(pool, viewer, known, conversations ? [...conversations] : null)
  return new Map(
    rows
      .filter(({ conversationId }) => isWithinReach(viewer, conversationId))
      .map(({ conversationId: _, messages, items, lost, ...row }) => [
        row.id,
        {
          ...row,
          ...withoutLost(messagesOf(messages), lost),
          items: JSON.parse(items) as ContextItem[],
          profileFacts: new Map(),
        },
      ]),
  )
}

const CURSOR = cursorFormat<ReplyPosition>(
  ({ createdAt, id }) => `${createdAt.getTime()}:${id}`,
  /^(\d{1,15}):(turn_\w{26})$/,
  (createdAt, id) => ({ createdAt: new Date(Number(createdAt)), id }),
)

/** Returns an opaque cursor for the turn's position among those generated from contexts with one source. */
export const replyCursor = (turn: Pick<Turn, 'id' | 'createdAt'>): string => CURSOR.encode(turn)

/**
 * Returns a page for each turn version or fact: the turns that the viewer sees and that were generated from a stored
 * context with that source, oldest first. A source that no visible turn was generated from gets an empty page.
 * @throws InvalidInput
 */
export async function getReplyPages(
  deps: Platform,
  viewer: Viewer,
  sourceIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<Turn>>> {
  authorize(viewer, 'getReplyPages')
  requireStrings(sourceIds, 'sourceIds')
  const page = paging(args, deps.limits.pageSize)
  const rows = await readReplies(deps.pool, viewer, sourceIds, {
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    backwards: page.backwards,
    limit: page.size + 1,
  })
  const rowsOf = new Map<string, ReplyRow[]>(sourceIds.map((id) => [id, []]))
  for (const row of rows) rowsOf.get(row.sourceId)!.push(row)
  const turns = await getTurns(deps, viewer, [...new Set(rows.map(({ id }) => id))])
  return new Map(
    [...rowsOf].map(([sourceId, replies]) => {
      const { items, ...rest } = slice(replies, page)
      return [sourceId, { items: items.flatMap(({ id }) => turns.get(id) ?? []), ...rest }]
    }),
  )
}
