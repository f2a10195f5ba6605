// Reads the recent turns of a context, as many as may fit, and the turns that it keeps regardless of their age.

import {
  keptTurnsRead,
  readChangedTurns,
  readRecentTurns,
  readTurnsAt,
  recentTurnsRead,
} from '../../../../store/sql/memory/context/context-turns.ts'
import type { ConversationRow } from '../../../../store/sql/conversation/conversations.ts'
import type { RecallDeps } from '../../recall/deps.ts'
import { isDamaged, partsOf } from '../../../turn/content.ts'
import type { Turn } from '../../../turn/turn.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { MESSAGE_OVERHEAD } from '../budget/budget.ts'
import { hasContent, matchCalls } from '../perspective.ts'
import type { TurnsToRead } from './turn-guesses.ts'

/** The end of a context: it has no turn at the position `before` or after it, except those at the positions `own`. */
export type ContextEnd = { before: number; own: readonly number[] }

/** Whether the position precedes the end. Null for a context without an end. */
export const precedes = (end: ContextEnd | null, position: number): boolean => end === null || position < end.before

/** The turns that a context may contain. */
export type TurnRequest = {
  conversationId: string
  /** Where the context ends; null for the newest turn. */
  end: ContextEnd | null
  tokenBudget: number
  /** Maximum number of turns in the window. */
  windowTurns: number
  /**
   * Seq of an entry. If set, reads only turns whose newest version was written, committed or aborted after the entry,
   * and no summaries. Null for all turns.
   */
  sinceSeq: number | null
  /**
   * If set, reads only turns of these actors, the results of their tool calls, and instructions, and no summaries. Null
   * for all actors.
   */
  actors: readonly string[] | null
}

/** Minimum and maximum number of turns per read. */
const MIN_TURNS = 16
const MAX_TURNS = 1000
/** Minimum token limit of one read, so that long turns need few reads. A greater token budget takes precedence. */
const MIN_TOKENS = 100_000
/** Number of turns read after which the search for the tool call of the newest turn stops. */
const CALL_REACH = 256
/** Greater than every position. */
const MAX_POSITION = 2 ** 31 - 1

/** The turns to read, and the first page of them, which has been read: at most `limit` turns. */
type BegunRead = TurnsToRead & { first: readonly Turn[] }

/** Turns, newest first. `complete` is false if older turns were not read. */
type TurnPages = { turns: Turn[]; complete: boolean }

/**
 * Returns the limit of the first page of recent turns. One page of this size usually suffices: it is estimated from the
 * average token count, and rounded up to a multiple of MIN_TURNS, so that appending turns rarely changes it.
 */
export function firstLimit(conversation: ConversationRow, { tokenBudget, windowTurns }: TurnRequest): number {
  const average = conversation.publicTurnCount > 0 ? conversation.publicTokenCount / conversation.publicTurnCount : 0
  const fitting = tokenBudget / (average + MESSAGE_OVERHEAD) + 1
  const estimate = Math.min(windowTurns + 1, Math.ceil(fitting / MIN_TURNS) * MIN_TURNS)
  return Math.max(MIN_TURNS, Math.min(MAX_TURNS, estimate))
}

/** Returns the position before which turns are read. */
const endOf = ({ end }: TurnRequest) => end?.before ?? MAX_POSITION

/** Returns the token limit of one read of turns. */
const tokensPerRead = ({ tokenBudget }: TurnRequest) => Math.max(MIN_TOKENS, tokenBudget)

/** Returns the reads of the first page of recent turns, and of the kept turns. */
export const turnsRead = (viewer: Viewer, request: TurnRequest, { after, limit, covered }: TurnsToRead) => {
  const { conversationId, actors, tokenBudget } = request
  const before = endOf(request)
  const page = { after, before, actors, limit, tokens: tokensPerRead(request) }
  return [
    recentTurnsRead(viewer, conversationId, page),
    keptTurnsRead(viewer, conversationId, { covered, before, tokens: tokenBudget }),
  ] as const
}

/**
 * Reads the conversation's newest turns after a position, as many as may fit. Also reads the tool call that the newest
 * turn answers.
 */
