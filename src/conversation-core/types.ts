// The types of document 003 ("Agent Conversation Core", version 0.2): conversations, messages, turns, stores, history
// and the engine. Fields that the document does not have are optional, and marked as additions.

import type {
  ProviderAdapter,
  ProviderCallMetadata,
  ProviderCallParams,
  ProviderTokenUsage,
} from '../providers/ports/provider-adapter.ts'

export type ConversationId = string
export type TurnId = string
export type MessageId = string
export type ProviderCallId = string

/** `system` instructs the model, `user` is a person or another caller, `tool` contains the results of tool calls. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

export interface TextContentPart {
  type: 'text'
  text: string
}

export interface ToolCallContentPart {
  type: 'tool-call'
  /** Links the call with its result. Addition. Without it, the names of call and result link them. */
  id?: string
  name: string
  arguments: unknown
}

export interface ToolResultContentPart {
  type: 'tool-result'
  /** Id of the call. Addition. Default: see ToolCallContentPart. */
  id?: string
  name: string
  result: unknown
}

/** Data for applications. Models do not receive it. */
export interface MetadataContentPart {
  type: 'metadata'
  data: unknown
}

export type MessageContentPart = TextContentPart | ToolCallContentPart | ToolResultContentPart | MetadataContentPart

export interface ConversationMessage {
  /** Unique in the conversation. Writing a message with the same id and content again changes nothing. */
  id: MessageId
  conversationId: ConversationId
  role: MessageRole
  createdAt: Date
  content: MessageContentPart[]
  metadata?: Record<string, unknown>
}

export interface Conversation {
  id: ConversationId
  createdAt: Date
  /** Time of the last write to the conversation, by the clock of the store. */
  updatedAt: Date
  title?: string
  metadata?: Record<string, unknown>
}

export type TokenUsage = ProviderTokenUsage

export interface ProviderCallRecord {
  id: ProviderCallId
  createdAt: Date
  metadata: ProviderCallMetadata
  usage?: TokenUsage
  raw?: unknown
}

export interface ConversationTurn {
  id: TurnId
  conversationId: ConversationId
  createdAt: Date
  userMessages: ConversationMessage[]
  assistantMessages: ConversationMessage[]
  toolMessages?: ConversationMessage[]
  providerCalls: ProviderCallRecord[]
  metadata?: Record<string, unknown>
}

export interface ListConversationsOptions {
  /** Maximum number of conversations. Default: 50. */
  limit?: number
  /** Lists conversations updated before this date. Default: all. */
  before?: Date
  /**
   * Id of a conversation that was updated at `before`. Also lists the conversations with the same time that follow it
   * in the list. Pass the last conversation of the previous page, because two conversations may be updated in the same
   * millisecond. Addition. Default: lists no conversation that was updated at `before`.
   */
  beforeId?: ConversationId
}

export interface ListMessagesOptions {
  /** Maximum number of messages to return; the last appended messages are returned. Default: all. */
  limit?: number
  /** Every store of this package lists messages in ascending time order, with and without this option. */
  ascending?: boolean
}

/**
 * A guarantee of a store that the document does not require. Addition.
 * - `ATOMIC_TURNS`: appendTurn also stores the messages of the turn that are not stored yet and sets `updatedAt`, in
 *   one transaction.
 * - `LIMIT_IS_NEWEST`: listMessages with `limit` returns the messages that were appended last.
 */
export type StoreGuarantee = 'ATOMIC_TURNS' | 'LIMIT_IS_NEWEST'

export interface ConversationStore {
  /** Addition. Default: none. */
  readonly guarantees?: readonly StoreGuarantee[]
  /** @throws IdConflict if there is a conversation with the id */
  createConversation(input: {
    id?: ConversationId
    title?: string
    metadata?: Record<string, unknown>
  }): Promise<Conversation>
  getConversation(id: ConversationId): Promise<Conversation | null>
  /** Replaces the given fields; does not merge metadata. Null if there is no such conversation. */
  updateConversation(
    id: ConversationId,
    updates: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<Conversation | null>
  /** Lists conversations, the newest `updatedAt` first. */
  listConversations(options?: ListConversationsOptions): Promise<Conversation[]>
  /**
   * Appends messages. Messages that are already stored are skipped.
   * @throws ConversationNotFound @throws IdConflict if an id is used for another message
   */
  appendMessages(messages: ConversationMessage[]): Promise<void>
  /** Lists the messages in ascending time order; messages with the same time in the order of their appends. */
  listMessages(conversationId: ConversationId, options?: ListMessagesOptions): Promise<ConversationMessage[]>
  /** Appends a turn. @throws ConversationNotFound @throws IdConflict if an id is used for another turn or message */
  appendTurn(turn: ConversationTurn): Promise<void>
  /** Lists the turns in the order in which they were appended. */
  listTurns(conversationId: ConversationId): Promise<ConversationTurn[]>
}

export interface HistoryBudget {
  /** Maximum number of messages, including the new user messages. Default: no limit. */
  maxMessages?: number
  /** Maximum number of characters (UTF-16 units) of all text parts. Default: no limit. */
  maxChars?: number
  /** Approximate maximum number of tokens of all text, tool calls and tool results. Default: no limit. */
  maxTokens?: number
}

export interface HistoryBuildRequest {
  conversation: Conversation
  store: ConversationStore
  /** The messages of this turn. They may already be in the store. */
  newUserMessages: ConversationMessage[]
  budget?: HistoryBudget
}

export interface HistoryBuildResult {
  /** Messages for the provider, in the order of the conversation. */
  messages: ConversationMessage[]
  /** Whether older messages were left out. */
  truncated: boolean
}

export interface HistoryBuilder {
  buildHistory(req: HistoryBuildRequest): Promise<HistoryBuildResult>
}

export interface TurnInput {
  conversationId: ConversationId
  /** The new messages, all of this conversation. Messages with the role `tool` answer tool calls. May be empty. */
  userMessages: ConversationMessage[]
  provider: ProviderAdapter
  providerParams: Omit<ProviderCallParams, 'messages'>
  historyBudget?: HistoryBudget
  /** Passed to the provider. Defaults to `providerParams.agentContext`. */
  agentContext?: unknown
}

export interface TurnOutput {
  /** The conversation after the turn. */
  conversation: Conversation
  /** The turn, as stored. */
  turn: ConversationTurn
  assistantMessages: ConversationMessage[]
  toolMessages?: ConversationMessage[]
}

export type StreamingTurnEvent =
  | { type: 'delta'; delta: ConversationMessage }
  | { type: 'tool-call'; toolCall: ToolCallContentPart }
  | { type: 'completed'; output: TurnOutput }

export interface StreamingTurn extends AsyncIterable<StreamingTurnEvent> {
  /** Resolves with the output of the `completed` event, whether or not the events are read. */
  final: Promise<TurnOutput>
}

export interface ConversationEngine {
  readonly store: ConversationStore
  readonly historyBuilder: HistoryBuilder
  runTurn(input: TurnInput): Promise<TurnOutput>
  runStreamingTurn?(input: TurnInput): Promise<StreamingTurn>
}
