// Implements the conversation store of document 003 in the memory of the process, for tests and local runs. Its content
// is lost when the process ends. Stores and returns copies, so that a caller cannot change the stored objects.

import { ConversationNotFound, IdConflict } from '../transcript/errors.ts'
import { inTimeOrder, isSame, withoutRepetitions } from '../transcript/same.ts'
import type {
  Conversation,
  ConversationMessage,
  ConversationStore,
  ConversationTurn,
  ListConversationsOptions,
  ListMessagesOptions,
} from './types.ts'

/** Number of conversations that listConversations returns by default. */
export const DEFAULT_CONVERSATIONS = 50

type Stored = {
  conversation: Conversation
  /** Messages by id, in the order in which they were appended. */
  messages: Map<string, ConversationMessage>
  turns: Map<string, ConversationTurn>
}

export type InMemoryConversationStoreOptions = {
  /** Creates the ids of conversations. Default: random UUIDs. */
  createId?: () => string
}

/** Returns the messages of a turn in the order in which they are stored. */
export const messagesOfTurn = (turn: ConversationTurn): ConversationMessage[] =>
  inTimeOrder(
    [...turn.userMessages, ...turn.assistantMessages, ...(turn.toolMessages ?? [])],
    ({ createdAt }) => createdAt,
  )

export class InMemoryConversationStore implements ConversationStore {
  readonly guarantees = ['ATOMIC_TURNS', 'LIMIT_IS_NEWEST'] as const
  readonly #createId: () => string
  /** The conversations by id, in the order of their last write. */
  readonly #stored = new Map<string, Stored>()

  constructor({ createId = () => crypto.randomUUID() }: InMemoryConversationStoreOptions = {}) {
    this.#createId = createId
  }

  async createConversation({
    id = this.#createId(),
    title,
    metadata,
  }: {
    id?: string
    title?: string
    metadata?: Record<string, unknown>
  }): Promise<Conversation> {
    if (this.#stored.has(id)) throw new IdConflict('conversation', id)
    const now = new Date()
    const conversation: Conversation = { id, createdAt: now, updatedAt: now }
    if (title !== undefined) conversation.title = title
    if (metadata !== undefined) conversation.metadata = metadata
    this.#stored.set(id, { conversation: structuredClone(conversation), messages: new Map(), turns: new Map() })
    return structuredClone(conversation)
  }

  async getConversation(id: string): Promise<Conversation | null> {
    return structuredClone(this.#stored.get(id)?.conversation ?? null)
  }

  async updateConversation(
    id: string,
    { title, metadata }: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<Conversation | null> {
    const stored = this.#stored.get(id)
    if (!stored) return null
    if (title !== undefined) stored.conversation.title = title
    if (metadata !== undefined) stored.conversation.metadata = structuredClone(metadata)
    this.#touch(stored)
    return structuredClone(stored.conversation)
  }

  async listConversations({ limit = DEFAULT_CONVERSATIONS, before, beforeId }: ListConversationsOptions = {}): Promise<
    Conversation[]
  > {
    const all = [...this.#stored.values()].map(({ conversation }) => conversation).reverse()
    const at = before === undefined ? null : before.getTime()
    const last = all.findIndex(({ id }) => id === beforeId)
    const listed = all.filter(({ updatedAt }, index) => {
      if (at === null || updatedAt.getTime() < at) return true
      return beforeId !== undefined && updatedAt.getTime() === at && index > last
    })
    return structuredClone(listed.slice(0, limit))
  }

  async appendMessages(messages: ConversationMessage[]): Promise<void> {
    for (const { conversationId } of messages) this.#find(conversationId)
    for (const conversationId of new Set(messages.map((message) => message.conversationId))) {
      this.#append(
        this.#find(conversationId),
        messages.filter((message) => message.conversationId === conversationId),
      )
    }
  }

  async listMessages(conversationId: string, { limit }: ListMessagesOptions = {}): Promise<ConversationMessage[]> {
    const messages = [...this.#find(conversationId).messages.values()]
    const newest = limit === undefined ? messages : messages.slice(Math.max(0, messages.length - limit))
    return structuredClone(inTimeOrder(newest, ({ createdAt }) => createdAt))
  }

  async appendTurn(turn: ConversationTurn): Promise<void> {
    const stored = this.#find(turn.conversationId)
    const earlier = stored.turns.get(turn.id)
    if (earlier && !isSame(earlier, turn)) throw new IdConflict('turn', turn.id)
    this.#append(stored, messagesOfTurn(turn))
    stored.turns.set(turn.id, structuredClone(turn))
    this.#touch(stored)
  }

  async listTurns(conversationId: string): Promise<ConversationTurn[]> {
    return structuredClone([...this.#find(conversationId).turns.values()])
  }

  #find(id: string): Stored {
    const stored = this.#stored.get(id)
    if (!stored) throw new ConversationNotFound(id)
    return stored
  }

  /** Appends all messages that are not stored yet, or none. @throws IdConflict */
  #append(stored: Stored, messages: ConversationMessage[]): void {
    const given = withoutRepetitions(messages)
    for (const message of given) {
      const earlier = stored.messages.get(message.id)
      if (earlier && !isSame(earlier, message)) throw new IdConflict('message', message.id)
    }
    for (const message of given) {
      if (!stored.messages.has(message.id)) stored.messages.set(message.id, structuredClone(message))
    }
    if (given.length > 0) this.#touch(stored)
  }

  /** Sets `updatedAt`, and moves the conversation to the end of the order. */
  #touch(stored: Stored): void {
    stored.conversation.updatedAt = new Date()
    this.#stored.delete(stored.conversation.id)
    this.#stored.set(stored.conversation.id, stored)
  }
}
