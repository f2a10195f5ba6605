// What a context is made of, read: a handful of statements, each bounded by what the budget can hold, not by the conversation.
// Only what the viewer sees is ever read.

import { InvalidInput, NotFound } from '../../errors.ts'
import { readKeptTurns, readRecentTurns } from '../../store/sql/context/context-turns.ts'
import { readConversations, type ConversationRow } from '../../store/sql/conversation/read-conversations.ts'
import { readSpeakers } from '../../store/sql/context/read-speakers.ts'
import type { RecallDeps } from '../recall/deps.ts'
import { getCoveringSummaries } from '../summary/summary.ts'
import type { Turn } from '../turn/turn.ts'
import type { Viewer } from '../view.ts'
import type { ContextMaterial } from './assemble.ts'
import { DEFAULT_SHARES, OVERHEAD, summariesThatFit } from './budget.ts'
import { readProfilesAndFacts } from './profiles-and-facts.ts'
import { saysSomething, tie } from './perspective.ts'

export type MaterialRequest = {
  conversationId: string
  /** Whose eyes; null tells each turn in its own role. */
  as: string | null
  tokenBudget: number
  /** Turns of the window at most; null for as many as fit. */
  windowTurns: number | null
  withSummaries: boolean
  withProfiles: boolean
  withFacts: boolean
  /** Whether space is to be left for what will be recalled. */
  withRecall: boolean
  /** Only turns whose place lies after it, and nothing for those before; null for all. */
  sinceSeq: number | null
  actors: readonly string[] | null
}

/** Turns of one read. */
const FEWEST = 16
const MOST = 1000
/** How far back the call is looked for that the newest turn answers. */
const CALL_AWAY = 256
const END = 2 ** 31 - 1

/**
 * The conversation's newest turns after a place, oldest first, as far back as they may fit. Read in pages, of which there is
 * mostly one: its size is guessed from what the conversation's turns take on average.
 */
async function readRecent(
  deps: RecallDeps,
  viewer: Viewer,
  conversation: ConversationRow,
  after: number,
  { tokenBudget, windowTurns, actors }: MaterialRequest,
): Promise<{ recent: Turn[]; complete: boolean }> {
  const average = conversation.publicTurnCount > 0 ? conversation.publicTokenCount / conversation.publicTurnCount : 0
  const guess = Math.min((windowTurns ?? MOST) + 1, Math.ceil(tokenBudget / (average + OVERHEAD.least)) + 1)
  let limit = Math.max(FEWEST, Math.min(MOST, guess))
  const found: Turn[] = []
  let tokens = 0
  for (;;) {
    const page = await readRecentTurns(deps.pool, viewer, conversation.id, {
      after,
      before: found.at(-1)?.rootSeq ?? END,
      actors,
      limit,
    })
    found.push(...page)
    tokens += page.reduce((sum, { tokenCount }) => sum + tokenCount + OVERHEAD.least, 0)
    const complete = page.length < limit
    const recent = ofActors(found.filter(saysSomething).toReversed(), actors)
    const isFull = tokens > tokenBudget || (windowTurns !== null && recent.length > windowTurns)
    if (complete || (isFull && !lacksCall(recent, found.length))) return { recent, complete }
    limit = Math.min(MOST, limit * 2)
  }
}

/** The conversation's newest turn alone; with its call and the call's other results, where it answers one. */
async function readNewest(deps: RecallDeps, viewer: Viewer, conversationId: string): Promise<Turn[]> {
  const page = await readRecentTurns(deps.pool, viewer, conversationId, {
    after: 0,
    before: END,
    actors: null,
    limit: CALL_AWAY,
  })
  const turns = page.filter(saysSomething).toReversed()
  const group = tie(turns).groups.get(turns.length - 1) ?? []
  return group.map((place) => turns[place]!)
}

/** The actors' turns, and what tools answered to them. */
function ofActors(turns: Turn[], actors: readonly string[] | null): Turn[] {
  if (actors === null) return turns
  const { callers } = tie(turns)
  const answers = new Set([...callers.keys()].map((key) => Number(key.split(':')[0])))
  return turns.filter(({ actor }, place) => actors.includes(actor) || answers.has(place))
}

/** Whether the newest turn answers a call that was not read yet, and may be near. */
function lacksCall(recent: readonly Turn[], read: number): boolean {
  const last = recent.length - 1
  const parts = (recent[last]?.parts ?? []) as { type: string }[]
  const { callers } = tie(recent)
  return read < CALL_AWAY && parts.some(({ type }, index) => type === 'toolResult' && !callers.has(`${last}:${index}`))
}

/**
 * @throws NotFound for a conversation that the viewer's tenant has not
 * @throws InvalidInput for an `as`, or one of the actors, who never was in the conversation
 */
export async function readMaterial(
  deps: RecallDeps,
  viewer: Viewer,
  request: MaterialRequest,
): Promise<ContextMaterial & { recent: Turn[]; names: Map<string, string> }> {
  const { conversationId, as, actors, sinceSeq } = request
  const [[conversation], summaries] = await Promise.all([
    readConversations(deps.pool, viewer, [conversationId]),
    request.withSummaries && sinceSeq === null && actors === null
      ? getCoveringSummaries(deps, viewer, conversationId)
      : [],
  ])
  if (!conversation) throw new NotFound('conversation', conversationId)
  if (as !== null && conversation.view.actor === null) throw InvalidInput.at('as', stranger(as))

  const known = await readProfilesAndFacts(deps, viewer, conversation, request)
  const fitting = summariesThatFit(summaries, request.tokenBudget, DEFAULT_SHARES, request.withRecall, known.tokens)
  const covered = fitting.taken.at(-1)?.toSeq ?? 0
  const [{ recent, complete }, standing] = await Promise.all([
    readRecent(deps, viewer, conversation, sinceSeq ?? covered, request),
    readKeptTurns(deps.pool, viewer, conversation.id, covered),
  ])
  // The newest turn stands even where a summary covers it.
  if (recent.length === 0 && covered > 0) recent.push(...(await readNewest(deps, viewer, conversation.id)))
  const kept = standing.filter(
    (turn) => saysSomething(turn) && (turn.role === 'SYSTEM' || !actors || actors.includes(turn.actor)),
  )
  const speaking = [...new Set([...recent, ...kept].map(({ actor }) => actor).concat(actors ?? []))]
  const { known: speakers, others } = await readSpeakers(deps.db, viewer.tenant, conversation.id, speaking, as)
  const unknown = (actors ?? []).findIndex((actor) => !speakers.some((each) => each.actor === actor))
  if (unknown >= 0) throw InvalidInput.at(`filterParticipants.${unknown}`, stranger(actors![unknown]!))

  const names = new Map(speakers.map(({ actor, displayName }) => [actor, displayName ?? actor]))
  const said = new Set(recent.filter(({ role, actor }) => role === 'USER' && actor !== as).map(({ actor }) => actor))
  return {
    systemPrompt: conversation.systemPrompt,
    profiles: known.profiles,
    facts: known.facts,
    areAllFacts: known.areAllFacts,
    summaries: fitting.taken,
    tooLong: fitting.left,
    kept,
    recent,
    complete,
    names,
    perspective: { as, names, several: others > 1 || said.size > 1 },
  }
}

const stranger = (actor: string) => `${JSON.stringify(actor)} is not and was not in the conversation`
