// The port for chat providers, with the type names of the specification "Agent Conversation Core" (document 003, see
// docs/library.md). An adapter makes one call to one model. It does not retry, execute tools or store anything.

import { CallFailed } from './call-failed.ts'

export type ProviderRole = 'system' | 'user' | 'assistant' | 'tool'

export interface ProviderTextPart {
  type: 'text'
  text: string
}

/** A request of the model to call a tool. */
export interface ProviderToolCallPart {
  type: 'tool-call'
  /** Links the call with its result. Unique among the calls of one message. */
  id: string
  name: string
  /** The parsed arguments, or the text that the model wrote if it is not JSON. */
  arguments: unknown
}

/** The result of a tool call. Part of a message with the role "tool". */
export interface ProviderToolResultPart {
  type: 'tool-result'
  /** Id of the call. */
  id: string
  name: string
  /** A text, or any other JSON value. */
  result: unknown
}

/** A file of a user message. Adapters pass images that the provider can fetch, and describe other files as text. */
export interface ProviderFilePart {
  type: 'file'
  mediaType: string
  /** URL with the scheme http, https or data. */
  url: string
  fileName?: string | null
  /** What the file shows or contains. */
  caption?: string | null
  /** The image whose bytes are not loaded yet. Adapters never receive it: the caller replaces it by a URL. */
  image?: { id: string; bytes: number }
}

/** The sources of a message, for adapters that cite them. This part is not sent to models. */
export interface ProviderSourcesPart {
  type: 'sources'
  /** Ids of turns, facts, a summary, or the users of profiles, in the order of the message. */
  ids: string[]
}

/** A text, a tool call, a tool result, a file or the sources. Adapters ignore parts of other types. */
// Document 003 declares the type with `any`.
// oxlint-disable-next-line typescript/no-explicit-any
export type ProviderContentPart = ProviderTextPart | { [key: string]: any }

export interface ProviderMessage {
  role: ProviderRole
  content: ProviderContentPart[]
  /** Name of the author, for models that distinguish several users. Default: none. */
  name?: string
}

export interface ProviderToolDefinition {
  name: string
  description?: string
  /** JSON Schema of the arguments. Default: an object without properties. */
  schema?: unknown
}

export interface ProviderToolCall {
  /** Unique among the calls of one reply. */
  id: string
  name: string
  /** The parsed arguments, or the text that the model wrote if it is not JSON. The caller validates them. */
  arguments: unknown
}

export interface ProviderCallMetadata {
  /** Name of the provider, as configured. */
  provider: string
  /** Name of the model, as the provider knows it. */
  model: string
  /** Options for the provider; each adapter documents the keys that it reads. */
  extensions?: Record<string, unknown>
}

export interface ProviderCallParams {
  messages: ProviderMessage[]
  /** Tools that the model may call. Default: none. */
  tools?: ProviderToolDefinition[]
  /** "auto", "none", "required", or `{ name }` for one tool. Default: "auto". */
  toolChoice?: unknown
  /** Maximum number of tokens of the reply. Default: the model's own limit. */
  maxTokens?: number
  metadata: ProviderCallMetadata
  /** Context of the caller, for example trace ids. Passed to the adapter unchanged. */
  agentContext?: unknown
  /** Aborting the signal ends the call, which fails with the signal's reason. */
  signal?: AbortSignal
}

export interface ProviderTokenUsage {
  inputTokens: number
  outputTokens: number
  /** Total number of tokens. Default: the sum of both counts. */
  totalTokens?: number
}

/** Why the model stopped: it finished, called tools, reached the token limit, was filtered, or gave another reason. */
export type ProviderFinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other'

export interface ProviderCallResult {
  /** The provider's id of the call, or a generated one. */
  id: string
  createdAt: Date
  /** The reply: its text and its tool calls, in the order in which the model wrote them. */
  message: ProviderMessage
  /** The tool calls of `message`. Absent if there are none. */
  toolCalls?: ProviderToolCall[]
  /** Token counts. Absent if the provider does not report them. */
  usage?: ProviderTokenUsage
  /** The provider's own reply: the parts of it that `message` does not contain. */
  raw?: unknown
  finishReason?: ProviderFinishReason
}

