// The table of rights: the right that each verb of the domain needs, and the permits that parts of its input need in
// addition. Pure. authorize.ts applies the table; `npm run docs:rights` writes it into docs/rights.md.

import type { Right } from './principal.ts'

/** Requires an actor with at least this relation or a credential with the right; without a relation, only the right. */
export type Permit = { relation?: 'OWNER' | 'ADMINISTRATOR' | 'PARTICIPANT'; right: Right }

/** A part of a verb's input that needs a permit. `when` completes "A call …"; `reason` states why it needs one. */
type ConditionRule = Permit & { when: string; reason: string }

const MANAGED = { relation: 'ADMINISTRATOR', right: 'manage' } as const
const OWNED = { relation: 'OWNER', right: 'manage' } as const
const PRESENT = { relation: 'PARTICIPANT', right: 'manage' } as const

/** The conditions by name. A verb needs the permit of a condition only for input that meets the condition. */
export const CONDITIONS = {
  foreignActor: {
    when: 'with a turn `actor` other than the actor of the credential',
    right: 'act-as',
    reason: 'The turn would appear to be written by another actor.',
  },
  systemRole: {
    ...MANAGED,
    when: 'with `role: SYSTEM`',
    reason: 'Models obey system messages, so such a turn instructs every agent in the conversation.',
  },
  pinned: { ...MANAGED, when: 'that pins a turn or changes a pin', reason: 'Every context includes the pinned turns.' },
  createdAt: {
    when: 'with `createdAt`',
    right: 'manage',
    reason: 'Only an import may state when a turn was written: a false time changes which fact is the newer one.',
  },
  foreignOwner: {
    when: 'with an `owner` other than the viewer',
    right: 'manage',
    reason: 'The owner is responsible for the conversation, so an actor must not be made its owner by another one.',
  },
  ownKind: {
    when: 'that gives the viewer a `kind` other than the kind of its credential',
    right: 'manage',
    reason: 'The statements of people are trusted more than those of agents and tools.',
  },
  foreignKind: {
    when: 'that gives another actor a `kind` that is more trusted than the kind of the credential',
    right: 'act-as',
    reason: 'An agent could otherwise state that another agent is a person.',
  },
  settings: {
    ...MANAGED,
    when: 'with `systemPrompt`, `agentName`, `visibility`, `compaction`, `factExtraction`, `automaticTitle`, `maxAgentTurns`, `retention`, `ttlSeconds` or `expiresAt`',
    reason: 'These fields determine how agents answer every participant, and which actors see the conversation.',
  },
  owner: { ...OWNED, when: 'with `owner`', reason: 'Only the owner may transfer ownership.' },
  otherParticipant: {
    ...MANAGED,
    when: 'about a participant other than the viewer',
    reason: 'Participants can read the conversation, so its owner and administrators decide who joins.',
  },
  otherAuthor: {
    ...MANAGED,
    when: 'about a turn by an author other than the viewer',
    reason: 'The content is lost for every participant.',
  },
  afterRemoval: {
    right: 'manage',
    when: 'that adds the viewer again after it was removed',
    reason: 'A removal would otherwise last only until the removed actor returns.',
  },
  history: {
    ...MANAGED,
    when: 'that gives the viewer a longer history (`historyVisibility: ALL`)',
    reason: 'The history before a participant joined was written without it.',
  },
  administrator: {
    ...OWNED,
    when: 'that makes a participant an administrator, or that changes or removes the owner or an administrator',
    reason: 'Administrators could otherwise exclude each other and the owner.',
  },
  agentSettings: {
    ...MANAGED,
    when: 'that gives `agent` settings',
    reason: 'The server calls a provider for such a participant, and the operator pays for the calls.',
  },
  stateSchema: {
    ...MANAGED,
    when: 'that changes the `schema` of an existing key',
    reason: 'The schema decides which values all participants may write.',
  },
  foreignState: {
    ...MANAGED,
    when: 'about a key that another actor created, also one that the viewer does not see',
    reason: 'Deleting a key and creating it again would replace its schema and its audience.',
  },
  factsAboutOthers: {
    ...PRESENT,
    when: 'about facts of a conversation that are not about the viewer',
    reason: 'A participant knows the conversation. Its statements about others are marked as claims.',
  },
  factsOfTenant: {
    when: 'about facts without a conversation that are not about the viewer',
    right: 'manage',
    reason:
      'Such facts are visible in the whole tenant, and no participants of a conversation are responsible for them.',
  },
  stored: {
    when: 'that stores the context',
    right: 'write',
    reason: 'The context is kept with the conversation, and displaces the oldest one if there are too many.',
  },
  otherUser: {
    when: 'about a user other than the viewer',
    right: 'manage',
    reason: 'A profile combines what a user said in all conversations.',
  },
  otherUserErased: {
    when: 'that erases a user other than the viewer',
    right: 'manage',
    reason: 'The data of the user is deleted from all conversations.',
  },
  foreignAgent: {
    when:
      'for an agent other than the viewer, unless the agent has settings and the call gives no `provider`, `model`, '
      + '`instructions` or `tools`',
    right: 'act-as',
    reason: 'The viewer would decide what another actor says.',
  },
  otherRun: {
    ...MANAGED,
    when:
      'about a run that the viewer did not start and whose agent is not the viewer; and, to cancel it, that does not reply '
      + 'to a turn of the viewer',
    reason: 'Cancelling or continuing a run affects its answer for all participants.',
  },
  tenantScope: {
    when: 'with `scope: TENANT`, or for facts with neither a conversation nor the viewer as the user',
    right: 'manage',
    reason: 'The search covers conversations in which the viewer is not a participant.',
  },
  foreignExport: {
    when: 'with a `scope` other than `USER`, or for a user other than the viewer',
    right: 'operate',
    reason: 'The export contains data that the viewer does not see.',
  },
} as const satisfies Record<string, ConditionRule>
export type Condition = keyof typeof CONDITIONS

