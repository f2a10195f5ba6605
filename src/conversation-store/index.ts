// The entry point `colloquy/conversation-store`: document 002 ("ConversationStore interface"). Contains only
// re-exports, and no code of the server.

export type * from './types.ts'
export { ConversationNotFound, IdConflict, RequestFailed } from '../transcript/errors.ts'
export { InMemoryConversationStore } from './memory-store.ts'
export { ColloquyConversationStore, type ColloquyConversationStoreOptions } from './colloquy-store.ts'
export { connectTranscript, type ConnectOptions } from '../transcript/connect.ts'
export type { Transcript } from '../transcript/transcript.ts'
