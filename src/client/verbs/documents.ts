// The GraphQL documents that the client sends. scripts/client-types.ts generates the types of their fragments
// (generated.ts) from these documents and the schema. The server's faces execute the same documents (src/faces/verbs.ts).

import { FRAGMENTS, operationOf, withFragments } from './fragments.ts'

// Bundlers drop the documents that a program does not use, because these functions are marked as free of side effects.

/** Returns the document with its fragments. */
/* @__NO_SIDE_EFFECTS__ */
const complete = (text: string): string => withFragments(text, FRAGMENTS)

const EVENTS = `subscription Follow(
  $conversationId: ID, $conversationKey: String, $as: String, $afterSeq: Int, $types: [ConversationEventType!]
) {
  conversationEvents(
    conversationId: $conversationId, conversationKey: $conversationKey, as: $as, afterSeq: $afterSeq, types: $types
  ) { ...ConversationEvent }
}`
/** Returns EVENTS with turns without `replyTo`, the only field that differs by viewer. */
/* @__NO_SIDE_EFFECTS__ */
const shared = (): string =>
  withFragments(EVENTS, { ...FRAGMENTS, Turn: FRAGMENTS.Turn!.replace('replyTo { id }', '') })

export const FOLLOW = complete(EVENTS)
/** FOLLOW without the fields that differ by viewer. The server renders each event once for all viewers. */
export const FOLLOW_SHARED = shared()

export const READ_VIEWER = `query Viewer($as: String) { viewer(as: $as) { actor } }`

export const READ_HEAD = `query Head($id: ID, $key: String, $as: String) {
  conversation(id: $id, key: $key, as: $as) { id lastSeq }
}`

export const READ_TRANSCRIPT = complete(`query Transcript($id: ID, $key: String, $as: String, $limit: Int!) {
  conversation(id: $id, key: $key, as: $as) {
    ...Conversation
    viewerParticipant { actor }
    participants(first: 200) { nodes { ...Participant } }
    turns(last: $limit) { nodes { ...Turn } pageInfo { ...PageInfo } }
  }
}`)

export const READ_OLDER = complete(`query Older($id: ID, $key: String, $as: String, $limit: Int!, $before: String!) {
  conversation(id: $id, key: $key, as: $as) {
    turns(last: $limit, before: $before) { nodes { ...Turn } pageInfo { ...PageInfo } }
  }
}`)

export const LIST_CONVERSATIONS = complete(`query Conversations($as: String, $actor: String!, $first: Int!) {
  conversations(as: $as, first: $first, filter: { participant: $actor }, orderBy: UPDATED_AT) {
    nodes { ...ListedConversation }
  }
}`)

export const FOLLOW_INBOX = complete(`subscription Inbox($as: String, $reasons: [InboxReason!]) {
  inbox(as: $as, reasons: $reasons) { ...InboxEvent }
}`)

/** Returns the document of a field; see operationOf. */
/* @__NO_SIDE_EFFECTS__ */
const operation = (...args: Parameters<typeof operationOf>): string => complete(operationOf(...args))
/* @__NO_SIDE_EFFECTS__ */
const mutation = (field: string, selection: string) => operation('mutation', field, selection)

// Conversations
export const CREATE_CONVERSATION = mutation('createConversation', 'created conversation { ...Conversation }')
export const READ_CONVERSATION = complete(`query ReadConversation(
  $conversationId: ID, $conversationKey: String, $as: String, $asOf: AsOf
) {
  conversation(id: $conversationId, key: $conversationKey, as: $as, asOf: $asOf) {
    ...Conversation
    turnCount tokenCount viewerUnreadCount
  }
}`)
export const FIND_CONVERSATIONS = complete(`query FindConversations(
  $filter: ConversationFilter, $orderBy: ConversationOrder, $first: Int, $after: String, $last: Int, $before: String
  $as: String
) {
  conversations(
    filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before, as: $as
  ) {
    nodes { ...ListedConversation }
    pageInfo { ...PageInfo }
  }
}`)
export const UPDATE_CONVERSATION = mutation('updateConversation', 'conversation { ...Conversation }')
export const DELETE_CONVERSATION = mutation('deleteConversation', 'deletedConversationId receipt { ...ErasureReceipt }')

