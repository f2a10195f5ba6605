// Reads the material of a context with a few statements. The number of turns read depends on the budget, not on the
// conversation's length. Turns, summaries, facts and profiles are limited to the viewer's view.

import { InvalidInput, NotFound } from '../../../../errors.ts'
import { readAll, readOne } from '../../../../store/db/read.ts'
import { speakersRead, type Speakers } from '../../../../store/sql/memory/context/speakers.ts'
import { conversationsRead, type ConversationRow } from '../../../../store/sql/conversation/conversations.ts'
import {
  contextStatesRead,
  type ContextStateRow,
} from '../../../../store/sql/conversation/shared-state/read-shared-states.ts'
import { conversationScopeRead, type ScopeRead } from '../../../../store/sql/memory/recall/scope.ts'
import { coveringSummariesRead } from '../../summary/summary.ts'
import { isDamaged } from '../../../turn/content.ts'
import type { Turn } from '../../../turn/turn.ts'
import { TOTAL_BYTES } from '../../../conversation/shared-state/shared-state.ts'
import { derivedId } from '../../../kernel/derived-id.ts'
import { admitsAll, type Viewer } from '../../../kernel/view.ts'
import type { QuotedState } from '../quote.ts'
import type { ContextMaterial } from '../budget/assembly-input.ts'
import { MESSAGE_OVERHEAD, STATE_BYTES_PER_TOKEN, STATE_SHARE } from '../budget/budget.ts'
import type { ContextDeps } from '../deps.ts'
import { mayFitShortened } from '../budget/fit-summaries.ts'
import { distinctNames } from '../names.ts'
import { readProfilesAndFacts, type ProfilesAndFacts } from './profiles-and-facts.ts'
import { hasContent } from '../perspective.ts'
import { firstLimit, precedes, readRecent, turnsRead, type TurnRequest } from './recent-turns.ts'
import { areSameTurns, type TurnsToRead } from './turn-guesses.ts'

export type MaterialRequest = TurnRequest & {
  /** The participant from whose perspective turns are rendered; null keeps each turn's own role. */
  as: string | null
  /** The viewer who must also see the profiles, and the facts from outside the conversation. */
  reader: Viewer
  withSummaries: boolean
  /** Whether to include pinned turns regardless of age. */
  withPinned: boolean
  withProfiles: boolean
  withFacts: boolean
  /** The participants who must all see the shared state, null for every participant; null for no shared state. */
  states: { readers?: readonly string[] | null | undefined } | null
  /** Name of the embedder whose vectors a recall in the conversation searches; null without such a recall. */
  embedder: string | null
}

/** Whether the whole conversation may fit into the window and, by the lowest estimate of its size, into the budget. */
const mayFit = (
  { publicTokenCount, publicTurnCount }: ConversationRow,
  { tokenBudget, windowTurns }: Pick<MaterialRequest, 'tokenBudget' | 'windowTurns'>,
) => publicTurnCount < windowTurns && publicTokenCount + publicTurnCount * MESSAGE_OVERHEAD <= tokenBudget

/** Maximum size of the values of shared state that are read, in bytes of JSON: more would not fit into their share. */
const maxStateBytes = ({ tokenBudget }: MaterialRequest) =>
  Math.min(TOTAL_BYTES, Math.floor(tokenBudget * STATE_SHARE * STATE_BYTES_PER_TOKEN))

/** Returns the reads of the first round trip. `guess`: the turns that are probably needed; null for none. */
function readsOf(
  viewer: Viewer,
  request: MaterialRequest,
  { readsSummaries, guess }: { readsSummaries: boolean; guess: TurnsToRead | null | undefined },
) {
  const { conversationId, as, embedder } = request
  return [
    conversationsRead(viewer, [conversationId]),
    readsSummaries ? coveringSummariesRead(viewer, conversationId) : null,
    embedder === null ? null : conversationScopeRead(viewer, conversationId, embedder),
    speakersRead(viewer.tenant, conversationId, null, as),
    request.states ? contextStatesRead(viewer, conversationId, maxStateBytes(request)) : null,
    ...(guess ? turnsRead(viewer, request, guess) : []),
  ] as const
}

/**
 * Reads the material of a context, the display names of its actors, and the scope of a recall in the conversation.
 * @throws NotFound if the viewer does not see the conversation
 * @throws InvalidInput if `as` or one of the actors was never a participant
 */
export async function readMaterial(
  deps: ContextDeps,
  viewer: Viewer,
  request: MaterialRequest,
): Promise<
  Omit<ContextMaterial, 'answered'> & {
    recent: Turn[]
    names: Map<string, string>
    scope: ScopeRead | null
    profileFacts: ProfilesAndFacts['profileFacts']
    lastSeq: number
    factUsers: string[]
  }
