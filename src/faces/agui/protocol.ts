// The parts of the AG-UI protocol, version 1.0, that the server uses: https://docs.ag-ui.com/spec. The tests compare the
// events with the schemas of `@ag-ui/core`.

/** The version that the server declares when a run starts. */
export const PROTOCOL_VERSION = '1.0'

/** Content of a message besides plain text. */
export type ContentPart =
  | { type: 'text'; text: string }
  | {
      type: 'image' | 'audio' | 'video' | 'document'
      source: { type: 'url' | 'data'; value: string; mimeType?: string }
      metadata?: Record<string, unknown>
    }

export type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

export type Message =
  | { id: string; role: 'user' | 'system'; content: string | ContentPart[]; name?: string }
  | { id: string; role: 'assistant'; content?: string; name?: string; toolCalls?: ToolCall[] }
  | { id: string; role: 'tool'; toolCallId: string; content: string }
  | { id: string; role: 'reasoning'; content: string }

/** A decision that a run waits for. */
export type Interrupt = {
  id: string
  reason: string
  message: string
  toolCallId: string
  responseSchema: object
  expiresAt?: string
}

export type Outcome =
  | { type: 'success'; pendingToolCallIds?: string[] }
  | { type: 'interrupt'; interrupts: Interrupt[] }
  | { type: 'cancelled' }

type RunIds = { threadId: string; runId: string }
type JsonPatch = { op: string; path: string; value?: unknown }[]

export type AguiEvent =
  | ({ type: 'RUN_STARTED'; parentRunId?: string; protocolVersion: string } & RunIds)
  | ({ type: 'RUN_FINISHED'; outcome: Outcome } & RunIds)
  | { type: 'RUN_ERROR'; message: string; code: string }
  | { type: 'STEP_STARTED' | 'STEP_FINISHED'; stepName: string }
  // `messages` also has messages of the client that the server does not know, as they were sent.
  | { type: 'MESSAGES_SNAPSHOT'; messages: (Message | object)[] }
  | { type: 'STATE_SNAPSHOT'; snapshot: Record<string, unknown> }
  | { type: 'STATE_DELTA'; delta: JsonPatch }
  | { type: 'TEXT_MESSAGE_START'; messageId: string; role: 'user' | 'assistant' | 'system'; name?: string }
  | { type: 'TEXT_MESSAGE_CONTENT'; messageId: string; delta: string }
  | { type: 'TEXT_MESSAGE_END'; messageId: string }
  | { type: 'REASONING_START' | 'REASONING_END' | 'REASONING_MESSAGE_END'; messageId: string }
  | { type: 'REASONING_MESSAGE_START'; messageId: string; role: 'reasoning' }
  | { type: 'REASONING_MESSAGE_CONTENT'; messageId: string; delta: string }
  | { type: 'TOOL_CALL_START'; toolCallId: string; toolCallName: string; parentMessageId: string }
  | { type: 'TOOL_CALL_ARGS'; toolCallId: string; delta: string }
  | { type: 'TOOL_CALL_END'; toolCallId: string }
  | { type: 'TOOL_CALL_RESULT'; messageId: string; toolCallId: string; content: string; role: 'tool' }
  | { type: 'CUSTOM'; name: string; value: unknown }
