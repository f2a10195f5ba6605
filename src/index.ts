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
export type { Viewer } from './domain/kernel/view.ts'
export type { Principal, Right } from './domain/kernel/rights/principal.ts'
export {
  createApiKey,
  getApiKeys,
  revokeApiKey,
  rotateApiKey,
  type ApiKey,
  type IssuedApiKey,
} from './domain/trust/api-key/api-key.ts'
export {
  createConversation,
  getConversationByKey,
  getConversations,
  updateConversation,
  type Conversation,
} from './domain/conversation/conversation.ts'
export { getConversationPage } from './domain/conversation/conversation-page.ts'
export { getAuditLog, verifyAuditLog, type AuditLine, type AuditVerification } from './domain/trust/audit-page.ts'
export { deleteConversation } from './domain/trust/erasure/delete-conversation.ts'
export { eraseTurn, type ErasedTurn } from './domain/trust/erasure/erase-turn.ts'
export { eraseUser } from './domain/trust/erasure/erase-user.ts'
export { getErasure, type Erasure } from './domain/trust/erasure/erasure.ts'
export { pruneConversations } from './domain/trust/erasure/retention.ts'
export { getTenantSettings, updateTenantSettings, type TenantSettings } from './domain/conversation/tenant-settings.ts'
export { setLegalHold } from './domain/trust/erasure/legal-hold.ts'
export {
  cancelTransfer,
  getTransfer,
  startExport,
  startImport,
  type Transfer,
} from './domain/trust/transfer/transfer.ts'
export { continueExport, type ExportPage } from './domain/trust/transfer/export.ts'
export { continueImport } from './domain/trust/transfer/import/import.ts'
export { verifyErasureReceipt, type ErasureReceipt } from './domain/trust/erasure/receipt.ts'
export { factCursor, getFactPage, getFactPages, getFacts, type Fact } from './domain/memory/fact/fact.ts'
export { factSourceCursor, getFactSourcePages, type FactSource } from './domain/memory/fact/source.ts'
export { extractFacts } from './domain/memory/fact/extract/extract.ts'
export { reconcileFacts, type Reconciliation } from './domain/memory/fact/reconcile/reconcile-facts.ts'
export { undoReconciliation, type UndoneReconciliation } from './domain/memory/fact/reconcile/undo-reconciliation.ts'
export type { FactExtraction } from './domain/memory/fact/extract/fact-extraction.ts'
export { recordFacts, retractFact } from './domain/memory/fact/record.ts'
export {
  addParticipant,
  getParticipants,
  markRead,
  removeParticipant,
  type Participant,
} from './domain/conversation/participant/participant.ts'
export { getProviders } from './domain/agent/definition/visible.ts'
export { updateParticipant } from './domain/conversation/participant/update-participant.ts'
export { getPresence, setPresence } from './domain/conversation/presence.ts'
export {
  getSharedStatePages,
  getSharedStates,
  stateCursor,
  type SharedState,
} from './domain/conversation/shared-state/shared-state.ts'
export type { UpdateSharedStateInput } from './domain/conversation/shared-state/state-input.ts'
export { updateSharedState, type ChangedState } from './domain/conversation/shared-state/update-shared-state.ts'
export { uploadFile, type UploadedFile } from './domain/conversation/attachment/upload-file.ts'
export { getAttachment, type Attachment } from './domain/conversation/attachment/attachment.ts'
export { deleteSharedState, type DeletedState } from './domain/conversation/shared-state/delete-shared-state.ts'
export { compact, summarize, type Compaction } from './domain/memory/summary/compact.ts'
export { getCoveringSummaries, getSummaries, type Summary } from './domain/memory/summary/summary.ts'
export { approvalCursor, getApprovalPage, getApprovals, type Approval } from './domain/agent/run/approval/approval.ts'
export { resolveApproval, type ResolvedApproval } from './domain/agent/run/approval/resolve-approval.ts'
export { getJobs, type Job } from './domain/background/job/job.ts'
export { startBackground } from './domain/background/jobs.ts'
export { auditMemory, type MemoryAudit } from './domain/memory/fact/audit.ts'
export { appendTurn, appendTurns, openTurn } from './domain/turn/append/append.ts'
export { partsFromAiSdk, type AiSdkPart } from './domain/turn/ai-sdk-parts.ts'
export { pinTurn, unpinTurn } from './domain/turn/pin.ts'
export { claimTurn, releaseClaim, renewClaim, type Claim } from './domain/agent/claim/claim.ts'
export { getWakeUps, type WakeUp } from './domain/agent/claim/wake-up-page.ts'
export { supersedeTurn } from './domain/turn/supersede.ts'
export { history, pageOfTurns, turnCursor } from './domain/turn/history.ts'
export { getTurns, type Turn } from './domain/turn/turn.ts'
export { appendDelta } from './domain/turn/streaming/append-delta.ts'
export { abortTurn, commitTurn } from './domain/turn/streaming/stream.ts'
export type { ConversationEvent, VisibleEvent } from './domain/turn/journal/event.ts'
export { readEventsOf } from './domain/turn/journal/reader.ts'
export { readInbox } from './domain/turn/journal/inbox.ts'
export type { InboxEvent } from './domain/turn/journal/inboxes.ts'
export type { CustomDetector } from './text/redact/redact.ts'
export type { RecallHit } from './domain/memory/recall/hit.ts'
export { recall, type Recall } from './domain/memory/recall/recall.ts'
export type { Memory, MemoryKind } from './domain/memory/recall/memory.ts'
export { getProfiles, type UserProfile } from './domain/memory/profile/profile.ts'
export { refreshUserProfile } from './domain/memory/profile/refresh.ts'
export { runTurn, type RunTurnInput, type RunTurnResult } from './domain/agent/run/start.ts'
export { cancelRun } from './domain/agent/run/cancel.ts'
export { getRunPages, getRuns, runCursor, type ProviderCall } from './domain/agent/run/run.ts'
export { getPendingAnswers, type PendingAnswer } from './domain/agent/claim/pending-answers.ts'
export { readRunEvents } from './domain/agent/run/wait.ts'
export type { Tool, ToolContext } from './domain/agent/run/tools/tools.ts'
export type { Run } from './domain/agent/definition/visible.ts'
export { buildContext } from './domain/memory/context/build.ts'
export { asOf, type AsOfInput } from './domain/memory/as-of.ts'
export { getContexts, getReplyPages } from './domain/memory/context/stored.ts'
export type { Context } from './domain/memory/context/message.ts'
export { render } from './domain/memory/context/render.ts'
export { toAiSdkModelPrompt } from './domain/memory/context/render/ai-sdk.ts'
export type { Health } from './domain/kernel/platform.ts'
export { createServer, type Server } from './server/http/http.ts'
export { openTranscript } from './open-transcript.ts'
export type { ServerConfig } from './server/server-config.ts'
