// Batches the fields of many parents into one statement: the keys that the executor asks for on one level are loaded
// together, per viewer and arguments, and what is loaded carries that viewer to the fields below it. Nothing is cached beyond
// its batch: the next mutation of a document, or the next event of a subscription, reads again.

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
import { readFor } from './inherited-view.ts'
import type { RequestContext } from './request.ts'

type Load<Key, Args, Value> = (context: RequestContext, viewer: Viewer, key: Key, args: Args) => Promise<Value>

/** The objects of a loaded value whose fields are read for the same viewer. */
type ObjectsOf<Value> = (value: Value) => readonly object[]

const none = () => []
const itself = (value: object | null) => (value === null ? [] : [value])
const each = (values: readonly object[]) => values
const items = ({ items }: Page<object>) => items

/** Loads by a function from keys to values in their order. */
function inOrder<Key, Args, Value>(
  name: string,
  load: (deps: Deps, viewer: Viewer, keys: readonly Key[], args: Args) => Promise<readonly Value[]>,
  objectsOf: ObjectsOf<Value>,
  keyOf: (key: Key) => string,
): Load<Key, Args, Value> {
  return (context, viewer, key, args) => {
    const { deps, loaders } = context
    // Names hold no U+0000 (domain/input.ts), so the parts cannot run into each other.
    const group = `${name}\0${viewer.tenant}\0${viewer.actor}\0${args === undefined ? '' : JSON.stringify(args)}`
    let loader = loaders.get(group) as DataLoader<Key, Value, string> | undefined
    if (!loader) {
      const made: DataLoader<Key, Value, string> = new DataLoader<Key, Value, string>(
        async (keys) => {
          made.clearAll()
          const values = await load(deps, viewer, keys, args)
          return readFor(context, viewer, values, (all) => all.flatMap(objectsOf))
        },
        { cacheKeyFn: keyOf },
      )
      loaders.set(group, (loader = made))
    }
    return loader.load(key)
  }
}

/** Loads by a function that gives a Map; `missing` is the value of a key that it does not have. */
const byId = <Args, Value, Missing>(
  name: string,
  load: (deps: Deps, viewer: Viewer, ids: readonly string[], args: Args) => Promise<ReadonlyMap<string, Value>>,
  objectsOf: ObjectsOf<Value | Missing>,
  missing: Missing,
): Load<string, Args, Value | Missing> =>
  inOrder<string, Args, Value | Missing>(
    name,
    async (deps, viewer, ids, args) => {
      const found = await load(deps, viewer, ids, args)
      return ids.map((id) => found.get(id) ?? missing)
    },
    objectsOf,
    (id) => id,
  )

type Simple<Value> = (context: RequestContext, viewer: Viewer, id: string) => Promise<Value>
const simple =
  <Value>(load: Load<string, undefined, Value>): Simple<Value> =>
  (context, viewer, id) =>
    load(context, viewer, id, undefined)

/** The conversation, or null where the viewer sees none. */
export const loadConversation = simple<Conversation | null>(byId('conversation', getConversations, itself, null))

/** The conversation that something is in. @throws NotFound when it has been deleted meanwhile */
export async function loadConversationOf(
  context: RequestContext,
  viewer: Viewer,
  conversationId: string,
): Promise<Conversation> {
  const conversation = await loadConversation(context, viewer, conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  return conversation
}

/** The turn, or null where the viewer sees none. */
export const loadTurn = simple<Turn | null>(byId('turn', getTurns, itself, null))

/** What superseded the turn, as far as the viewer sees it. */
export const loadNextVersion = simple<Turn | null>(byId('next version', getNextVersions, itself, null))

/** What the turn superseded, as far as the viewer sees it. */
export const loadPreviousVersion = simple<Turn | null>(byId('previous version', getPreviousVersions, itself, null))

/** Committed turns in the viewer's view of the conversation, and their tokens. */
export const loadTurnCount = simple(byId('turn count', countOfTurns, none, { turnCount: 0, tokenCount: 0 }))

/** Who is or was in the conversation, by joining. */
export const loadParticipants = simple<Participant[]>(byId('participants', getParticipants, each, []))

const NONE: Page<never> = { items: [], hasNextPage: false, hasPreviousPage: false }

/** A page of the conversation's turns in the viewer's view. */
export const loadPageOfTurns: Load<string, TurnsArgs, Page<Turn>> = byId('page of turns', pageOfTurns, items, NONE)

/** The conversation's newest turns in the viewer's view, oldest first. */
export const loadHistory: Load<string, HistoryArgs, Turn[]> = byId('history', history, each, [])

/** The conversation's newest turns and the summaries of what came before them, oldest first. */
export const loadHistoryWithSummaries: Load<string, HistoryArgs, (Turn | Summary)[]> = byId(
  'history with summaries',
  historyWithSummaries,
  each,
  [],
)

/** The summary, or null where the viewer may have none. */
export const loadSummary = simple<Summary | null>(byId('summary', getSummaries, itself, null))

/** The fact, superseded or not; null where the viewer sees none. */
export const loadFact = simple<Fact | null>(byId('fact', getFacts, itself, null))

/** A page of the conversation's facts in the viewer's view, newest first. */
export const loadPageOfFacts: Load<string, FactsOfConversationArgs, Page<Fact>> = byId(
  'page of facts',
  getFactPages,
  items,
  NONE,
)

/** The summaries that stand for the conversation's oldest turns, oldest first. */
export const loadSummaries = simple<Summary[]>(byId('summaries', coveringSummaries, each, []))

/** The last turn that they stand for. */
export const loadSummarizedThrough = simple<Turn | null>(byId('summarized through', summarizedThrough, itself, null))

type Place = { conversationId: string; actor: string }
const placeKey = ({ conversationId, actor }: Place) => `${conversationId} ${actor}`

const unreadCounts = inOrder<Place, undefined, number>('unread count', getUnreadCounts, none, placeKey)
const presences = inOrder<Place, undefined, PresenceState>(
  'presence',
  (deps, _, places) => getPresence(deps, places),
  none,
  placeKey,
)

/** Turns of others that the participant has not read, and that the viewer sees too. */
export const loadUnreadCount = (context: RequestContext, viewer: Viewer, place: Place) =>
  unreadCounts(context, viewer, place, undefined)

export const loadPresence = (context: RequestContext, viewer: Viewer, place: Place) =>
  presences(context, viewer, place, undefined)
