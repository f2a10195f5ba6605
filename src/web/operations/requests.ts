// The requests of the operator's views, and what they return.

import type { Client, ErasureReceipt } from '../../client/index.ts'
import { PAGE_INFO, USER_ERROR, type Named } from '../kit/result.ts'
import type { AuditVerification, BigNumber } from './words.ts'

/** Returns the document of a mutation. */
const mutation = (field: string, selection: string): string => {
  const name = field[0]!.toUpperCase() + field.slice(1)
  return `mutation ${name}($input: ${name}Input!) {
  ${field}(input: $input) {
    ... on ${name}Payload { ${selection} }
    ${USER_ERROR}
  }
}`
}

export type Job = {
  id: string
  name: string
  state: string
  attempts: number
  createdAt: string
  ageSeconds: number
  lastError: string | null
  userId: string | null
  conversation: Named | null
}
export type Embedding = {
  done: BigNumber
  remaining: BigNumber
  embedder: string
  serving: string
  perSecond: number
  etaSeconds: number | null
}
export const READ_JOBS = `query Jobs($state: JobState, $first: Int, $after: String) {
  jobs(state: $state, first: $first, after: $after) {
    nodes { id name state attempts createdAt ageSeconds lastError userId conversation { id title } }
    ${PAGE_INFO}
  }
  embedding { done remaining embedder serving perSecond etaSeconds }
}`

export type MemoryAudit = {
  activeFacts: number
  supersededFacts: number
  exactDuplicatesSkipped: number
  exactDuplicateRate: number | null
  nearDuplicateRate: number | null
  neverRecalledRate: number | null
  openContradictions: number
  waitingJobs: number
  queueAgeSeconds: number | null
}
export const READ_MEMORY = `query MemoryAudit {
  memoryAudit {
    activeFacts supersededFacts exactDuplicatesSkipped exactDuplicateRate nearDuplicateRate neverRecalledRate
    openContradictions waitingJobs queueAgeSeconds
  }
}`

export type AuditLine = {
  seq: BigNumber
  at: string
  actor: string
  actedAs: string | null
  credential: string | null
  verb: string
  outcome: 'DONE' | 'DENIED'
  count: number
  resources: string[]
  details: unknown
  hash: string
}
export const READ_AUDIT_LOG = `query AuditLog($filter: AuditLogFilter, $first: Int, $after: String) {
  auditLog(filter: $filter, first: $first, after: $after) {
    nodes { seq at actor actedAs credential verb outcome count resources details hash }
    ${PAGE_INFO}
  }
}`
const READ_NEWEST_LINE = 'query NewestAuditLine { auditLog(first: 1) { nodes { seq } } }'
const VERIFY_AUDIT_LOG = `query VerifyAuditLog($after: String) {
  verifyAuditLog(after: $after) { brokenReason brokenSeq endCursor hash isComplete keyedFrom verifiedThrough }
}`

/** The result so far, and the number of the newest line. */
export type Verified = { part: AuditVerification; newest: number }

/**
 * Verifies the audit log to its end, or to the first line that breaks it, and yields the result after each part.
 * @throws ColloquyError
 */
export async function* verifyLog(client: Client, signal: AbortSignal): AsyncGenerator<Verified, void> {
  const { auditLog } = await client.request(READ_NEWEST_LINE, {}, { signal })
  const newest = Number(auditLog.nodes[0]?.seq ?? 0)
  let after: string | null = null
  let keyedFrom: BigNumber | null = null
  for (let isComplete = false; !isComplete;) {
    const read: { verifyAuditLog: AuditVerification } = await client.request(VERIFY_AUDIT_LOG, { after }, { signal })
    const part = read.verifyAuditLog
    keyedFrom ??= part.keyedFrom
    yield { part: { ...part, keyedFrom }, newest }
    isComplete = part.isComplete || part.brokenSeq !== null
    after = part.endCursor
  }
}

export type ApiKey = {
  id: string
  name: string
  actor: string
  kind: string
  rights: string[]
  conversationIds: string[] | null
  createdAt: string
  expiresAt: string | null
  lastUsedAt: string | null
  revokedAt: string | null
  version: number
}
const API_KEY = 'id name actor kind rights conversationIds createdAt expiresAt lastUsedAt revokedAt version'
export const READ_KEYS = `query ApiKeys($first: Int, $after: String) {
  apiKeys(first: $first, after: $after) { nodes { ${API_KEY} } ${PAGE_INFO} }
}`
/** A key with its token, which only this answer has. */
export type NewToken = { apiKey: ApiKey; token: string }
export const CREATE_KEY = mutation('createApiKey', `apiKey { ${API_KEY} } token`)
export const ROTATE_KEY = mutation('rotateApiKey', `apiKey { ${API_KEY} } token`)
export const REVOKE_KEY = mutation('revokeApiKey', `apiKey { ${API_KEY} }`)

export type Settings = {
  redact: string | null
  retention: string
  ttlSeconds: number | null
  contextStrategy: string | null
  tokenBudget: number | null
  recallHits: number | null
  recallThreshold: number | null
  tokensPerDay: number | null
  redactInEffect: string
  defaultsInEffect: {
    contextStrategy: string
    recallHits: number | null
    recallThreshold: number
    retention: string
    tokenBudget: number
    ttlSeconds: number | null
  }
}
const SETTINGS = `redact retention ttlSeconds contextStrategy tokenBudget recallHits recallThreshold tokensPerDay
    redactInEffect
    defaultsInEffect { contextStrategy recallHits recallThreshold retention tokenBudget ttlSeconds }`
export const READ_SETTINGS = `query TenantSettings { tenantSettings { ${SETTINGS} } }`
export const UPDATE_SETTINGS = mutation('updateTenantSettings', `tenantSettings { ${SETTINGS} }`)

/** The fields of a conversation that decide for how long it is kept, and who may change them. */
export type RetentionSettings = {
  id: string
  owner: string
  version: number
  retention: string
  expiresAt: string | null
  legalHold: boolean
  viewerParticipant: { administrator: boolean; leftAt: string | null } | null
}
const RETENTION = 'id owner version retention expiresAt legalHold viewerParticipant { administrator leftAt }'
export const READ_RETENTION = `query Retention($id: ID!, $as: String) {
  conversation(id: $id, as: $as) { ${RETENTION} }
}`
export const UPDATE_RETENTION = mutation('updateConversation', `conversation { ${RETENTION} }`)
export const SET_HOLD = mutation('setLegalHold', 'changed legalHold')

const RECEIPT =
  'id kind subject conversations turns facts summaries profiles held completedAt document signature counts'
export type Receipt = ErasureReceipt & { counts: Record<string, number> }
export type Erasure = { id: string; createdAt: string; receipt: Receipt | null }
export const ERASE_USER = mutation('eraseUser', `erasure { id createdAt receipt { ${RECEIPT} } }`)
export const DELETE_CONVERSATION = mutation('deleteConversation', `deletedConversationId receipt { ${RECEIPT} }`)
export const READ_ERASURE = `query Erasure($id: ID!) { erasure(id: $id) { id createdAt receipt { ${RECEIPT} } } }`
export const VERIFY_RECEIPT = `query VerifyErasureReceipt($document: String!, $signature: String!) {
  verifyErasureReceipt(document: $document, signature: $signature)
}`
