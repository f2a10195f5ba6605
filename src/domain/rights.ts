// The table of rights: the right that each verb of the domain needs, and what parts of its input need in addition.
// Pure. authorize.ts applies the table, and docs/security.md prints it (`npm run docs:rights`).

import type { Right } from './principal.ts'

/** Relations of the acting actor to a conversation, closest first. Each includes those after it, up to PARTICIPANT. */
export const RELATIONS = ['OWNER', 'ADMINISTRATOR', 'PARTICIPANT', 'FORMER', 'STRANGER'] as const
export type Relation = (typeof RELATIONS)[number]

/** Passes an actor with at least that relation, or a credential with the right. Without a relation, only the right. */
export type Permit = { relation?: 'OWNER' | 'ADMINISTRATOR' | 'PARTICIPANT'; right: Right }

/** A part of a verb's input that needs a permit. `when` completes "A call …"; `reason` says why it needs the permit. */
type ConditionRule = Permit & { when: string; reason: string }

const MANAGED = { relation: 'ADMINISTRATOR', right: 'manage' } as const
const OWNED = { relation: 'OWNER', right: 'manage' } as const
const PRESENT = { relation: 'PARTICIPANT', right: 'manage' } as const

export const CONDITIONS = {
  foreignActor: {
    when: 'with an `actor` of a turn other than the actor of the credential',
    right: 'act-as',
    reason: 'The turn would appear to be written by somebody else.',
  },
  systemRole: {
    ...MANAGED,
    when: 'with `role: SYSTEM`',
    reason: 'Models obey system messages, so such a turn instructs every agent in the conversation.',
  },
  pinned: {
    ...MANAGED,
    when: 'that pins a turn, or changes a pin',
    reason: 'Every context includes the pinned turns.',
  },
  createdAt: {
    when: 'with `createdAt`',
    right: 'manage',
    reason: 'Only an import may state when a turn was written: a false time changes which fact is the newer one.',
  },
  foreignOwner: {
    when: 'with an `owner` other than the viewer',
    right: 'manage',
    reason: 'The viewer would decide for somebody else, who then answers for the conversation.',
  },
  ownKind: {
    when: 'with a `kind` of the viewer itself other than the kind of its credential',
    right: 'manage',
    reason: 'The statements of people are trusted more than those of agents and tools.',
  },
  settings: {
    ...MANAGED,
    when: 'with `systemPrompt`, `agentName`, `visibility`, `compaction`, `factExtraction`, `automaticTitle`, `maxAgentTurns`, `retention`, `ttlSeconds` or `expiresAt`',
    reason: 'These fields decide how every participant is answered, and who sees the conversation.',
  },
  owner: { ...OWNED, when: 'with `owner`', reason: 'Ownership is given away by its holder only.' },
  otherParticipant: {
    ...MANAGED,
    when: 'about another participant than the viewer',
    reason: 'Participants can read the conversation, so its owner and administrators decide who joins.',
  },
  otherAuthor: {
    ...MANAGED,
    when: 'about a turn of another author than the viewer',
    reason: 'The content of others is lost for every participant.',
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
    when: 'that makes an administrator, or changes or removes the owner or an administrator',
    reason: 'Administrators could otherwise exclude each other and the owner.',
  },
  agentSettings: {
    ...MANAGED,
    when: 'that gives `agent` settings',
    reason: 'The server calls a provider for such a participant, at the cost of its operator.',
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
      'Such facts are visible in the whole tenant, and belong to no conversation whose participants answer for them.',
  },
  otherUser: {
    when: 'about another user than the viewer',
    right: 'manage',
    reason: 'A profile combines what a user said in all conversations.',
  },
  otherUserErased: {
    when: 'that erases another user than the viewer',
    right: 'manage',
    reason: 'The data of the user is lost in all conversations.',
  },
  foreignAgent: {
    when:
      'for another agent than the viewer, unless the agent has settings and the call gives no `provider`, `model`, '
      + '`instructions` and `tools`',
    right: 'act-as',
    reason: 'The viewer would decide what somebody else says.',
  },
  otherRun: {
    ...MANAGED,
    when: 'about a run that neither the viewer started nor the viewer executes as its agent',
    reason: 'A cancelled or continued run is an answer for all participants.',
  },
  tenantScope: {
    when: 'with `scope: TENANT`, or for facts with neither a conversation nor the viewer as the user',
    right: 'manage',
    reason: 'The search covers conversations in which the viewer takes no part.',
  },
} as const satisfies Record<string, ConditionRule>
export type Condition = keyof typeof CONDITIONS