/** Returns the document of a paged list of a conversation. `variables` and `args` are added to those of the page. */
/* @__NO_SIDE_EFFECTS__ */
function listOf(field: string, fragment: string, variables = '', args = ''): string {
  return complete(`query ${field[0]!.toUpperCase()}${field.slice(1)}(
  $conversationId: ID, $conversationKey: String, $first: Int, $after: String, $last: Int, $before: String, $as: String
  $asOf: AsOf ${variables}
) {
  conversation(id: $conversationId, key: $conversationKey, as: $as, asOf: $asOf) {
    ${field}(first: $first, after: $after, last: $last, before: $before ${args}) {
      nodes { ...${fragment} }
      pageInfo { ...PageInfo }
    }
  }
}`)
}

// Participants
export const LIST_PARTICIPANTS = listOf('participants', 'Participant')
export const ADD_PARTICIPANT = mutation('addParticipant', 'participant { ...Participant }')
export const UPDATE_PARTICIPANT = mutation('updateParticipant', 'participant { ...Participant }')
export const REMOVE_PARTICIPANT = mutation('removeParticipant', 'participant { ...Participant }')
export const MARK_READ = mutation('markRead', 'participant { ...Participant }')
export const SET_PRESENCE = mutation('setPresence', 'participant { ...Participant }')

// Shared state
export const READ_STATE = complete(`query ReadState(
  $conversationId: ID, $conversationKey: String, $key: String!, $as: String
) {
  conversation(id: $conversationId, key: $conversationKey, as: $as) {
    sharedState(key: $key) { ...SharedState }
  }
}`)
export const LIST_STATES = listOf('sharedStates', 'SharedState')
export const UPDATE_STATE = mutation('updateSharedState', 'state { ...SharedState } version seq deduplicated')
export const DELETE_STATE = mutation('deleteSharedState', 'deletedKey seq')

// Turns
export const LIST_TURNS = listOf(
  'turns',
  'Turn',
  '$filter: TurnFilter, $includeSuperseded: Boolean',
  'filter: $filter, includeSuperseded: $includeSuperseded',
)
export const APPEND_TURN = mutation('appendTurn', 'turn { ...Turn } deduplicated lastSeq')
export const APPEND_TURNS = mutation('appendTurns', 'turns { ...Turn } deduplicatedIds lastSeq')
export const SUPERSEDE_TURN = mutation('supersedeTurn', 'turn { ...Turn }')
export const ERASE_TURN = mutation('eraseTurn', 'turn { ...Turn } receipt { ...ErasureReceipt }')
export const PIN_TURN = mutation('pinTurn', 'turn { ...Turn }')
export const UNPIN_TURN = mutation('unpinTurn', 'turn { ...Turn }')
export const OPEN_TURN = mutation('openTurn', 'turn { ...Turn }')
export const APPEND_DELTA = mutation('appendDelta', 'end')
export const COMMIT_TURN = mutation('commitTurn', 'turn { ...Turn }')
export const ABORT_TURN = mutation('abortTurn', 'turn { ...Turn }')
export const CLAIM_TURN = mutation('claimTurn', 'claim { expiresAt }')
export const RENEW_CLAIM = mutation('renewClaim', 'claim { expiresAt }')
export const RELEASE_CLAIM = mutation('releaseClaim', 'claim { expiresAt }')

