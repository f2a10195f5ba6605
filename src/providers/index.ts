// The entry point `colloquy/providers`: chat providers for createDeps, and for programs without a server. Contains only
// re-exports.

export { createAiSdkProvider, type AiSdkModel, type AiSdkProvider } from './ai-sdk/provider.ts'
export type { ChatAdapter } from './chat-adapter.ts'
export { createEchoProvider, type EchoProviderSettings } from './echo/provider.ts'
export { createOpenAiProvider, type OpenAiProviderSettings } from './openai/chat-provider.ts'
export * from './ports/provider-adapter.ts'
