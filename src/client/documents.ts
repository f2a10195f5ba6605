// The GraphQL documents that the client sends. scripts/client-types.ts generates the types of their fragments
// (generated.ts) from these documents and the schema.

const PARTS = `
fragment Part on ContentPart {
  __typename
  ... on TextPart { text }
  ... on ReasoningPart { reasoning signature }
  ... on ToolCallPart { callId name arguments }
  ... on ToolResultPart { callId callTurnId name result }
  ... on FilePart { url mediaType fileName }
  ... on DataPart { data }
}`

/** Turn fields that are equal for all viewers. The server renders an event with only such fields once for all. */
const SHARED_TURN = `
  id seq position actor author { displayName kind } role status text parts { ...Part } audience model metadata
  createdAt pinned isEdited abortReason tokenUsage { prompt completion } citations { documentId documentName chunk score }`

const TURN = `
fragment Turn on Turn {${SHARED_TURN} replyTo { id }
}${PARTS}`

const TURN_WITHOUT_REPLY = `
fragment Turn on Turn {${SHARED_TURN}
}${PARTS}`

const PARTICIPANT = `
fragment Participant on Participant {
  id actor displayName kind respond presence administrator historyVisibility lastReadSeq metadata joinedAt leftAt
}`

const CONVERSATION = `
fragment Conversation on Conversation {
  id key title owner agentName visibility lastSeq createdAt updatedAt
}`

const RUN = `
fragment Run on Run {
  id actor startedBy state provider model createdAt endedAt error { code message } tokenUsage { prompt completion }
}`

const APPROVAL = `
fragment Approval on Approval {
  id callId toolName state requestedAt expiresAt decidedBy decidedAt
}`

const EVENT = `
fragment ConversationEvent on ConversationEvent {
  __typename seq at conversationId
  ... on TurnAppended { turn { ...Turn } }
  ... on TurnOpened { turn { ...Turn } }
  ... on TurnDelta { turnId start end text }
  ... on TurnCommitted { turn { ...Turn } }
  ... on TurnAborted { turn { ...Turn } }
  ... on TurnSuperseded { turn { id seq position } by { ...Turn } }
  ... on TurnUpdated { turn { ...Turn } }
  ... on TurnErased { turn { ...Turn } }
  ... on ParticipantJoined { participant { ...Participant } }
  ... on ParticipantLeft { participant { ...Participant } }
  ... on ParticipantUpdated { participant { ...Participant } }
  ... on ParticipantRead { participant { ...Participant } }
  ... on PresenceChanged { participant { ...Participant } state }
  ... on ConversationUpdated { conversation { ...Conversation } }
  ... on TurnClaimed { turn { id seq position } participant { ...Participant } }
  ... on ClaimReleased { turn { id seq position } participant { ...Participant } }
  ... on WakeUpsStopped { turn { id seq position } limit }
  ... on RunStarted { run { ...Run } }
  ... on RunChanged { run { ...Run } }
  ... on ApprovalRequested { approval { ...Approval } }
  ... on ApprovalResolved { approval { ...Approval } }
  ... on Gap { resumeAfterSeq }
}${RUN}${APPROVAL}`

const INBOX = `
fragment ListedConversation on Conversation {
  ...Conversation
  viewerUnreadCount
  viewerParticipant { actor respond }
  lastTurn { id seq position actor role status text createdAt }
}
fragment InboxEvent on InboxEvent {
  reason at conversationId unreadCount
  conversation { ...ListedConversation }
  turn { ...Turn }
}`

/** The errors that a mutation returns as members of its result's union. */
const ERRORS = `
  ... on UserError {
    __typename code message
    ... on InvalidInput { issues { path message } }
    ... on StreamClosed { status }
  }`

const eventsOf = (turn: string) => `subscription Follow(
  $conversationId: ID, $conversationKey: String, $as: String, $afterSeq: Int, $types: [ConversationEventType!]
) {
  conversationEvents(
    conversationId: $conversationId, conversationKey: $conversationKey, as: $as, afterSeq: $afterSeq, types: $types
  ) { ...ConversationEvent }
}${EVENT}${turn}${PARTICIPANT}${CONVERSATION}`

export const FOLLOW = eventsOf(TURN)
/** FOLLOW without the fields that differ by viewer. The server renders each event once for all viewers. */
export const FOLLOW_SHARED = eventsOf(TURN_WITHOUT_REPLY)

export const READ_VIEWER = `query Viewer($as: String) { viewer(as: $as) { actor } }`

export const READ_HEAD = `query Head($id: ID, $key: String, $as: String) {
  conversation(id: $id, key: $key, as: $as) { id lastSeq }
}`

export const READ_TRANSCRIPT = `query Transcript($id: ID, $key: String, $as: String, $limit: Int!) {
  conversation(id: $id, key: $key, as: $as) {
    ...Conversation
    viewerParticipant { actor }
    participants(first: 200) { nodes { ...Participant } }
    history(limit: $limit) { ... on Turn { ...Turn } }
  }
}${TURN}${PARTICIPANT}${CONVERSATION}`

export const READ_OLDER = `query Older($id: ID, $key: String, $as: String, $limit: Int!, $before: Int!) {
  conversation(id: $id, key: $key, as: $as) {
    history(limit: $limit, beforePosition: $before) { ... on Turn { ...Turn } }
  }
}${TURN}`

export const LIST_CONVERSATIONS = `query Conversations($as: String, $actor: String!, $first: Int!) {
  conversations(as: $as, first: $first, filter: { participant: $actor }, orderBy: UPDATED_AT) {
    nodes { ...ListedConversation }
  }
}${INBOX.slice(0, INBOX.indexOf('fragment InboxEvent'))}${CONVERSATION}`

export const FOLLOW_INBOX = `subscription Inbox($as: String) {
  inbox(as: $as) { ...InboxEvent }
}${INBOX}${CONVERSATION}${TURN}`

/** Returns a mutation document with the single variable `input`. */
const mutation = (field: string, payload: string, fragments = '') => {
  const name = field[0]!.toUpperCase() + field.slice(1)
  return `mutation ${name}($input: ${name}Input!) {
  ${field}(input: $input) {
  ... on ${name}Payload { ${payload} }${ERRORS}
  }
}${fragments}`
}

export const CREATE_CONVERSATION = mutation(
  'createConversation',
  'created conversation { ...Conversation }',
  CONVERSATION,
)
export const APPEND_TURN = mutation('appendTurn', 'turn { ...Turn }', TURN)
export const SUPERSEDE_TURN = mutation('supersedeTurn', 'turn { ...Turn }', TURN)
export const OPEN_TURN = mutation('openTurn', 'turn { ...Turn }', TURN)
export const APPEND_DELTA = mutation('appendDelta', 'end')
export const COMMIT_TURN = mutation('commitTurn', 'turn { ...Turn }', TURN)
export const ABORT_TURN = mutation('abortTurn', 'turn { id status }')
export const CLAIM_TURN = mutation('claimTurn', 'claim { expiresAt }')
export const RENEW_CLAIM = mutation('renewClaim', 'claim { expiresAt }')
export const RELEASE_CLAIM = mutation('releaseClaim', 'claim { expiresAt }')
export const UPDATE_PARTICIPANT = mutation('updateParticipant', 'participant { id }')
export const MARK_READ = mutation('markRead', 'participant { ...Participant }', PARTICIPANT)
export const SET_PRESENCE = mutation('setPresence', 'participant { ...Participant }', PARTICIPANT)
