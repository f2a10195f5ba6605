// Reads the material of a context with a few statements. The number of turns read depends on the budget, not on the
// conversation's length. Turns, summaries, facts and profiles are limited to the viewer's view.

import { InvalidInput, NotFound } from '../../errors.ts'
import { readAll, readOne } from '../../store/read.ts'
import {
  keptTurnsRead,
  readChangedTurns,
  readRecentTurns,
  recentTurnsRead,
} from '../../store/sql/context/context-turns.ts'
import { speakersRead, type Speakers } from '../../store/sql/context/speakers.ts'
import { conversationsRead, type ConversationRow } from '../../store/sql/conversation/read-conversations.ts'
import { conversationScopeRead, type ScopeRead } from '../../store/sql/recall/read-scope.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { coveringSummariesRead } from '../summary/summary.ts'
import { isDamaged, partsOf } from '../turn/content.ts'
import type { Turn } from '../turn/turn.ts'
import type { Viewer } from '../view.ts'
import type { ContextMaterial } from './assemble.ts'
import { DEFAULT_SHARES, MESSAGE_OVERHEAD, summariesThatFit } from './budget.ts'
import { distinctNames } from './names.ts'
import { readProfilesAndFacts } from './profiles-and-facts.ts'
import { hasContent, matchCalls } from './perspective.ts'

export type MaterialRequest = {
  conversationId: string
  /** The participant from whose perspective turns are rendered; null keeps each turn's own role. */
  as: string | null
  tokenBudget: number
  /** Maximum number of turns in the window. */
  windowTurns: number
  withSummaries: boolean
  /** Whether to include pinned turns regardless of age. */
  withPinned: boolean
  withProfiles: boolean
  withFacts: boolean
  /** Whether to reserve space for recalled turns. */
  withRecall: boolean
  /** Name of the embedder whose vectors a recall in the conversation searches; null without such a recall. */
  embedder: string | null
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
/** Minimum of the token limit of one read, which is otherwise the token budget. Long turns thus need few reads. */
const MIN_TOKENS = 100_000
/** Maximum number of turns that are searched for the tool call that the newest turn answers. */
const CALL_REACH = 256
/** Greater than every position. */
const MAX_SEQ = 2 ** 31 - 1

/** Turns, newest first. `complete` is false if older turns were not read. */
type TurnsRead = { turns: Turn[]; complete: boolean }

/**
 * Returns the limits of the first page of recent turns. Its size is estimated from the average token count, so that one
 * page usually suffices.
 */
function firstPage(conversation: ConversationRow, { tokenBudget, windowTurns, actors }: MaterialRequest) {
  const average = conversation.publicTurnCount > 0 ? conversation.publicTokenCount / conversation.publicTurnCount : 0
  const estimate = Math.min(windowTurns + 1, Math.ceil(tokenBudget / (average + MESSAGE_OVERHEAD)) + 1)
  const limit = Math.max(MIN_TURNS, Math.min(MAX_TURNS, estimate))
  return { before: MAX_SEQ, actors, limit, tokens: Math.max(MIN_TOKENS, tokenBudget) }
}

/**
 * Reads the conversation's newest turns after a position, as many as may fit. Also reads the tool call that the newest
 * turn answers.
 * @param first the first page of these turns
 */
async function readAfter(
  deps: RecallDeps,
  viewer: Viewer,
  conversation: ConversationRow,
  after: number,
  first: readonly Turn[],
  request: MaterialRequest,
): Promise<TurnsRead> {
  const { tokenBudget, windowTurns, actors } = request
  let { limit, tokens: maxTokens } = firstPage(conversation, request)
  const read: Turn[] = []
  let tokens = 0
  let page = first
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
    page = await readRecentTurns(deps.pool, viewer, conversation.id, {
      after,
      before,
      actors,
      limit,
      tokens: maxTokens,
    })
  }
}

