// The AI SDK's `useChat` on conversations: the entry points `colloquy-client/ai-sdk` and `colloquy/ai-sdk`.

export { toUIMessages, type ConversationMessage, type ConversationMetadata, type MessageOptions } from './messages.ts'
export type { ChatRunOptions, ChatTurnOptions } from './requests.ts'
export { createChatTransport, type ChatTransportOptions, type ConversationTransport } from './transport.ts'
export { toUIMessageStream } from './run-stream.ts'
