// The types of `colloquy/conversation-store` equal those of document 002: each is assignable to the other. The compiler
// checks this file with all others (`npm run check`).

import { expectTypeOf, it } from 'vitest'
import type * as ours from '../../../src/conversation-store/index.ts'

// Copied from the text of the document.
type ConversationRole = 'user' | 'assistant' | 'system'
interface Conversation {
  schemaVersion: 1
  conversationId: string
  userId: number
  auditingId: number
  agentName: string
  title?: string
  createdAt: Date
  updatedAt: Date
  messageCount: number
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata?: Record<string, any>
}
interface ConversationMessage {
  schemaVersion: 1
  messageId: string
  conversationId: string
  role: ConversationRole
  content: string
  timestamp: Date
  traceId?: string
  sources?: Array<{ documentId?: string; documentName?: string; chunk?: string; score?: number }>
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata?: Record<string, any>
}
interface ConversationFilter {
  userId?: number
  agentName?: string
  limit?: number
  offset?: number
}
interface MessageQueryOptions {
  limit?: number
  before?: Date
}
interface ConversationStore {
  createConversation(conv: Omit<Conversation, 'messageCount'>): Promise<void>
  addMessage(conversationId: string, msg: ConversationMessage): Promise<void>
  updateConversation(conversationId: string, updates: Partial<Pick<Conversation, 'title' | 'metadata'>>): Promise<void>
  getConversation(conversationId: string): Promise<Conversation | null>
  getMessages(conversationId: string, opts?: MessageQueryOptions): Promise<ConversationMessage[]>
  listConversations(filter: ConversationFilter): Promise<Conversation[]>
  deleteConversation(conversationId: string): Promise<void>
}

it('colloquy/conversation-store has the types of the document', () => {
  expectTypeOf<ours.ConversationRole>().toEqualTypeOf<ConversationRole>()
  expectTypeOf<ours.Conversation>().toEqualTypeOf<Conversation>()
  expectTypeOf<ours.ConversationMessage>().toEqualTypeOf<ConversationMessage>()
  expectTypeOf<ours.ConversationFilter>().toEqualTypeOf<ConversationFilter>()
  expectTypeOf<Omit<ours.MessageQueryOptions, 'beforeId'>>().toEqualTypeOf<MessageQueryOptions>()
  expectTypeOf<ours.ConversationStore>().toExtend<ConversationStore>()
  expectTypeOf<ConversationStore>().toExtend<ours.ConversationStore>()
  expectTypeOf<ours.InMemoryConversationStore>().toExtend<ConversationStore>()
  expectTypeOf<ours.ColloquyConversationStore>().toExtend<ConversationStore>()
})
