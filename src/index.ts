// The package's public API: dependencies, domain functions for use without GraphQL, background work, and the server.
// Contains only re-exports.

export { loadConfig, type Config } from './config/config.ts'
export { readSettingsFile, type SettingsFile } from './config/settings-file.ts'
export {
  CallFailed,
  createDeps,
  DatabaseUnreachable,
  DataDirInUse,
  MigrationError,
  PartitionError,
  type DepsConfig,
  type OpenDeps,
} from './deps.ts'
export * from './errors.ts'
export type { GivenProvider } from './providers/chat-registry.ts'
export { ProviderCallFailed, type ProviderAdapter } from './providers/ports/provider-adapter.ts'
export type { Deps } from './domain/deps.ts'
export type { Viewer } from './domain/view.ts'
export type { Principal, Right } from './domain/principal.ts'
export {
  createApiKey,
  getApiKeys,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type IssuedApiKey,
} from './domain/api-key/api-key.ts'
export {
  createConversation,
  getConversationByKey,
  getConversations,
  updateConversation,
  type Conversation,
} from './domain/conversation.ts'
export { getConversationPage } from './domain/conversation-page.ts'
export { getAuditLog, verifyAuditLog, type AuditLine, type AuditVerification } from './domain/audit-page.ts'
export { deleteConversation } from './domain/erasure/delete-conversation.ts'
export { eraseTurn, type ErasedTurn } from './domain/erasure/erase-turn.ts'
export { eraseUser } from './domain/erasure/erase-user.ts'
export { getErasure, type Erasure } from './domain/erasure/erasure.ts'
export { pruneConversations } from './domain/erasure/retention.ts'
export { getTenantSettings, updateTenantSettings, type TenantSettings } from './domain/tenant-settings.ts'
export { setLegalHold } from './domain/erasure/legal-hold.ts'
export { cancelTransfer, getTransfer, startExport, startImport, type Transfer } from './domain/transfer/transfer.ts'
export { continueExport, type ExportPage } from './domain/transfer/export.ts'
export { continueImport } from './domain/transfer/import.ts'
export { verifyErasureReceipt, type ErasureReceipt } from './domain/erasure/receipt.ts'
export { factCursor, getFactPage, getFactPages, getFacts, type Fact } from './domain/fact/fact.ts'
export { factSourceCursor, getFactSourcePages, type FactSource } from './domain/fact/source.ts'
export { extractFacts } from './domain/fact/extract.ts'
export { reconcileFacts, type Reconciliation } from './domain/fact/reconcile-facts.ts'
export { undoReconciliation, type UndoneReconciliation } from './domain/fact/undo-reconciliation.ts'
export type { FactExtraction } from './domain/fact/fact-extraction.ts'
export { recordFacts, retractFact } from './domain/fact/record.ts'
export { addParticipant, getParticipants, markRead, removeParticipant, type Participant } from './domain/participant.ts'
export { getProviders } from './domain/provider.ts'
export { updateParticipant } from './domain/update-participant.ts'
export { getPresence, setPresence } from './domain/presence.ts'
export { compact, summarize, type Compaction } from './domain/summary/compact.ts'
export { getCoveringSummaries, getSummaries, type Summary } from './domain/summary/summary.ts'
export { approvalCursor, getApprovalPage, getApprovals, type Approval } from './domain/run/approval.ts'
export { resolveApproval, type ResolvedApproval } from './domain/run/resolve-approval.ts'
export { getJobs, type Job } from './domain/job/job.ts'
export { startBackground } from './domain/background/start-background.ts'
export { auditMemory, type MemoryAudit } from './domain/fact/audit.ts'
export { appendTurn, appendTurns, openTurn } from './domain/turn/append.ts'
export { partsFromAiSdk, type AiSdkPart } from './domain/turn/ai-sdk-parts.ts'
export { pinTurn, unpinTurn } from './domain/turn/pin.ts'
export { claimTurn, releaseClaim, renewClaim, type Claim } from './domain/claim/claim.ts'
export { getWakeUps, type WakeUp } from './domain/claim/wake-up-page.ts'
export { supersedeTurn } from './domain/turn/supersede.ts'
export { history, pageOfTurns, turnCursor } from './domain/turn/history.ts'
export { getTurns, type Turn } from './domain/turn/turn.ts'
export { abortTurn, appendDelta, commitTurn } from './domain/streaming-turn/stream.ts'
export type { ConversationEvent, VisibleEvent } from './domain/event/event.ts'
export { readEventsOf } from './domain/event/reader.ts'
export { readInbox } from './domain/event/inbox.ts'
export type { InboxEvent } from './domain/event/inboxes.ts'
export type { CustomDetector } from './text/redact.ts'
export type { RecallHit } from './domain/recall/hit.ts'
export { recall, type Recall } from './domain/recall/recall.ts'
export type { Memory, MemoryKind } from './domain/recall/memory.ts'
export { getProfiles, type UserProfile } from './domain/profile/profile.ts'
export { refreshUserProfile } from './domain/profile/refresh.ts'
export { runTurn, type RunTurnInput, type RunTurnResult } from './domain/run/start.ts'
export { cancelRun } from './domain/run/cancel.ts'
export { getRunPages, getRuns, runCursor, type ProviderCall } from './domain/run/run.ts'
export { readRunEvents } from './domain/run/wait.ts'
export type { Tool, ToolContext } from './domain/run/tools.ts'
export type { Run } from './domain/visible-run.ts'
export { buildContext } from './domain/context/build.ts'
export { asOf, type AsOfInput } from './domain/past/as-of.ts'
export { getContexts, getReplyPages } from './domain/context/stored.ts'
export type { Context } from './domain/context/message.ts'
export { render } from './domain/context/render.ts'
export { toAiSdkModelPrompt } from './domain/context/render/ai-sdk.ts'
export type { Health } from './domain/platform.ts'
export { createServer, type Server } from './server/http.ts'
export { openTranscript } from './open-transcript.ts'
export type { ServerConfig } from './server/server-config.ts'