/** Reads turns up to position `since` whose newest version was written, committed or aborted after the entry `since`. */
async function readChanged(
  deps: RecallDeps,
  viewer: Viewer,
  conversationId: string,
  since: number,
  { tokenBudget, actors }: MaterialRequest,
): Promise<TurnsRead> {
  const maxTokens = Math.max(MIN_TOKENS, tokenBudget)
  const limits = { actors, limit: MAX_TURNS, tokens: maxTokens }
  const turns = await readChangedTurns(deps.pool, viewer, conversationId, { since, ...limits })
  const tokens = turns.reduce((sum, { tokenCount }) => sum + tokenCount, 0)
  return { turns, complete: turns.length < MAX_TURNS && tokens <= maxTokens }
}

/**
 * Reads the turns of the window, as many as may fit; returns them oldest first. `complete` is false if older turns were
 * not read.
 * @param after the position after which turns are read
 * @param first the first page of these turns
 */
async function readRecent(
  deps: RecallDeps,
  viewer: Viewer,
  conversation: ConversationRow,
  after: number,
  first: readonly Turn[],
  request: MaterialRequest,
): Promise<{ recent: Turn[]; complete: boolean; damaged: Turn[] }> {
  const { sinceSeq } = request
  const later = await readAfter(deps, viewer, conversation, after, first, request)
  const earlier =
    sinceSeq && later.complete
      ? await readChanged(deps, viewer, conversation.id, sinceSeq, request)
      : { turns: [], complete: true }
  const read = [...later.turns, ...earlier.turns]
  return {
    recent: ofActors(read.filter(hasContent).toReversed(), request.actors),
    complete: later.complete && earlier.complete,
    damaged: read.filter(isDamaged),
  }
}

/** Reads the conversation's newest turn. If it answers a tool call, also reads the call and its other results. */
async function readNewest(
  deps: RecallDeps,
  viewer: Viewer,
  conversationId: string,
  tokenBudget: number,
): Promise<Turn[]> {
  const page = await readRecentTurns(deps.pool, viewer, conversationId, {
    after: 0,
    before: MAX_SEQ,
    actors: null,
    limit: CALL_REACH,
    tokens: Math.max(MIN_TOKENS, tokenBudget),
  })
  const turns = page.filter(hasContent).toReversed()
  const group = matchCalls(turns).groups.get(turns.length - 1) ?? []
  return group.map((index) => turns[index]!)
}

/** Returns the actors' turns, and the turns with results of their tool calls. */
function ofActors(turns: Turn[], actors: readonly string[] | null): Turn[] {
  if (actors === null) return turns
  const { callTurns } = matchCalls(turns)
  const answers = new Set([...callTurns.keys()].map((key) => Number(key.split(':')[0])))
  return turns.filter(({ actor }, index) => actors.includes(actor) || answers.has(index))
}

/** Whether the whole conversation may fit into the window and, by the lowest estimate of its size, into the budget. */
const mayFit = (
  { publicTokenCount, publicTurnCount }: ConversationRow,
  { tokenBudget, windowTurns }: Pick<MaterialRequest, 'tokenBudget' | 'windowTurns'>,
) => publicTurnCount < windowTurns && publicTokenCount + publicTurnCount * MESSAGE_OVERHEAD <= tokenBudget

/** Whether the newest turn answers a call of a turn that was not read, and fewer than CALL_REACH turns were read. */
function lacksCall(recent: readonly Turn[], read: readonly Turn[]): boolean {
  const newest = recent.at(-1)
  const oldest = read.at(-1)
  if (!newest || !oldest || read.length >= CALL_REACH) return false
  return partsOf(newest).some(
    (part) => part.type === 'toolResult' && (part.callPosition ?? oldest.position) < oldest.position,
  )
}

/**
 * Reads the material of a context, the display names of its actors, and the scope of a recall in the conversation.
 * @throws NotFound if the viewer does not see the conversation
 * @throws InvalidInput if `as` or one of the actors was never a participant
 */
