// The types of document 003 ("Agent Conversation Core", version 0.2.0), copied from its text. types.test.ts compares
// them with the types of `colloquy/conversation-core`. Only the types of a package that is not published are replaced.

/** From the package resilient-http-core: any context of the caller. */
export type AgentContext = unknown
/** From the package resilient-http-core: values by name. */
export type Extensions = Record<string, unknown>

export type ConversationId = string
export type TurnId = string
export type MessageId = string
export type ProviderCallId = string

export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

export interface TextContentPart {
  type: 'text'
  text: string
}

export interface ToolCallContentPart {
  type: 'tool-call'
  /** Tool name or identifier. */
  name: string
  /** Opaque arguments, usually a JSON object. */
  arguments: unknown
}

export interface ToolResultContentPart {
  type: 'tool-result'
  /** Tool name or identifier. */
  name: string
  /** Result payload (JSON, text, etc.). */
  result: unknown
}

export interface MetadataContentPart {
  type: 'metadata'
  data: unknown
}

export type MessageContentPart = TextContentPart | ToolCallContentPart | ToolResultContentPart | MetadataContentPart

export interface ConversationMessage {
  id: MessageId
  conversationId: ConversationId
  role: MessageRole
  createdAt: Date

  /** Ordered content parts for this message. */
  content: MessageContentPart[]

  /** Optional free-form metadata (e.g. source, tags, UI hints). */
  metadata?: Record<string, unknown>
}

export interface Conversation {
  id: ConversationId
  createdAt: Date
  updatedAt: Date

  /** Optional human-friendly title. */
  title?: string

  /** Arbitrary metadata (e.g. tenant, topic, labels). */
  metadata?: Record<string, unknown>
}

export interface TokenUsage {
  inputTokens: number
  outputTokens: number
  /** Total tokens if known; otherwise derived as input + output. */
  totalTokens?: number
}

export type ProviderRole = MessageRole // "system" | "user" | "assistant" | "tool"

export interface ProviderTextPart {
  type: 'text'
  text: string
}

export type ProviderContentPart = ProviderTextPart | { [key: string]: any }

export interface ProviderMessage {
  role: ProviderRole
  content: ProviderContentPart[]
}

export interface ProviderToolDefinition {
  name: string
  description?: string
  /** Provider-specific schema (e.g. JSON schema for arguments). */
  schema?: unknown
}

export interface ProviderToolCall {
  id: string
  name: string
  arguments: unknown
}

export interface ProviderCallMetadata {
  /** Underlying provider name, e.g. "openai". */
  provider: string
  /** Model name or identifier, e.g. "gpt-5.1-mini". */
  model: string

  /** Optional request-level metadata. */
  extensions?: Extensions
}

export interface ProviderCallParams {
  messages: ProviderMessage[]
  tools?: ProviderToolDefinition[]

  /** Optional tool choice hint; provider-specific semantics. */
  toolChoice?: unknown

  /**
   * Optional max tokens or similar budget hints. Semantics are provider-
   * specific; the core does not interpret these.
   */
  maxTokens?: number

  /** Provider metadata (model, provider id, etc.). */
  metadata: ProviderCallMetadata

  /**
   * Optional AgentContext propagated from the caller; may be threaded into
   * HTTP metadata in provider implementations.
   */
  agentContext?: AgentContext
}

export interface ProviderCallResult {
  id: ProviderCallId
  createdAt: Date

  /** Single assistant message returned by the provider. */
  message: ProviderMessage

  /** Optional tool calls produced by this response. */
  toolCalls?: ProviderToolCall[]

  /** Token usage. */
  usage?: TokenUsage

  /** Provider-specific raw response. */
  raw?: unknown
}

export type ProviderStreamEvent =
  | { type: 'delta'; delta: ProviderMessage }
  | { type: 'tool-call'; toolCall: ProviderToolCall }
  | { type: 'done'; result: ProviderCallResult }

export interface ProviderStream extends AsyncIterable<ProviderStreamEvent> {
  /** Resolves when the stream sends its final "done" event. */
  final: Promise<ProviderCallResult>
}

export interface ProviderAdapter {
  /**
   * Perform a non-streaming completion call.
   */
  complete(params: ProviderCallParams): Promise<ProviderCallResult>

  /**
   * Optional streaming completion. If implemented, MUST resolve to a
   * ProviderStream whose final event is of type "done".
   */
  completeStream?(params: ProviderCallParams): Promise<ProviderStream>
}

export interface ProviderCallRecord {
  id: ProviderCallId
  createdAt: Date

  /** Provider metadata (model, provider name). */
  metadata: ProviderCallMetadata

  /** Token usage summary. */
  usage?: TokenUsage

  /** Provider-specific raw response, if stored. */
  raw?: unknown
}

export interface ConversationTurn {
  id: TurnId
  conversationId: ConversationId
  createdAt: Date

  /** Messages sent by the user for this turn. */
  userMessages: ConversationMessage[]

  /** Assistant message(s) returned by the provider for this turn. */
  assistantMessages: ConversationMessage[]