/**
 * How a verb applies to a credential that is limited to some conversations. ONE: the call must name one of these
 * conversations. OBJECTS: the verb finds the conversation of each object and treats objects of other conversations as
 * missing. NONE: the verb concerns the whole tenant and is refused.
 */
type Limited = 'ONE' | 'OBJECTS' | 'NONE'

export type VerbRule = { right: Right; limited: Limited; permit?: Permit; conditions?: readonly Condition[] }

const TURN = ['foreignActor', 'systemRole', 'pinned', 'createdAt'] as const

const RULES = {
  // Conversations
  createConversation: { right: 'write', limited: 'NONE', conditions: ['foreignOwner', 'ownKind', 'foreignKind'] },
  getConversations: { right: 'read', limited: 'OBJECTS' },
  getConversationByKey: { right: 'read', limited: 'OBJECTS' },
  getConversationPage: { right: 'read', limited: 'OBJECTS' },
  getConversationsWithTurns: { right: 'read', limited: 'OBJECTS' },
  updateConversation: { right: 'write', limited: 'ONE', permit: PRESENT, conditions: ['settings', 'owner'] },
  deleteConversation: { right: 'erase', limited: 'ONE', permit: OWNED },
  // Participants
  getParticipants: { right: 'read', limited: 'OBJECTS' },
  getParticipantsByKey: { right: 'read', limited: 'OBJECTS' },
  getParticipantDetails: { right: 'read', limited: 'OBJECTS' },
  getUnreadCounts: { right: 'read', limited: 'OBJECTS' },
  pageOfParticipants: { right: 'read', limited: 'OBJECTS' },
  countOfParticipants: { right: 'read', limited: 'OBJECTS' },
  addParticipant: {
    right: 'write',
    limited: 'ONE',
    conditions: [
      'otherParticipant',
      'afterRemoval',
      'history',
      'ownKind',
      'foreignKind',
      'administrator',
      'agentSettings',
    ],
  },
  updateParticipant: {
    right: 'write',
    limited: 'ONE',
    conditions: ['otherParticipant', 'history', 'administrator', 'agentSettings'],
  },
  removeParticipant: { right: 'write', limited: 'ONE', conditions: ['otherParticipant', 'administrator'] },
  markRead: { right: 'write', limited: 'ONE' },
  setPresence: { right: 'write', limited: 'ONE' },
  // Shared state and attachments
  updateSharedState: { right: 'write', limited: 'ONE', conditions: ['stateSchema'] },
  deleteSharedState: { right: 'write', limited: 'ONE', conditions: ['foreignState'] },
  getSharedStates: { right: 'read', limited: 'OBJECTS' },
  getSharedStatePages: { right: 'read', limited: 'OBJECTS' },
  uploadFile: { right: 'write', limited: 'ONE' },
  getAttachment: { right: 'read', limited: 'OBJECTS' },
  // Turns
  appendTurn: { right: 'write', limited: 'ONE', conditions: TURN },
  appendTurns: { right: 'write', limited: 'ONE', conditions: TURN },
  openTurn: { right: 'write', limited: 'ONE', conditions: TURN },
  appendDelta: { right: 'write', limited: 'OBJECTS' },
  commitTurn: { right: 'write', limited: 'OBJECTS' },
  abortTurn: { right: 'write', limited: 'OBJECTS' },
  supersedeTurn: { right: 'write', limited: 'OBJECTS', conditions: TURN },
  pinTurn: { right: 'write', limited: 'OBJECTS', permit: MANAGED },
  unpinTurn: { right: 'write', limited: 'OBJECTS', permit: MANAGED },
  claimTurn: { right: 'write', limited: 'OBJECTS' },
  renewClaim: { right: 'write', limited: 'OBJECTS' },
  releaseClaim: { right: 'write', limited: 'OBJECTS' },
  eraseTurn: { right: 'erase', limited: 'OBJECTS', conditions: ['otherAuthor'] },
  getTurns: { right: 'read', limited: 'OBJECTS' },
  getNextVersions: { right: 'read', limited: 'OBJECTS' },
  getPreviousVersions: { right: 'read', limited: 'OBJECTS' },
  getVersionNumbers: { right: 'read', limited: 'OBJECTS' },
  pageOfTurnJson: { right: 'read', limited: 'OBJECTS' },
  pageOfTurns: { right: 'read', limited: 'OBJECTS' },
  history: { right: 'read', limited: 'OBJECTS' },
  historyWithSummaries: { right: 'read', limited: 'OBJECTS' },
  countOfTurns: { right: 'read', limited: 'OBJECTS' },
  // Agents and their runs
  getProviders: { right: 'read', limited: 'NONE' },
  runTurn: { right: 'write', limited: 'ONE', conditions: ['foreignAgent', 'otherRun', 'tenantScope'] },
  cancelRun: { right: 'write', limited: 'OBJECTS', conditions: ['otherRun'] },
  getRuns: { right: 'read', limited: 'OBJECTS' },
  getRunPages: { right: 'read', limited: 'OBJECTS' },
  getPendingAnswers: { right: 'read', limited: 'OBJECTS' },
  getProviderCalls: { right: 'read', limited: 'OBJECTS' },
  getTokenSums: { right: 'read', limited: 'OBJECTS' },
  readRunEvents: { right: 'read', limited: 'OBJECTS' },
  getApprovals: { right: 'read', limited: 'OBJECTS' },
  getApprovalPage: { right: 'read', limited: 'OBJECTS' },
  getApprovalPages: { right: 'read', limited: 'OBJECTS' },
  resolveApproval: { right: 'write', limited: 'OBJECTS', permit: MANAGED },
  // Events
  readEventsOf: { right: 'read', limited: 'ONE' },
  readInto: { right: 'read', limited: 'ONE' },
  readInbox: { right: 'read', limited: 'NONE' },
  getWakeUps: { right: 'read', limited: 'NONE' },
  // Summaries
  compact: { right: 'write', limited: 'ONE', permit: PRESENT },
  summarize: { right: 'write', limited: 'ONE', permit: PRESENT },
  getSummaries: { right: 'read', limited: 'OBJECTS' },
  coveringSummaries: { right: 'read', limited: 'OBJECTS' },
  getCoveringSummaries: { right: 'read', limited: 'OBJECTS' },
  summarizedThrough: { right: 'read', limited: 'OBJECTS' },
  // Facts and profiles
  recordFacts: { right: 'write', limited: 'ONE', conditions: ['factsAboutOthers', 'factsOfTenant'] },
  retractFact: { right: 'write', limited: 'OBJECTS', conditions: ['factsAboutOthers', 'factsOfTenant'] },
  extractFacts: { right: 'write', limited: 'ONE', permit: PRESENT },
  reconcileFacts: { right: 'write', limited: 'ONE', conditions: ['factsAboutOthers', 'factsOfTenant'] },
  undoReconciliation: { right: 'write', limited: 'OBJECTS', conditions: ['factsAboutOthers', 'factsOfTenant'] },
  getFacts: { right: 'read', limited: 'OBJECTS' },
  getFactPage: { right: 'read', limited: 'ONE', conditions: ['tenantScope'] },
  getFactPages: { right: 'read', limited: 'OBJECTS' },
  getFactSourcePages: { right: 'read', limited: 'OBJECTS' },
  getProfiles: { right: 'read', limited: 'NONE', conditions: ['otherUser'] },
  refreshUserProfile: { right: 'write', limited: 'NONE', conditions: ['otherUser'] },
  // Recall and context
  momentOf: { right: 'read', limited: 'OBJECTS' },
  recall: { right: 'read', limited: 'ONE', conditions: ['tenantScope'] },
  buildContext: { right: 'read', limited: 'ONE', conditions: ['tenantScope', 'stored'] },
  getContexts: { right: 'read', limited: 'OBJECTS' },
  getReplyPages: { right: 'read', limited: 'OBJECTS' },
  // Operation of the server
  getJobs: { right: 'operate', limited: 'NONE' },
  getJob: { right: 'operate', limited: 'NONE' },
  auditMemory: { right: 'operate', limited: 'NONE' },
  getEmbeddingProgress: { right: 'operate', limited: 'NONE' },
  eraseUser: { right: 'erase', limited: 'NONE', conditions: ['otherUserErased'] },
  getErasure: { right: 'erase', limited: 'NONE' },
  verifyErasureReceipt: { right: 'operate', limited: 'NONE' },
  pruneConversations: { right: 'operate', limited: 'NONE', permit: { right: 'erase' } },
  getTenantSettings: { right: 'operate', limited: 'NONE' },
  updateTenantSettings: { right: 'operate', limited: 'NONE' },
  setLegalHold: { right: 'operate', limited: 'NONE' },
  getApiKeys: { right: 'operate', limited: 'NONE' },
  getApiKey: { right: 'operate', limited: 'NONE' },
  createApiKey: { right: 'operate', limited: 'NONE' },
  rotateApiKey: { right: 'operate', limited: 'NONE' },
  revokeApiKey: { right: 'operate', limited: 'NONE' },
  getAuditLog: { right: 'operate', limited: 'NONE' },
  verifyAuditLog: { right: 'operate', limited: 'NONE' },
  // Export and import
  startExport: { right: 'read', limited: 'ONE', conditions: ['foreignExport'] },
  continueExport: { right: 'read', limited: 'OBJECTS', conditions: ['foreignExport'] },
  startImport: { right: 'operate', limited: 'NONE' },
  continueImport: { right: 'operate', limited: 'NONE' },
  cancelTransfer: { right: 'read', limited: 'OBJECTS' },
  getTransfer: { right: 'read', limited: 'OBJECTS' },
} as const satisfies Record<string, VerbRule>
export type Verb = keyof typeof RULES

/** The rule of each verb. A verb is an exported function of the domain that takes `(deps, viewer, …)`. */
export const VERBS: Readonly<Record<Verb, VerbRule>> = RULES
