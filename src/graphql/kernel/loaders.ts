// The values that fields of many objects load by id, each with one read for all ids of a batch (batch.ts).

import { getConversations, type Conversation } from '../../domain/conversation/conversation.ts'
import type { Context } from '../../domain/memory/context/message.ts'
import { getContexts, getReplyPages } from '../../domain/memory/context/stored.ts'
import type { PresenceState } from '../../domain/kernel/live/publisher.ts'
import { NO_PAGE, type Page, type Paging } from '../../domain/kernel/page.ts'
import { countOfParticipants, pageOfParticipants } from '../../domain/conversation/participant/participant-page.ts'
import { getFactPages, getFacts, type Fact, type FactsOfConversationArgs } from '../../domain/memory/fact/fact.ts'
import { getFactSourcePages, type FactSource } from '../../domain/memory/fact/source.ts'
import { getParticipantsByKey, type Participant } from '../../domain/conversation/participant/participant.ts'
import {
  getParticipantDetails,
  type ParticipantDetails,
  getUnreadCounts,
} from '../../domain/conversation/participant/participant-details.ts'
import { getPresence } from '../../domain/conversation/presence.ts'
import {
  getSharedStatePages,
  getSharedStates,
  type SharedState,
} from '../../domain/conversation/shared-state/shared-state.ts'
import { historyWithSummaries, summarizedThrough } from '../../domain/memory/summary/history.ts'
import { getPendingAnswers, type PendingAnswer } from '../../domain/agent/claim/pending-answers.ts'
import { getApprovalPages, getApprovals, type Approval } from '../../domain/agent/run/approval/approval.ts'
import { coveringSummaries, getSummaries, type Summary } from '../../domain/memory/summary/summary.ts'
import {
  getProviderCalls,
  getRunPages,
  getRuns,
  getTokenSums,
  type ProviderCall,
  type TokenSums,
} from '../../domain/agent/run/run.ts'
import { countOfTurns, history, type HistoryArgs } from '../../domain/turn/history.ts'
import { getNextVersions, getPreviousVersions, getTurns, getVersionNumbers, type Turn } from '../../domain/turn/turn.ts'
import type { Run } from '../../domain/agent/definition/visible.ts'
import { NotFound } from '../../errors.ts'
import { byId, inOrder, withoutArgs, type Load } from './batch.ts'
import type { RequestContext } from './request.ts'

/** The conversation; null if it does not exist or the viewer cannot see it. */
export const loadConversation = withoutArgs<Conversation | null>(byId('conversation', getConversations, null))

/** The conversation of an object that was just read. @throws NotFound if it has been deleted since */
export async function loadConversationOf(context: RequestContext, conversationId: string): Promise<Conversation> {
  const conversation = await loadConversation(context, conversationId)
  if (!conversation) throw new NotFound('conversation', conversationId)
  return conversation
}

/** The turn; null if it does not exist or the viewer cannot see it. */
export const loadTurn = withoutArgs<Turn | null>(byId('turn', getTurns, null))

/** The turn of an object that was just read. @throws NotFound if it has been deleted since */
export async function loadTurnOf(context: RequestContext, turnId: string): Promise<Turn> {
  const turn = await loadTurn(context, turnId)
  if (!turn) throw new NotFound('turn', turnId)
  return turn
}

/** The version that superseded the turn; null if there is none in the viewer's view. */
export const loadNextVersion = withoutArgs<Turn | null>(byId('next version', getNextVersions, null))

/** The version that the turn superseded; null if there is none in the viewer's view. */
export const loadPreviousVersion = withoutArgs<Turn | null>(byId('previous version', getPreviousVersions, null))

const versionNumbers = withoutArgs<number | null>(byId('version number', getVersionNumbers, null))

/**
 * The number of a turn version that was just read, counted in the viewer's view.
 * @throws NotFound if it has been deleted since
 */
export async function loadVersionNumber(context: RequestContext, turnId: string): Promise<number> {
  const version = await versionNumbers(context, turnId)
  if (version === null) throw new NotFound('turn', turnId)
  return version
}

/** Number of committed turns in the viewer's view of the conversation, and number of their tokens. */
export const loadTurnCount = withoutArgs(byId('turn count', countOfTurns, { turnCount: 0, tokenCount: 0 }))

/** A page of the conversation's present and former participants, in the order of joining. */
export const loadPageOfParticipants: Load<string, Paging, Page<Participant>> = byId(
  'page of participants',
  pageOfParticipants,
  NO_PAGE,
)

/** Number of present and former participants of the conversation. */
export const loadParticipantCount = withoutArgs<number>(byId('participant count', countOfParticipants, 0))

/** The conversation's newest turns in the viewer's view, oldest first. */
export const loadHistory: Load<string, HistoryArgs, Turn[]> = byId('history', history, [])

/** The conversation's newest turns, and the summaries of the turns before them, oldest first. */
export const loadHistoryWithSummaries: Load<string, HistoryArgs, (Turn | Summary)[]> = byId(
  'history with summaries',
  historyWithSummaries,
  [],
)