  /** Any tool messages used during this turn. */
  toolMessages?: ConversationMessage[]

  /** Provider call records involving this turn. */
  providerCalls: ProviderCallRecord[]

  /** Optional free-form metadata. */
  metadata?: Record<string, unknown>
}

export interface ListConversationsOptions {
  limit?: number // default: 50
  before?: Date // list conversations updated before this date
}

export interface ListMessagesOptions {
  limit?: number // default: all
  /**
   * If true, messages MUST be returned in ascending time order (oldest
   * first). If false or undefined, implementation MAY choose any order
   * but SHOULD document it (recommended: ascending).
   */
  ascending?: boolean
}

export interface ConversationStore {
  // Conversations
  createConversation(input: {
    id?: ConversationId // optional, implementation may generate
    title?: string
    metadata?: Record<string, unknown>
  }): Promise<Conversation>

  getConversation(id: ConversationId): Promise<Conversation | null>

  updateConversation(
    id: ConversationId,
    updates: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<Conversation | null>

  listConversations(options?: ListConversationsOptions): Promise<Conversation[]>

  // Messages
  appendMessages(messages: ConversationMessage[]): Promise<void>

  listMessages(conversationId: ConversationId, options?: ListMessagesOptions): Promise<ConversationMessage[]>

  // Turns
  appendTurn(turn: ConversationTurn): Promise<void>

  listTurns(conversationId: ConversationId): Promise<ConversationTurn[]>
}

export interface HistoryBudget {
  /** Max total messages to include (including the new user messages). */
  maxMessages?: number

  /** Max total characters across all text content. */
  maxChars?: number

  /** Approximate max tokens across all text content. */
  maxTokens?: number
}

export interface HistoryBuildRequest {
  conversation: Conversation
  /** Store from which to load prior messages. */
  store: ConversationStore

  /** New user messages that triggered this turn. */
  newUserMessages: ConversationMessage[]

  /** History budget constraints. */
  budget?: HistoryBudget
}

export interface HistoryBuildResult {
  /** Messages to send to the provider, in the correct order. */
  messages: ConversationMessage[]

  /** Optional truncated flag if older messages had to be dropped. */
  truncated: boolean
}

export interface HistoryBuilder {
  buildHistory(req: HistoryBuildRequest): Promise<HistoryBuildResult>
}

export interface RecentNTurnsHistoryBuilderOptions {
  /** Number of most recent turns to include before the new user message(s). */
  maxTurns: number
}

export declare class RecentNTurnsHistoryBuilder implements HistoryBuilder {
  constructor(options: RecentNTurnsHistoryBuilderOptions)
  buildHistory(req: HistoryBuildRequest): Promise<HistoryBuildResult>
}

export interface TurnInput {
  conversationId: ConversationId

  /**
   * New user messages to append and include in this turn. These MUST
   * belong to the provided conversationId.
   */
  userMessages: ConversationMessage[]

  /** Provider to use for this turn. */
  provider: ProviderAdapter

  /** Provider parameters (model, tools, etc.). */
  providerParams: Omit<ProviderCallParams, 'messages'>

  /** Optional history budget for building context. */
  historyBudget?: HistoryBudget

  /** Optional AgentContext for telemetry. */
  agentContext?: AgentContext
}

export interface TurnOutput {
  /** Conversation after this turn (updatedAt may change). */
  conversation: Conversation

  /** Turn record that was persisted to the store. */
  turn: ConversationTurn

  /** Assistant messages for this turn. */
  assistantMessages: ConversationMessage[]

  /** Any tool messages involved in this turn. */
  toolMessages?: ConversationMessage[]
}

export type StreamingTurnEvent =
  | { type: 'delta'; delta: ConversationMessage }
  | { type: 'tool-call'; toolCall: ToolCallContentPart }
  | { type: 'completed'; output: TurnOutput }

export interface StreamingTurn extends AsyncIterable<StreamingTurnEvent> {
  /** Resolves once a completed event has been emitted. */
  final: Promise<TurnOutput>
}

export interface ConversationEngine {
  /** Underlying store used for persistence. */
  readonly store: ConversationStore

  /** History strategy used for context windows. */
  readonly historyBuilder: HistoryBuilder

  /**
   * Run a non-streaming turn: build history, call provider, persist
   * messages and turn, and return the turn output.
   */
  runTurn(input: TurnInput): Promise<TurnOutput>

  /**
   * Optional streaming variant. If not implemented, callers may emulate
   * streaming at higher layers.
   */
  runStreamingTurn?(input: TurnInput): Promise<StreamingTurn>
}

export interface DefaultConversationEngineOptions {
  store: ConversationStore
  historyBuilder: HistoryBuilder
}

export declare class DefaultConversationEngine implements ConversationEngine {
  readonly store: ConversationStore
  readonly historyBuilder: HistoryBuilder

  constructor(options: DefaultConversationEngineOptions)

  runTurn(input: TurnInput): Promise<TurnOutput>

  runStreamingTurn?(input: TurnInput): Promise<StreamingTurn>
}