/**
 * A part of a delta. Adapters may announce a tool call by its id and name, and then its arguments as they arrive.
 * Reasoning is not part of the result. Callers ignore parts of other types.
 */
export type ProviderDeltaPart =
  | ProviderTextPart
  | { type: 'reasoning'; text: string }
  /** The reasoning since the last such part is complete. `signature`: the provider's signature of it, if any. */
  | { type: 'reasoning-end'; signature?: string }
  | { type: 'tool-call-start'; id: string; name: string }
  /** More of the JSON of the arguments. */
  | { type: 'tool-call-delta'; id: string; text: string }

/**
 * An event of a streaming call. A delta has parts of the types of ProviderDeltaPart; its texts, joined with those of the
 * other deltas, equal the text of the result. A `tool-call` contains all arguments. `done` is the last event.
 */
export type ProviderStreamEvent =
  | { type: 'delta'; delta: ProviderMessage }
  | { type: 'tool-call'; toolCall: ProviderToolCall }
  | { type: 'done'; result: ProviderCallResult }

/**
 * The events of one call, for one reader. The iteration throws ProviderCallFailed, or the signal's reason after an
 * abort. A reader that stops early ends the call.
 */
export interface ProviderStream extends AsyncIterable<ProviderStreamEvent> {
  /**
   * Resolves with the result of `done`, whether or not the events are read. A rejection that nobody handles is not
   * reported, because the iteration throws it as well.
   */
  final: Promise<ProviderCallResult>
}

export interface ProviderAdapter {
  /** Makes a call. @throws ProviderCallFailed, or the signal's reason after an abort */
  complete(params: ProviderCallParams): Promise<ProviderCallResult>
  /**
   * Makes a streaming call. Resolves when the provider has accepted the request.
   * @throws ProviderCallFailed, or the signal's reason after an abort
   */
  completeStream?(params: ProviderCallParams): Promise<ProviderStream>
  /** Whether the models accept images. Default: no, so that images of attachments are named as text. */
  acceptsImages?: boolean
  /** Whether the provider fetches files of the type from the URL. Default: no, so that images are sent as data URLs. */
  fetchesUrl?(mediaType: string, url: string): boolean | Promise<boolean>
}

/**
 * Why a call failed:
 * - `RATE_LIMITED`, `UNAVAILABLE`: the provider refused the call temporarily (429; 408, 409, 5xx).
 * - `UNREACHABLE`: the connection failed before a reply.
 * - `CUT_OFF`: the reply ended before it was complete.
 * - `STALLED`: the provider sent nothing within the time limit.
 * - `BAD_REPLY`: the reply is not of the expected format.
 * - `REPLY_TOO_LARGE`: the reply is longer than the adapter accepts.
 * - `CONTEXT_TOO_LONG`: the messages are longer than the model accepts.
 * - `QUOTA_EXHAUSTED`: the account at the provider has no credit left.
 * - `REFUSED`: the provider does not accept the key, the model or a parameter.
 * - `CLOSED`: the adapter was closed.
 */
export type ProviderFailureCode =
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'UNREACHABLE'
  | 'CUT_OFF'
  | 'STALLED'
  | 'BAD_REPLY'
  | 'REPLY_TOO_LARGE'
  | 'CONTEXT_TOO_LONG'
  | 'QUOTA_EXHAUSTED'
  | 'REFUSED'
  | 'CLOSED'

/**
 * A chat call failed. The message names the cause and, if there is one, the next step; it never contains texts that the
 * provider sent. `retryable` says whether the same call may succeed later.
 */
export class ProviderCallFailed extends CallFailed {
  readonly code: ProviderFailureCode
  /** HTTP status of the reply; null if there was no reply, or if the reply failed after the status. */
  readonly status: number | null
  /** Pause that the provider requests before a retry, ms; null if it requests none. */
  readonly retryAfterMs: number | null
  constructor(
    code: ProviderFailureCode,
    message: string,
    retryable: boolean,
    { status = null, retryAfterMs = null }: { status?: number | null; retryAfterMs?: number | null } = {},
  ) {
    super(message, retryable)
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}