async function readAfter(
  deps: RecallDeps,
  viewer: Viewer,
  request: TurnRequest,
  toRead: BegunRead,
): Promise<TurnPages> {
  const { conversationId, tokenBudget, windowTurns, actors } = request
  const maxTokens = tokensPerRead(request)
  let { limit } = toRead
  const read: Turn[] = []
  let tokens = 0
  let page = toRead.first
  for (;;) {
    read.push(...page)
    tokens += page.reduce((sum, { tokenCount }) => sum + tokenCount + MESSAGE_OVERHEAD, 0)
    const pageTokens = page.reduce((sum, { tokenCount }) => sum + tokenCount, 0)
    const complete = page.length < limit && pageTokens <= maxTokens
    const recent = ofActors(read.filter(hasContent).toReversed(), actors)
    const isFull = tokens > tokenBudget || recent.length > windowTurns
    if (complete || (isFull && !lacksCall(recent, read))) return { turns: read, complete }
    limit = Math.min(MAX_TURNS, limit * 2)
    const before = read.at(-1)!.position
    const next = { after: toRead.after, before, actors, limit, tokens: maxTokens }
    page = await readRecentTurns(deps.pool, viewer, conversationId, next)
  }
}

/** Reads turns up to position `since` whose newest version was written, committed or aborted after the entry `since`. */
async function readChanged(deps: RecallDeps, viewer: Viewer, request: TurnRequest, since: number): Promise<TurnPages> {
  const maxTokens = tokensPerRead(request)
  const limits = { actors: request.actors, limit: MAX_TURNS, tokens: maxTokens }
  const turns = await readChangedTurns(deps.pool, viewer, request.conversationId, { since, ...limits })
  const tokens = turns.reduce((sum, { tokenCount }) => sum + tokenCount, 0)
  return { turns, complete: turns.length < MAX_TURNS && tokens <= maxTokens }
}

/**
 * Reads the turns of the window, as many as may fit; returns them oldest first. `complete` is false if older turns were
 * not read. Reads the newest turn before the end even if a summary covers it. `isShortened`: retention removed the content of a turn, so
 * that only its summary is left.
 */
export async function readRecent(
  deps: RecallDeps,
  viewer: Viewer,
  request: TurnRequest,
  toRead: BegunRead,
): Promise<{ recent: Turn[]; complete: boolean; isShortened: boolean; damaged: Turn[] }> {
  const { sinceSeq, actors, end, conversationId } = request
  const later = await readAfter(deps, viewer, request, toRead)
  const earlier =
    sinceSeq && later.complete ? await readChanged(deps, viewer, request, sinceSeq) : { turns: [], complete: true }
  const own = end && end.own.length > 0 ? await readTurnsAt(deps.pool, viewer, conversationId, end.own) : []
  const read = [...own, ...later.turns, ...earlier.turns.filter(({ position }) => precedes(end, position))]
  const recent = ofActors(read.filter(hasContent).toReversed(), actors)
  return {
    recent: recent.length === 0 && toRead.covered > 0 ? await readNewest(deps, viewer, request) : recent,
    complete: later.complete && earlier.complete,
    isShortened: read.some(({ removedAt }) => removedAt !== null),
    damaged: read.filter(isDamaged),
  }
}

/** Reads the conversation's newest turn. If it answers a tool call, also reads the call and its other results. */
async function readNewest(deps: RecallDeps, viewer: Viewer, request: TurnRequest): Promise<Turn[]> {
  const limits = { after: 0, before: endOf(request), actors: null, limit: CALL_REACH, tokens: tokensPerRead(request) }
  const page = await readRecentTurns(deps.pool, viewer, request.conversationId, limits)
  const turns = page.filter(hasContent).toReversed()
  const group = matchCalls(turns).groups.get(turns.length - 1) ?? []
  return group.map((index) => turns[index]!)
}

/** Returns the actors' turns, and the turns with results of tool calls in the list. */
function ofActors(turns: Turn[], actors: readonly string[] | null): Turn[] {
  if (actors === null) return turns
  const { callTurns } = matchCalls(turns)
  const answers = new Set([...callTurns.keys()].map((key) => Number(key.split(':')[0])))
  return turns.filter(({ actor }, index) => actors.includes(actor) || answers.has(index))
}

/** Whether the newest turn answers a call of a turn that was not read, and fewer than CALL_REACH turns were read. */
function lacksCall(recent: readonly Turn[], read: readonly Turn[]): boolean {
  const newest = recent.at(-1)
  const oldest = read.at(-1)
  if (!newest || !oldest || read.length >= CALL_REACH) return false
  return partsOf(newest).some(
    (part) => part.type === 'toolResult' && (part.callPosition ?? oldest.position) < oldest.position,
  )
}