export async function readMaterial(
  deps: RecallDeps,
  viewer: Viewer,
  request: MaterialRequest,
): Promise<ContextMaterial & { recent: Turn[]; names: Map<string, string>; scope: ScopeRead | null }> {
  const { conversationId, as, actors, sinceSeq, embedder } = request
  const hasSummaries = request.withSummaries && sinceSeq === null && actors === null
  const [[conversation], summaries, scope] = await readAll(deps.pool, viewer.tenant, [
    conversationsRead(viewer, [conversationId]),
    hasSummaries ? coveringSummariesRead(viewer, conversationId) : null,
    embedder === null ? null : conversationScopeRead(viewer, conversationId, embedder),
  ])
  if (!conversation) throw new NotFound('conversation', conversationId)
  if (as !== null && conversation.viewActor === null) throw InvalidInput.at('as', unknownActor(as))

  const memory = await readProfilesAndFacts(deps, viewer, conversation, request)
  const fitting = summariesThatFit(
    summaries ?? [],
    request.tokenBudget,
    DEFAULT_SHARES,
    request.withRecall,
    memory.tokens,
  )
  const coveredThrough = fitting.taken.at(-1)?.toPosition ?? 0
  const readsAll = coveredThrough > 0 && mayFit(conversation, request)
  const after = sinceSeq ?? (readsAll ? 0 : coveredThrough)
  const [first, candidates, anySpeakers] = await readAll(deps.pool, viewer.tenant, [
    recentTurnsRead(viewer, conversation.id, { after, ...firstPage(conversation, request) }),
    keptTurnsRead(viewer, conversation.id, coveredThrough, request.tokenBudget),
    speakersRead(viewer.tenant, conversation.id, null, as),
  ])
  const {
    recent,
    complete,
    damaged: damagedRecent,
  } = await readRecent(deps, viewer, conversation, after, first, request)
  // The newest turn is included even if a summary covers it.
  if (recent.length === 0 && coveredThrough > 0)
    recent.push(...(await readNewest(deps, viewer, conversation.id, request.tokenBudget)))
  const damaged = [...new Set([...damagedRecent, ...candidates.filter(isDamaged)].map(({ id }) => id))]
  if (damaged.length > 0) deps.log.warn({ conversationId, turnIds: damaged }, 'left out turns with damaged content')
  const kept = candidates.filter(
    (turn) =>
      hasContent(turn)
      && (turn.role === 'SYSTEM' || !actors || actors.includes(turn.actor))
      && (request.withPinned || !isKeptAsPinned(turn)),
  )
  const actorIds = new Set([...recent, ...kept].map(({ actor }) => actor).concat(actors ?? []))
  const { participants, otherCount } = await speakersAmong(deps, viewer, conversation.id, actorIds, as, anySpeakers)
  const missing = (actors ?? []).findIndex((actor) => !participants.some((each) => each.actor === actor))
  if (missing >= 0) throw InvalidInput.at(`filterParticipants.${missing}`, unknownActor(actors![missing]!))

  const names = distinctNames([...memory.people, ...participants])
  const users = new Set(recent.filter(({ role, actor }) => role === 'USER' && actor !== as).map(({ actor }) => actor))
  return {
    systemPrompt: conversation.systemPrompt,
    profiles: memory.profiles.map((profile) => ({ ...profile, name: names.get(profile.id)! })),
    facts: memory.facts,
    hasAllFacts: memory.hasAllFacts,
    summaries: fitting.taken,
    tooLong: fitting.omitted,
    kept,
    recent,
    damaged,
    complete,
    isWhole: readsAll && complete,
    names,
    scope,
    perspective: { as, names, needsNames: otherCount > 1 || users.size > 1 },
  }
}

/**
 * Returns the given actors as speakers of the conversation.
 * @param some speakers that were read before: all speakers if they are few
 */
async function speakersAmong(
  { pool }: RecallDeps,
  { tenant }: Viewer,
  conversationId: string,
  actors: ReadonlySet<string>,
  as: string | null,
  some: Speakers,
): Promise<Speakers> {
  const participants = some.participants.filter(({ actor }) => actors.has(actor))
  if (participants.length === actors.size) return { ...some, participants }
  return readOne(pool, tenant, speakersRead(tenant, conversationId, [...actors], as))
}

/** Whether the turn is kept only because it is pinned, not as an instruction or as a turn that no summary covers. */
const isKeptAsPinned = ({ pinned, role, audience, status }: Turn) =>
  pinned && role !== 'SYSTEM' && audience === null && status === 'COMMITTED'

const unknownActor = (actor: string) => `${JSON.stringify(actor)} has never been in the conversation`
