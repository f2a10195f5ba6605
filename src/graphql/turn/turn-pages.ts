// Loads pages of turns: as objects, or as JSON if there is a template (turn-json.ts). A query can read the page together
// with its conversation, or without it.

import type { Conversation } from '../../domain/conversation/conversation.ts'
import { NO_PAGE, type Page } from '../../domain/kernel/page.ts'
import {
  getConversationsWithTurns,
  pageOfTurnJson,
  pageOfTurns,
  type ConversationWithTurns,
  type TurnJsonPage,
  type TurnsArgs,
} from '../../domain/turn/history.ts'
import type { TurnTemplate } from '../../domain/turn/turn-json.ts'
import type { Turn } from '../../domain/turn/turn.ts'
import { InvalidInput } from '../../errors.ts'
import { byId, inOrder, type Load } from '../kernel/batch.ts'
import { loadConversation } from '../kernel/loaders.ts'
import type { RequestContext } from '../kernel/request.ts'

const pages: Load<string, TurnsArgs, Page<Turn>> = byId('page of turns', pageOfTurns, NO_PAGE)

type Rendering = { args: TurnsArgs; template: TurnTemplate }
const jsonPages: Load<string, Rendering, TurnJsonPage | null> = byId(
  'page of turns as JSON',
  (deps, viewer, ids, request) => pageOfTurnJson(deps, viewer, ids, request),
  null,
)

/** The arguments of a page of turns, and its template if the turns are rendered as JSON. */
type PageArgs = { args: TurnsArgs; template: TurnTemplate | null }

const pageKey = (id: string, request: PageArgs) => `${id} ${JSON.stringify(request)}`

/**
 * A page of the conversation's turns in the viewer's view. A page that was read with its conversation is not read again.
 */
export function loadPageOfTurns(context: RequestContext, id: string, args: TurnsArgs): Promise<Page<Turn>>
/** @param template renders the turns as JSON; null for objects */
export function loadPageOfTurns(
  context: RequestContext,
  id: string,
  args: TurnsArgs,
  template: TurnTemplate | null,
): Promise<Page<Turn> | TurnJsonPage>
export async function loadPageOfTurns(
  context: RequestContext,
  id: string,
  args: TurnsArgs,
  template: TurnTemplate | null = null,
): Promise<Page<Turn> | TurnJsonPage> {
  const read = context.turnsAhead?.get(pageKey(id, { args, template }))
  if (read) return context.work.pace(read)
  return template ? ((await jsonPages(context, id, { args, template })) ?? NO_PAGE) : pages(context, id, args)
}

/** Keeps the page for `loadPageOfTurns`. Only for queries: a mutation could change the page before it is used. */
function keepPage(context: RequestContext, id: string, request: PageArgs, page: Page<Turn> | TurnJsonPage): void {
  context.turnsAhead ??= new Map()
  context.turnsAhead.set(pageKey(id, request), page)
}

const conversationsWithTurns: Load<string, PageArgs, ConversationWithTurns> = inOrder(
  'conversation with turns',
  (deps, viewer, ids, request) => getConversationsWithTurns(deps, viewer, ids, request),
  (id) => id,
)

/**
 * The conversation; null if it does not exist or the viewer cannot see it. Reads a page of its turns as well, and keeps
 * the page for `loadPageOfTurns`.
 */
export async function loadConversationWithTurns(
  context: RequestContext,
  id: string,
  request: PageArgs,
): Promise<Conversation | null> {
  try {
    const { conversation, turns } = await conversationsWithTurns(context, id, request)
    keepPage(context, id, request, turns)
    return conversation
  } catch (error) {
    // The field `turns` reports its invalid arguments.
    if (error instanceof InvalidInput) return loadConversation(context, id)
    throw error
  }
}

/**
 * Like `loadConversationWithTurns`, for a query that selects only the conversation's turns and id. Does not read the
 * conversation unless the arguments are invalid.
 */
export async function loadOnlyTurns(
  context: RequestContext,
  id: string,
  request: Rendering,
): Promise<Pick<Conversation, 'id'> | null> {
  try {
    const page = await jsonPages(context, id, request)
    if (page) keepPage(context, id, request, page)
    return page && { id }
  } catch (error) {
    if (error instanceof InvalidInput) return loadConversation(context, id)
    throw error
  }
}