> {
  const { conversationId, as, actors, sinceSeq, end } = request
  const readsSummaries = request.withSummaries && sinceSeq === null && actors === null
  // A context with an end reads other turns than the next one of the conversation.
  const last = end === null ? deps.turnGuesses.guess(viewer, { ...request, readsSummaries }) : null
  const guess = last && { ...last, after: sinceSeq ?? last.after }
  const reads = readsOf(viewer, request, { readsSummaries, guess })
  const [[conversation], summaries, scope, firstSpeakers, states, ...guessed] = await readAll(
    deps.pool,
    viewer.tenant,
    reads,
  )
  if (!conversation) throw new NotFound('conversation', conversationId)
  if (as !== null && conversation.viewActor === null) throw InvalidInput.at('as', unknownActor(as))

  const memory = await readProfilesAndFacts(deps, viewer, conversation, request)
  const current = (summaries ?? []).filter(({ toPosition }) => precedes(end, toPosition))
  const usesSummaries = mayFitShortened(current, request.tokenBudget)
  const coveredThrough = usesSummaries ? (current.at(-1)?.toPosition ?? 0) : 0
  const readsCoveredTurns = coveredThrough > 0 && mayFit(conversation, request)
  const toRead: TurnsToRead = {
    after: sinceSeq ?? (readsCoveredTurns ? 0 : coveredThrough),
    limit: firstLimit(conversation, request),
    covered: coveredThrough,
  }
  if (end === null) deps.turnGuesses.remember(viewer, { ...request, readsSummaries }, toRead)
  const [first, candidates] =
    guess && areSameTurns(guess, toRead)
      ? guessed
      : await readAll(deps.pool, viewer.tenant, turnsRead(viewer, request, toRead))
  const read = await readRecent(deps, viewer, request, { ...toRead, first })
  const { recent, complete } = read
  const damaged = [...new Set([...read.damaged, ...candidates.filter(isDamaged)].map(({ id }) => id))]
  if (damaged.length > 0) deps.log.warn({ conversationId, turnIds: damaged }, 'left out turns with damaged content')
  const kept = candidates.filter(
    (turn) =>
      hasContent(turn)
      && (turn.role === 'SYSTEM' || !actors || actors.includes(turn.actor))
      && (request.withPinned || !isKeptAsPinned(turn)),
  )
  const actorIds = new Set([...recent, ...kept].map(({ actor }) => actor).concat(actors ?? []))
  const known = { conversationId, as, read: firstSpeakers }
  const { participants, otherCount } = await speakersAmong(deps, viewer, known, actorIds)
  const missing = (actors ?? []).findIndex((actor) => !participants.some((each) => each.actor === actor))
  if (missing >= 0) throw InvalidInput.at(`filterParticipants.${missing}`, unknownActor(actors![missing]!))

  const names = distinctNames([...memory.people, ...participants])
  const users = new Set(recent.filter(({ role, actor }) => role === 'USER' && actor !== as).map(({ actor }) => actor))
  return {
    systemPrompt: conversation.systemPrompt,
    profiles: memory.profiles.map((profile) => ({ ...profile, name: names.get(profile.id)! })),
    facts: memory.facts,
    profileFacts: memory.profileFacts,
    lastSeq: conversation.lastSeq,
    hasAllFacts: memory.hasAllFacts,
    hasEndedFacts: memory.hasEndedFacts,
    factUsers: memory.factUsers,
    states: quotedStates(request, states ?? []),
    summaries: usesSummaries ? current : [],
    tooLong: usesSummaries ? [] : current,
    kept,
    recent,
    damaged,
    complete,
    isWhole: readsCoveredTurns && complete && !read.isShortened,
    names,
    scope,
    perspective: { as, names, needsNames: otherCount > 1 || users.size > 1 },
  }
}

/**
 * Returns the given actors as speakers of the conversation.
 * @param read speakers from an earlier read, which returned all speakers if they are few
 */
async function speakersAmong(
  { pool }: ContextDeps,
  { tenant }: Viewer,
  { conversationId, as, read }: { conversationId: string; as: string | null; read: Speakers },
  actors: ReadonlySet<string>,
): Promise<Speakers> {
  const participants = read.participants.filter(({ actor }) => actors.has(actor))
  if (participants.length === actors.size) return { ...read, participants }
  return readOne(pool, tenant, speakersRead(tenant, conversationId, [...actors], as))
}

/**
 * Returns the states that all readers see, or the viewer without readers, each as a member of a JSON object. A value for
 * which there is no space has its size instead, so that a model knows of the key.
 */
const quotedStates = ({ conversationId, states }: MaterialRequest, rows: readonly ContextStateRow[]): QuotedState[] =>
  rows
    .filter(({ audience }) => states?.readers === undefined || admitsAll(audience, states.readers))
    .map(({ key, version, value, hasValue, bytes }) => ({
      id: derivedId({ kind: 'state', conversationId, key }),
      text: `${JSON.stringify(key)}: ${JSON.stringify({ version, ...(hasValue ? { value } : { omittedBytes: bytes }) })}`,
      omittedBytes: hasValue ? 0 : bytes,
    }))

/** Whether the turn is kept only because it is pinned, not as an instruction or as a turn that is never summarised. */
const isKeptAsPinned = ({ pinned, role, audience, status }: Turn) =>
  pinned && role !== 'SYSTEM' && audience === null && status === 'COMMITTED'

const unknownActor = (actor: string) => `${JSON.stringify(actor)} has never been in the conversation`
