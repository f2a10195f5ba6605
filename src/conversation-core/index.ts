// The entry point `colloquy/conversation-core`: document 003 ("Agent Conversation Core", version 0.2). Contains only
// re-exports, and no code of the server.

export type * from './types.ts'
export type {
  ProviderAdapter,
  ProviderCallMetadata,
  ProviderCallParams,
  ProviderCallResult,
  ProviderContentPart,
  ProviderMessage,
  ProviderRole,
  ProviderStream,
  ProviderStreamEvent,
  ProviderTextPart,
  ProviderToolCall,
  ProviderToolDefinition,
} from '../providers/ports/provider-adapter.ts'
export * from './errors.ts'
export { InMemoryConversationStore, type InMemoryConversationStoreOptions } from './memory-store.ts'
export { ColloquyConversationStore, type ColloquyConversationStoreOptions } from './colloquy-store.ts'
export { connectTranscript, type ConnectOptions } from '../transcript/connect.ts'
export { conversationsOf, type StoredConversation, type Transcript } from '../transcript/transcript.ts'
export {
  BudgetedHistoryBuilder,
  estimateTokens,
  RecentNTurnsHistoryBuilder,
  type BudgetedHistoryBuilderOptions,
  type CountTokens,
  type RecentNTurnsHistoryBuilderOptions,
} from './history.ts'
export { toProviderMessages } from './provider-messages.ts'
export { DefaultConversationEngine, type DefaultConversationEngineOptions } from './engine.ts'