// Recall and context
export const RECALL = operation(
  'query',
  'recall',
  'hits { ...RecallHit } pageInfo { ...PageInfo } plan { vectorSearch candidates }',
  'Recall',
)
export const BUILD_CONTEXT = operation(
  'query',
  'buildContext',
  'messages { ...ContextMessage } items { ...ContextItem } ...ContextFields',
  'Context',
)
/** BUILD_CONTEXT with the messages in the format of a provider's API. */
export const RENDER_CONTEXT = complete(`query RenderContext($input: BuildContextInput!, $format: MessageFormat) {
  buildContext(input: $input) {
    ... on Context { messages: rendered(format: $format) items { ...ContextItem } ...ContextFields }
    ...UserError
  }
}`)
export const READ_CONTEXT = complete(`query ReadContext($contextId: ID!, $as: String) {
  contextById(id: $contextId, as: $as) {
    messages { ...ContextMessage } items { ...ContextItem } ...ContextFields
  }
}`)

// Summaries, facts and profiles
export const LIST_SUMMARIES = listOf('summaries', 'Summary')
export const SUMMARIZE = mutation('summarize', 'summary { ...Summary }')
export const COMPACT = mutation('compact', 'summaries { ...Summary } turnsCovered tokensBefore tokensAfter')
export const LIST_FACTS = complete(`query Facts(
  $filter: FactFilter, $first: Int, $after: String, $last: Int, $before: String, $as: String, $asOf: AsOf
) {
  facts(filter: $filter, first: $first, after: $after, last: $last, before: $before, as: $as, asOf: $asOf) {
    nodes { ...Fact }
    pageInfo { ...PageInfo }
  }
}`)
export const RECORD_FACTS = mutation('recordFacts', 'facts { ...Fact } exactDuplicatesSkipped')
export const EXTRACT_FACTS = mutation('extractFacts', 'facts { ...Fact } exactDuplicatesSkipped hasMore')
export const RETRACT_FACT = mutation('retractFact', 'fact { ...Fact }')
export const READ_PROFILE = complete(`query Profile($userId: String!, $as: String, $asOf: AsOf) {
  userProfile(userId: $userId, as: $as, asOf: $asOf) { ...UserProfile }
}`)
export const REFRESH_PROFILE = mutation('refreshUserProfile', 'userProfile { ...UserProfile }')

// Runs and approvals
export const RUN_TURN = mutation('runTurn', 'run { ...Run replies { ...Turn } } turns { ...Turn }')
export const READ_RUN = complete(`query ReadRun($runId: ID!, $as: String) {
  run(id: $runId, as: $as) { ...Run replies { ...Turn } }
}`)
export const FOLLOW_RUN = complete(`subscription FollowRun($runId: ID!, $as: String) {
  runEvents(runId: $runId, as: $as) { ...Run replies { ...Turn } }
}`)
export const LIST_RUNS = listOf('runs', 'Run')
export const CANCEL_RUN = mutation('cancelRun', 'run { ...Run }')
export const LIST_APPROVALS = complete(`query Approvals(
  $conversationId: ID, $state: ApprovalState, $first: Int, $after: String, $last: Int, $before: String, $as: String
) {
  approvals(
    conversationId: $conversationId, state: $state, first: $first, after: $after, last: $last, before: $before, as: $as
  ) {
    nodes { ...Approval arguments reason callHash turn { id } }
    pageInfo { ...PageInfo }
  }
}`)
export const RESOLVE_APPROVAL = mutation('resolveApproval', 'approval { ...Approval } changed')

// Exports and imports
export const START_EXPORT = mutation('startExport', 'transfer { ...Transfer }')
export const CONTINUE_EXPORT = mutation('continueExport', 'transfer { ...Transfer } lines cursor')
export const START_IMPORT = mutation('startImport', 'transfer { ...Transfer }')
export const CONTINUE_IMPORT = mutation('continueImport', 'transfer { ...Transfer }')
export const CANCEL_TRANSFER = mutation('cancelTransfer', 'transfer { ...Transfer }')
export const READ_TRANSFER = complete(`query ReadTransfer($transferId: ID!, $as: String) {
  transfer(id: $transferId, as: $as) { ...Transfer }
}`)
