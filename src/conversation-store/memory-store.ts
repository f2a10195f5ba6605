// Implements the conversation store of document 002 in the memory of the process, for tests and local runs. Its content
// is lost when the process ends. Stores and returns copies, so that a caller cannot change the stored objects.

import { ConversationNotFound, IdConflict } from '../transcript/errors.ts'
import { isSame } from '../transcript/same.ts'
import { collectPage, DEFAULT_CONVERSATIONS } from './page.ts'
import type {
  Conversation,
  ConversationFilter,
  ConversationMessage,
  ConversationStore,
  MessageQueryOptions,
} from './types.ts'

type Stored = {
  conversation: Conversation
  /** Messages by id, in the order in which they were added. */
  messages: Map<string, ConversationMessage>
}

export class InMemoryConversationStore implements ConversationStore {
  /** The conversations by id, in the order of their last write. */
  readonly #stored = new Map<string, Stored>()

  async createConversation(conv: Omit<Conversation, 'messageCount'>): Promise<void> {
    const { conversationId } = conv
    if (this.#stored.has(conversationId)) throw new IdConflict('conversation', conversationId)
    const conversation = { ...structuredClone(conv), updatedAt: new Date(), messageCount: 0 }
    this.#stored.set(conversationId, { conversation, messages: new Map() })
  }

  async addMessage(conversationId: string, msg: ConversationMessage): Promise<void> {
    const stored = this.#find(conversationId)
    const message = { ...msg, conversationId }
    const earlier = stored.messages.get(msg.messageId)
    if (earlier && !isSame(earlier, message)) throw new IdConflict('message', msg.messageId)
    if (earlier) return
    stored.messages.set(msg.messageId, structuredClone(message))
    stored.conversation.messageCount = stored.messages.size
    this.#touch(stored)
  }

  async updateConversation(
    conversationId: string,
    { title, metadata }: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<void> {
    const stored = this.#find(conversationId)
    if (title !== undefined) stored.conversation.title = title
    if (metadata !== undefined) stored.conversation.metadata = structuredClone(metadata)
    this.#touch(stored)
  }

  async getConversation(conversationId: string): Promise<Conversation | null> {
    return structuredClone(this.#stored.get(conversationId)?.conversation ?? null)
  }

  async getMessages(conversationId: string, opts: MessageQueryOptions = {}): Promise<ConversationMessage[]> {
    const page = collectPage(opts)
    for (const message of [...(this.#stored.get(conversationId)?.messages.values() ?? [])].reverse()) {
      if (page.take(message)) break
    }
    return structuredClone(page.messages())
  }

  async listConversations(filter: ConversationFilter): Promise<Conversation[]> {
    const { userId, agentName, limit = DEFAULT_CONVERSATIONS, offset = 0 } = filter
    const all = [...this.#stored.values()].map(({ conversation }) => conversation).reverse()
    const matching = all.filter(
      (each) =>
        (userId === undefined || each.userId === userId) && (agentName === undefined || each.agentName === agentName),
    )
    return structuredClone(matching.slice(offset, offset + limit))
  }

  async deleteConversation(conversationId: string): Promise<void> {
    this.#stored.delete(conversationId)
  }

  #find(conversationId: string): Stored {
    const stored = this.#stored.get(conversationId)
    if (!stored) throw new ConversationNotFound(conversationId)
    return stored
  }

  /** Sets `updatedAt`, and moves the conversation to the end of the order. */
  #touch(stored: Stored): void {
    stored.conversation.updatedAt = new Date()
    this.#stored.delete(stored.conversation.conversationId)
    this.#stored.set(stored.conversation.conversationId, stored)
  }
}