/** The summary; null if it does not exist or the viewer cannot see it. */
export const loadSummary = withoutArgs<Summary | null>(byId('summary', getSummaries, null))

/** The approval; null if it does not exist or the viewer cannot see it. */
export const loadApproval = withoutArgs<Approval | null>(byId('approval', getApprovals, null))
/** A page of the run's approvals in the viewer's view, in the order of the calls. */
export const loadPageOfApprovals: Load<string, Paging, Page<Approval>> = byId(
  'page of approvals',
  getApprovalPages,
  NO_PAGE,
)

/** The run; null if it does not exist or the viewer cannot see it. */
export const loadRun = withoutArgs<Run | null>(byId('run', getRuns, null))

/** A page of the conversation's runs in the viewer's view, newest first. */
export const loadPageOfRuns: Load<string, Paging, Page<Run>> = byId('page of runs', getRunPages, NO_PAGE)

/** The newest answers that the conversation waits for, in the viewer's view. */
export const loadPendingAnswers = withoutArgs<PendingAnswer[]>(byId('pending answers', getPendingAnswers, []))

/** The calls of the run, in order. */
export const loadProviderCalls = withoutArgs<ProviderCall[]>(byId('provider calls', getProviderCalls, []))

/** The tokens of the conversation's runs that the viewer sees. */
export const loadTokenSums = withoutArgs<TokenSums>(
  byId('token sums', getTokenSums, { prompt: 0, completion: 0, byActor: new Map() }),
)

const sharedStates = inOrder<StateKey, undefined, SharedState | null>(
  'shared state',
  getSharedStates,
  ({ conversationId, key }) => `${conversationId} ${key}`,
)

/** The shared state at the key; null if there is none that the viewer sees. */
export const loadSharedState = (context: RequestContext, key: StateKey) => sharedStates(context, key, undefined)

/** A page of the conversation's shared state in the viewer's view, by key. */
export const loadPageOfSharedStates: Load<string, Paging, Page<SharedState>> = byId(
  'page of shared state',
  getSharedStatePages,
  NO_PAGE,
)

/** The fact, superseded or not; null if it does not exist or the viewer cannot see it. */
export const loadFact = withoutArgs<Fact | null>(byId('fact', getFacts, null))

/** A page of the conversation's facts in the viewer's view, newest first. */
export const loadPageOfFacts: Load<string, FactsOfConversationArgs, Page<Fact>> = byId(
  'page of facts',
  getFactPages,
  NO_PAGE,
)

/** A page of the fact's sources in the viewer's view, in the order in which they were stored. */
export const loadPageOfSources: Load<string, Paging, Page<FactSource>> = byId(
  'page of sources',
  getFactSourcePages,
  NO_PAGE,
)

/** The stored context; null if it does not exist or the viewer may not read it. */
export const loadContext = withoutArgs<Context | null>(byId('context', getContexts, null))

/** A page of the turns in the viewer's view that were generated from a stored context with the turn or fact. */
export const loadPageOfReplies: Load<string, Paging, Page<Turn>> = byId('page of replies', getReplyPages, NO_PAGE)

/** The summaries that cover the conversation's oldest turns, oldest first. */
export const loadSummaries = withoutArgs<Summary[]>(byId('summaries', coveringSummaries, []))

/** The last turn that the conversation's summaries cover; null without summaries. */
export const loadSummarizedThrough = withoutArgs<Turn | null>(byId('summarized through', summarizedThrough, null))

type StateKey = { conversationId: string; key: string }
type ParticipantKey = { conversationId: string; actor: string }
const participantKey = ({ conversationId, actor }: ParticipantKey) => `${conversationId} ${actor}`

const unreadCounts = inOrder<ParticipantKey, undefined, number>('unread count', getUnreadCounts, participantKey)
const presences = inOrder<ParticipantKey, undefined, PresenceState>(
  'presence',
  (deps, _, participants) => getPresence(deps, participants),
  participantKey,
)

const participants = inOrder<ParticipantKey, undefined, Participant | null>(
  'participant',
  getParticipantsByKey,
  participantKey,
)

/** The present or former participant; null for an actor who never joined. */
export const loadParticipant = (context: RequestContext, participant: ParticipantKey) =>
  participants(context, participant, undefined)

const participantDetails = inOrder<ParticipantKey, undefined, ParticipantDetails>(
  'participant details',
  getParticipantDetails,
  participantKey,
)

/** The metadata and the agent settings of the participant. */
export const loadParticipantDetails = (context: RequestContext, participant: ParticipantKey) =>
  participantDetails(context, participant, undefined)

/** Number of turns by other actors that the participant has not read and that both it and the viewer see. */
export const loadUnreadCount = (context: RequestContext, participant: ParticipantKey) =>
  unreadCounts(context, participant, undefined)

/** The participant's presence; OFFLINE if it cannot be read. */
export const loadPresence = (context: RequestContext, participant: ParticipantKey) =>
  presences(context, participant, undefined)
