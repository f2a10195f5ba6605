// How fields of many parents become one statement: what is asked for while the executor walks one level is loaded
// together, for each viewer and arguments. Nothing is kept beyond its batch: the next mutation of a document, or the
// next event of a subscription, sees the world as it is then.

import DataLoader from 'dataloader'
import { getConversations, type Conversation } from '../domain/conversation.ts'
import type { Deps } from '../domain/deps.ts'
import type { PresenceState } from '../domain/presence-state.ts'
import type { Page } from '../domain/page.ts'
import { getFactPages, getFacts, type Fact, type FactsOfConversationArgs } from '../domain/fact/fact.ts'
import { getParticipants, getUnreadCounts, type Participant } from '../domain/participant.ts'
import { getPresence } from '../domain/presence.ts'
import { historyWithSummaries, summarizedThrough } from '../domain/summary/history.ts'
import { coveringSummaries, getSummaries, type Summary } from '../domain/summary/summary.ts'
import { countOfTurns, history, pageOfTurns, type HistoryArgs, type TurnsArgs } from '../domain/turn/history.ts'
import { getNextVersions, getPreviousVersions, getTurns, type Turn } from '../domain/turn/turn.ts'
import type { Viewer } from '../domain/view.ts'
import { NotFound } from '../errors.ts'
import type { RequestContext } from './request.ts'

type Load<Key, Args, Value> = (context: RequestContext, viewer: Viewer, key: Key, args: Args) => Promise<Value>

/** Loads by a function from keys to values in their order. */
function inOrder<Key, Args, Value>(
  name: string,
  load: (deps: Deps, viewer: Viewer, keys: readonly Key[], args: Args) => Promise<readonly Value[]>,
  keyOf: (key: Key) => string,
): Load<Key, Args, Value> {
  return ({ deps, loaders }, viewer, key, args) => {
    // Names hold no U+0000 (domain/input.ts), so the parts cannot run into each other.
    const group = `${name}\0${viewer.tenant}\0${viewer.actor}\0${args === undefined ? '' : JSON.stringify(args)}`
    let loader = loaders.get(group) as DataLoader<Key, Value, string> | undefined
    if (!loader) {
      const made: DataLoader<Key, Value, string> = new DataLoader<Key, Value, string>(
        (keys) => {
          made.clearAll()
          return load(deps, viewer, keys, args)
        },
        { cacheKeyFn: keyOf },
      )
      loaders.set(group, (loader = made))
    }
    return loader.load(key)
  }
}

/** Loads by a function that gives a Map; `missing` stands for what has no key in it. */
const byId = <Args, Value, Missing>(
  name: string,
  load: (deps: Deps, viewer: Viewer, ids: readonly string[], args: Args) => Promise<ReadonlyMap<string, Value>>,
  missing: Missing,
): Load<string, Args, Value | Missing> =>
  inOrder<string, Args, Value | Missing>(
    name,
    async (deps, viewer, ids, args) => {
      const found = await load(deps, viewer, ids, args)
      return ids.map((id) => found.get(id) ?? missing)
    },
    (id) => id,
  )

type Simple<Value> = (context: RequestContext, viewer: Viewer, id: string) => Promise<Value>
const simple =
  <Value>(load: Load<string, undefined, Value>): Simple<Value> =>
  (context, viewer, id) =>
    load(context, viewer, id, undefined)

/** The conversation, or null where the viewer sees none. */
export const loadConversation = simple<Conversation | null>(byId('conversation', getConversations, null))

/** The conversation that something is in. @throws NotFound when it has been deleted meanwhile */
export async function loadConversationOf(
  context: RequestContext,
  { conversationId, viewer }: { conversationId: string; viewer: Viewer },
): Promise<Conversation> {
  const conversation = await loadConversation(context, viewer, conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  return conversation
}

/** The turn, or null where the viewer sees none. */
export const loadTurn = simple<Turn | null>(byId('turn', getTurns, null))

/** What superseded the turn, as far as the viewer sees it. */
export const loadNextVersion = simple<Turn | null>(byId('next version', getNextVersions, null))

/** What the turn superseded, as far as the viewer sees it. */
export const loadPreviousVersion = simple<Turn | null>(byId('previous version', getPreviousVersions, null))

/** Committed turns in the viewer's view of the conversation, and their tokens. */
export const loadTurnCount = simple(byId('turn count', countOfTurns, { turnCount: 0, tokenCount: 0 }))

/** Who is or was in the conversation, by joining. */
export const loadParticipants = simple<Participant[]>(byId('participants', getParticipants, []))

const NONE: Page<never> = { items: [], hasNextPage: false, hasPreviousPage: false }

/** A page of the conversation's turns in the viewer's view. */
export const loadPageOfTurns: Load<string, TurnsArgs, Page<Turn>> = byId('page of turns', pageOfTurns, NONE)

/** The conversation's newest turns in the viewer's view, oldest first. */
export const loadHistory: Load<string, HistoryArgs, Turn[]> = byId('history', history, [])

/** The conversation's newest turns and the summaries of what came before them, oldest first. */
export const loadHistoryWithSummaries: Load<string, HistoryArgs, (Turn | Summary)[]> = byId(
  'history with summaries',
  historyWithSummaries,
  [],
)

/** The summary, or null where the viewer may have none. */
export const loadSummary = simple<Summary | null>(byId('summary', getSummaries, null))

/** The fact, superseded or not; null where the viewer sees none. */
export const loadFact = simple<Fact | null>(byId('fact', getFacts, null))

/** A page of the conversation's facts in the viewer's view, newest first. */
export const loadPageOfFacts: Load<string, FactsOfConversationArgs, Page<Fact>> = byId(
  'page of facts',
  getFactPages,
  NONE,
)

/** The summaries that stand for the conversation's oldest turns, oldest first. */
export const loadSummaries = simple<Summary[]>(byId('summaries', coveringSummaries, []))

/** The last turn that they stand for. */
export const loadSummarizedThrough = simple<Turn | null>(byId('summarized through', summarizedThrough, null))

type Place = { conversationId: string; actor: string }
const placeKey = ({ conversationId, actor }: Place) => `${conversationId} ${actor}`

const unreadCounts = inOrder<Place, undefined, number>('unread count', getUnreadCounts, placeKey)
const presences = inOrder<Place, undefined, PresenceState>(
  'presence',
  (deps, _, places) => getPresence(deps, places),
  placeKey,
)

/** Turns of others that the participant has not read, and that the viewer sees too. */
export const loadUnreadCount = (context: RequestContext, viewer: Viewer, place: Place) =>
  unreadCounts(context, viewer, place, undefined)

export const loadPresence = (context: RequestContext, viewer: Viewer, place: Place) =>
  presences(context, viewer, place, undefined)
