// The fragments of GraphQL documents, and the text of operations with an input. scripts/client-types.ts generates the
// type of each fragment (generated.ts). A face of the server writes the same selections as JSON (src/faces/verbs.ts).

/** The errors that a mutation, recall and buildContext return as members of their result's union. */
export const USER_ERROR_FRAGMENT = `UserError {
  __typename code message
  ... on InvalidInput { issues { path message } }
  ... on NotAllowed { right }
  ... on LimitReached { limit }
  ... on StreamClosed { status }
  ... on ProviderFailed { retryable }
  ... on QuotaExceeded { limit used resetsAt }
  ... on BudgetTooSmall { required }
}`

/** The type condition and the selection of each fragment, by its name. */
export const FRAGMENTS: Readonly<Record<string, string>> = {
  Part: `ContentPart {
  __typename
  ... on TextPart { text }
  ... on ReasoningPart { reasoning signature }
  ... on ToolCallPart { callId name arguments }
  ... on ToolResultPart { callId callTurnId name result }
  ... on FilePart { url mediaType fileName caption attachment { ...Attachment } }
  ... on SourcePart { url title }
  ... on DataPart { data }
}`,
  Attachment: `Attachment {
  id mediaType bytes fileName width height sha256 url expiresAt
}`,
  Turn: `Turn {
  id seq position actor author { displayName kind } role status text parts { ...Part } audience model metadata
  createdAt pinned isEdited abortReason tokenUsage { prompt completion } citations { documentId documentName chunk score }
  traceId replyTo { id }
}`,
  Participant: `Participant {
  id actor displayName kind respond presence administrator historyVisibility lastReadSeq metadata joinedAt leftAt
}`,
  Conversation: `Conversation {
  id key title owner agentName visibility systemPrompt metadata version lastSeq createdAt updatedAt
}`,
  ListedConversation: `Conversation {
  ...Conversation
  viewerUnreadCount
  viewerParticipant { actor respond }
  lastTurn { id seq position actor role status text createdAt }
}`,
  Summary: `Summary {
  id content level fromPosition toPosition tokenCount model createdAt
}`,
  Fact: `Fact {
  id subject predicate object confidence userId saidBy assertedBy observedAt validFrom validTo createdAt
  supersededAt supersedeReason supersedeNote sourceConversation { id } sourceTurn { id }
}`,
  Recalled: `Memory {
  __typename
  ... on Turn { ...Turn conversation { id key title } }
  ... on Fact { ...Fact }
  ... on Summary { ...Summary conversation { id key title } }
}`,
  RecallHit: `RecallHit {
  score relevance similarity textScore memory { ...Recalled } neighbours { ...Turn }
}`,
  ContextMessage: `ContextMessage {
  role name content parts { ...Part } tokenCount sourceIds
}`,
  ContextFields: `Context {
  tokenCount tokenBudget truncated stablePrefixTokens id createdAt asOfSeq goneSourceIds
}`,
  ContextItem: `ContextItem {
  kind included reason tokenCount sourceIds
}`,
  UserProfile: `UserProfile {
  id userId content tokenCount updatedAt
}`,
  Run: `Run {
  id actor startedBy state provider model createdAt endedAt error { code message } tokenUsage { prompt completion }
}`,
  SharedState: `SharedState {
  key value version schema audience updatedBy updatedAt createdAt
}`,
  Approval: `Approval {
  id callId toolName state requestedAt expiresAt decidedBy decidedAt
}`,
  ErasureReceipt: `ErasureReceipt {
  id kind subject conversations turns facts summaries profiles held completedAt document signature
}`,
  PageInfo: `PageInfo {
  hasNextPage hasPreviousPage startCursor endCursor
}`,
  ConversationEvent: `ConversationEvent {
  __typename seq at conversationId
  ... on TurnAppended { turn { ...Turn } }
  ... on TurnOpened { turn { ...Turn } }
  ... on TurnDelta { turnId start end text }
  ... on TurnPartDelta { turnId number offset type callId toolName start end text isComplete part { ...Part } }
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
  ... on SharedStateChanged { key version deleted patch actor }
  ... on Gap { resumeAfterSeq }
}`,
  InboxEvent: `InboxEvent {
  reason at conversationId unreadCount
  conversation { ...ListedConversation }
  turn { ...Turn }
}`,
  Transfer: `Transfer {
  id direction state scope subject actor manifest lines sha256 counts report createdAt updatedAt completedAt
}`,
  UserError: USER_ERROR_FRAGMENT,
}

/** Appends the fragments that the text spreads, and the fragments that these spread, each once. */
export function withFragments(text: string, fragments: typeof FRAGMENTS): string {
  const added = new Set<string>()
  const extend = (part: string): string =>
    [...part.matchAll(/\.\.\.(\w+)/g)].reduce((whole, [, name]) => {
      if (added.has(name!)) return whole
      added.add(name!)
      return `${whole}\nfragment ${name} on ${extend(fragments[name!]!)}`
    }, part)
  return extend(text)
}

/**
 * Returns the operation of a field with the argument `input` whose result is a union of its payload and errors. The
 * operation's only variable is `input`. It needs the fragment UserError.
 */
export function operationOf(kind: 'query' | 'mutation', field: string, selection: string, payload?: string): string {
  const name = field[0]!.toUpperCase() + field.slice(1)
  return `${kind} ${name}($input: ${name}Input!) {
  ${field}(input: $input) {
    ... on ${payload ?? `${name}Payload`} { ${selection} }
    ...UserError
  }
}`
}