/**
 * How a verb applies to a credential that is limited to some conversations. ONE: the call names the conversation, which
 * must be one of them. OBJECTS: the verb finds the conversation of each object, and treats objects of other
 * conversations as missing. NONE: the verb concerns the tenant, and is refused.
 */
type Limited = 'ONE' | 'OBJECTS' | 'NONE'

export type VerbRule = { right: Right; limited: Limited; permit?: Permit; conditions?: readonly Condition[] }

const TURN = ['foreignActor', 'systemRole', 'pinned', 'createdAt'] as const

const RULES = {
  // Conversations
  createConversation: { right: 'write', limited: 'NONE', conditions: ['foreignOwner', 'ownKind'] },
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
    conditions: ['otherParticipant', 'afterRemoval', 'history', 'ownKind', 'administrator', 'agentSettings'],
  },
  updateParticipant: {
    right: 'write',
    limited: 'ONE',
    conditions: ['otherParticipant', 'history', 'administrator', 'agentSettings'],
  },
  removeParticipant: { right: 'write', limited: 'ONE', conditions: ['otherParticipant', 'administrator'] },
  markRead: { right: 'write', limited: 'ONE' },
  setPresence: { right: 'write', limited: 'ONE' },
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
  pageOfTurns: { right: 'read', limited: 'OBJECTS' },
  history: { right: 'read', limited: 'OBJECTS' },
  historyWithSummaries: { right: 'read', limited: 'OBJECTS' },
  countOfTurns: { right: 'read', limited: 'OBJECTS' },
  // Runs of agents
  runTurn: { right: 'write', limited: 'ONE', conditions: ['foreignAgent', 'otherRun'] },
  cancelRun: { right: 'write', limited: 'OBJECTS', conditions: ['otherRun'] },
  getRuns: { right: 'read', limited: 'OBJECTS' },
  getRunPages: { right: 'read', limited: 'OBJECTS' },
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
  getFacts: { right: 'read', limited: 'OBJECTS' },
  getFactPage: { right: 'read', limited: 'ONE', conditions: ['tenantScope'] },
  getFactPages: { right: 'read', limited: 'OBJECTS' },
  getFactSourcePages: { right: 'read', limited: 'OBJECTS' },
  getProfiles: { right: 'read', limited: 'NONE', conditions: ['otherUser'] },
  refreshUserProfile: { right: 'write', limited: 'NONE', conditions: ['otherUser'] },
  // Recall and context
  recall: { right: 'read', limited: 'ONE', conditions: ['tenantScope'] },
  buildContext: { right: 'read', limited: 'ONE', conditions: ['tenantScope'] },
  // Agents
  getProviders: { right: 'read', limited: 'NONE' },
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
} as const satisfies Record<string, VerbRule>
export type Verb = keyof typeof RULES

/** The rule of each verb. A verb is an exported function of the domain that takes `(deps, viewer, …)`. */
export const VERBS: Readonly<Record<Verb, VerbRule>> = RULES

/** Whether the relation is at least the required one. */
export const reaches = (relation: Relation, required: Relation): boolean =>
  RELATIONS.indexOf(relation) <= RELATIONS.indexOf(required)

/** What determines an actor's relation to a conversation. */
export type Standing = {
  owner: string
  visibility: 'OPEN' | 'MEMBERS'
  /** Null for an actor who was never a participant. */
  participant: { leftAt: Date | null; administrator: boolean } | null
}

/** Returns the actor's relation. The owner of a MEMBERS conversation must also be a participant of it. */
export function relationOf(actor: string, { owner, visibility, participant }: Standing): Relation {
  const isPresent = participant !== null && participant.leftAt === null
  if (actor === owner && (isPresent || (participant === null && visibility === 'OPEN'))) return 'OWNER'
  if (isPresent) return participant.administrator ? 'ADMINISTRATOR' : 'PARTICIPANT'
  return participant === null ? 'STRANGER' : 'FORMER'
}
