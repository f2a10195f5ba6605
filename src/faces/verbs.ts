// The verbs that the faces offer: REST, MCP and the command line. Each verb is a GraphQL document of the client, so that
// every face has the same fields, views, rights, limits and errors as the API. Input and output schemas, routes and
// descriptions are derived from the document and the schema (operation.ts).

import * as documents from '../client/verbs/documents.ts'

export const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

type VerbRow = {
  document: string
  /**
   * Method and path in the REST API. `{conversation}` is the id of a conversation, or `key:` and its key; any other
   * parameter is the input of that name.
   */
  route: `${Method} /${string}`
  /** Heading in the documentation of the REST API. */
  tag: 'Conversations' | 'Participants' | 'Shared state' | 'Turns' | 'Memory' | 'Agents' | 'Transfers'
  /** Path of the input to which the header Idempotency-Key is assigned. */
  idempotencyKey?: readonly string[]
  /** Input to which the header If-Match is assigned: the version that the caller has read. */
  expectedVersion?: string
  /** Keys from the answer to the version that the header ETag returns. */
  version?: readonly string[]
}

const CLIENT_ID = ['turn', 'clientId']

/** The verbs by name: the names of the GraphQL fields. */
export const VERBS = {
  createConversation: {
    document: documents.CREATE_CONVERSATION,
    route: 'POST /conversations',
    tag: 'Conversations',
    idempotencyKey: ['key'],
    version: ['conversation', 'version'],
  },
  conversations: { document: documents.FIND_CONVERSATIONS, route: 'GET /conversations', tag: 'Conversations' },
  conversation: {
    document: documents.READ_CONVERSATION,
    route: 'GET /conversations/{conversation}',
    tag: 'Conversations',
    version: ['version'],
  },
  updateConversation: {
    document: documents.UPDATE_CONVERSATION,
    route: 'PATCH /conversations/{conversation}',
    tag: 'Conversations',
    expectedVersion: 'expectedVersion',
    version: ['conversation', 'version'],
  },
  deleteConversation: {
    document: documents.DELETE_CONVERSATION,
    route: 'DELETE /conversations/{conversation}',
    tag: 'Conversations',
  },
  conversationEvents: {
    document: documents.FOLLOW,
    route: 'GET /conversations/{conversation}/events',
    tag: 'Conversations',
  },
  inbox: { document: documents.FOLLOW_INBOX, route: 'GET /inbox', tag: 'Conversations' },

  participants: {
    document: documents.LIST_PARTICIPANTS,
    route: 'GET /conversations/{conversation}/participants',
    tag: 'Participants',
  },
  addParticipant: {
    document: documents.ADD_PARTICIPANT,
    route: 'POST /conversations/{conversation}/participants',
    tag: 'Participants',
  },
  updateParticipant: {
    document: documents.UPDATE_PARTICIPANT,
    route: 'PATCH /conversations/{conversation}/participants/{actor}',
    tag: 'Participants',
  },
  removeParticipant: {
    document: documents.REMOVE_PARTICIPANT,
    route: 'DELETE /conversations/{conversation}/participants/{actor}',
    tag: 'Participants',
  },
  markRead: { document: documents.MARK_READ, route: 'POST /conversations/{conversation}/read', tag: 'Participants' },
  setPresence: {
    document: documents.SET_PRESENCE,
    route: 'POST /conversations/{conversation}/presence',
    tag: 'Participants',
  },

  sharedStates: {
    document: documents.LIST_STATES,
    route: 'GET /conversations/{conversation}/states',
    tag: 'Shared state',
  },
  sharedState: {
    document: documents.READ_STATE,
    route: 'GET /conversations/{conversation}/states/{key}',
    tag: 'Shared state',
    version: ['version'],
  },
  updateSharedState: {
    document: documents.UPDATE_STATE,
    route: 'PATCH /conversations/{conversation}/states/{key}',
    tag: 'Shared state',
    idempotencyKey: ['clientId'],
    expectedVersion: 'expectedVersion',
    version: ['version'],
  },
  deleteSharedState: {
    document: documents.DELETE_STATE,
    route: 'DELETE /conversations/{conversation}/states/{key}',
    tag: 'Shared state',
    expectedVersion: 'expectedVersion',
  },

  turns: { document: documents.LIST_TURNS, route: 'GET /conversations/{conversation}/turns', tag: 'Turns' },
  appendTurn: {
    document: documents.APPEND_TURN,
    route: 'POST /conversations/{conversation}/turns',
    tag: 'Turns',
    idempotencyKey: CLIENT_ID,
  },
  appendTurns: {
    document: documents.APPEND_TURNS,
    route: 'POST /conversations/{conversation}/turns/batch',
    tag: 'Turns',
  },
  supersedeTurn: {
    document: documents.SUPERSEDE_TURN,
    route: 'POST /turns/{turnId}/versions',
    tag: 'Turns',
    idempotencyKey: CLIENT_ID,
  },
  eraseTurn: { document: documents.ERASE_TURN, route: 'DELETE /turns/{turnId}', tag: 'Turns' },
  pinTurn: { document: documents.PIN_TURN, route: 'POST /turns/{turnId}/pin', tag: 'Turns' },
  unpinTurn: { document: documents.UNPIN_TURN, route: 'DELETE /turns/{turnId}/pin', tag: 'Turns' },
  openTurn: {
    document: documents.OPEN_TURN,
    route: 'POST /conversations/{conversation}/streaming-turns',
    tag: 'Turns',
    idempotencyKey: CLIENT_ID,
  },
  appendDelta: { document: documents.APPEND_DELTA, route: 'POST /turns/{turnId}/deltas', tag: 'Turns' },
  commitTurn: { document: documents.COMMIT_TURN, route: 'POST /turns/{turnId}/commit', tag: 'Turns' },
  abortTurn: { document: documents.ABORT_TURN, route: 'POST /turns/{turnId}/abort', tag: 'Turns' },

  recall: { document: documents.RECALL, route: 'POST /recall', tag: 'Memory' },
  buildContext: {
    document: documents.BUILD_CONTEXT,
    route: 'POST /conversations/{conversation}/context',
    tag: 'Memory',
  },
  renderContext: {
    document: documents.RENDER_CONTEXT,
    route: 'POST /conversations/{conversation}/rendered-context',
    tag: 'Memory',
  },
  contextById: { document: documents.READ_CONTEXT, route: 'GET /contexts/{contextId}', tag: 'Memory' },
  summaries: {
    document: documents.LIST_SUMMARIES,
    route: 'GET /conversations/{conversation}/summaries',
    tag: 'Memory',
  },
  summarize: { document: documents.SUMMARIZE, route: 'POST /conversations/{conversation}/summaries', tag: 'Memory' },
  compact: { document: documents.COMPACT, route: 'POST /conversations/{conversation}/compact', tag: 'Memory' },
  facts: { document: documents.LIST_FACTS, route: 'GET /facts', tag: 'Memory' },
  recordFacts: { document: documents.RECORD_FACTS, route: 'POST /facts', tag: 'Memory' },
  extractFacts: {
    document: documents.EXTRACT_FACTS,
    route: 'POST /conversations/{conversation}/extract-facts',
    tag: 'Memory',
  },
  retractFact: { document: documents.RETRACT_FACT, route: 'DELETE /facts/{factId}', tag: 'Memory' },
  userProfile: { document: documents.READ_PROFILE, route: 'GET /profiles/{userId}', tag: 'Memory' },
  refreshUserProfile: { document: documents.REFRESH_PROFILE, route: 'POST /profiles/{userId}/refresh', tag: 'Memory' },

  runTurn: {
    document: documents.RUN_TURN,
    route: 'POST /conversations/{conversation}/runs',
    tag: 'Agents',
    idempotencyKey: ['clientId'],
  },
  run: { document: documents.READ_RUN, route: 'GET /runs/{runId}', tag: 'Agents' },
  cancelRun: { document: documents.CANCEL_RUN, route: 'POST /runs/{runId}/cancel', tag: 'Agents' },
  approvals: { document: documents.LIST_APPROVALS, route: 'GET /approvals', tag: 'Agents' },
  resolveApproval: {
    document: documents.RESOLVE_APPROVAL,
    route: 'POST /approvals/{approvalId}/decision',
    tag: 'Agents',
  },

  startExport: { document: documents.START_EXPORT, route: 'POST /exports', tag: 'Transfers' },
  continueExport: { document: documents.CONTINUE_EXPORT, route: 'POST /exports/{transferId}/pages', tag: 'Transfers' },
  startImport: { document: documents.START_IMPORT, route: 'POST /imports', tag: 'Transfers' },
  continueImport: {
    document: documents.CONTINUE_IMPORT,
    route: 'POST /imports/{transferId}/batches',
    tag: 'Transfers',
  },
  transfer: { document: documents.READ_TRANSFER, route: 'GET /transfers/{transferId}', tag: 'Transfers' },
  cancelTransfer: {
    document: documents.CANCEL_TRANSFER,
    route: 'POST /transfers/{transferId}/cancel',
    tag: 'Transfers',
  },
} as const satisfies Record<string, VerbRow>

export type VerbName = keyof typeof VERBS
/** A row of VERBS, whose optional properties may be absent. */
export type Verb = VerbRow

/** The rows of VERBS as entries. */
export const verbEntries = (): [VerbName, Verb][] => Object.entries(VERBS) as [VerbName, Verb][]
