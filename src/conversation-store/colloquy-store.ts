// Implements the conversation store of document 002 with Colloquy. A message is stored as a turn, and the id of a
// conversation as its key. The user of a conversation is its owner. Fields of the document that Colloquy does not have
// are stored in the metadata.

import { codeOf, ConversationNotFound, IdConflict } from '../transcript/errors.ts'
import { blankPart, headOf, metadataOf, textsOfBlank, writing } from '../transcript/stored-message.ts'
import {
  conversationsOf,
  PAGE_TURNS,
  pagesBackwards,
  type ConversationQuery,
  type StoredConversation,
  type StoredTurn,
  type Transcript,
} from '../transcript/transcript.ts'
import { collectPage, DEFAULT_CONVERSATIONS } from './page.ts'
import type {
  Conversation,
  ConversationFilter,
  ConversationMessage,
  ConversationRole,
  ConversationStore,
  MessageQueryOptions,
} from './types.ts'

/** Key in the conversation's metadata for the fields of the document that Colloquy does not have. */
const KEY = 'storedConversation'

type Kept = { userId: number; auditingId: number; createdAt: string }

export type ColloquyConversationStoreOptions = {
  /** Returns the actor of a user, who owns the user's conversations. Default: the number as text. */
  actorOf?: (userId: number) => string
}

const ROLES = { user: 'USER', assistant: 'ASSISTANT', system: 'SYSTEM' } as const

/** Returns the conversation of the document; null for one that another client created. */
function toConversation(stored: StoredConversation): Conversation | null {
  const { [KEY]: given, ...metadata } = stored.metadata
  if (given === undefined || stored.key === null) return null
  const { userId, auditingId, createdAt } = given as Kept
  return {
    schemaVersion: 1,
    conversationId: stored.key,
    userId,
    auditingId,
    agentName: stored.agentName ?? '',
    ...(stored.title !== null && { title: stored.title }),
    createdAt: new Date(createdAt),
    updatedAt: stored.updatedAt,
    messageCount: stored.turnCount,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** Returns the object without its null fields. */
const withoutNull = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as {
    [key in keyof T]?: NonNullable<T[key]>
  }

/** Returns the message of a turn; null for a turn without text, and for a turn with the role TOOL. */
function toMessage(conversationId: string, turn: StoredTurn): ConversationMessage | null {
  if (turn.role === 'TOOL') return null
  const texts = turn.parts.flatMap((part) => {
    if (part.type === 'text') return [part.text]
    return (part.type === 'data' && textsOfBlank(part.data)) || []
  })
  if (texts.length === 0) return null
  const { id, createdAt, metadata } = headOf(turn)
  return {
    schemaVersion: 1,
    messageId: id,
    conversationId,
    role: turn.role.toLowerCase() as ConversationRole,
    content: texts.join(''),
    timestamp: createdAt,
    ...(turn.traceId !== null && { traceId: turn.traceId }),
    ...(turn.citations.length > 0 && { sources: turn.citations.map(withoutNull) }),
    ...(metadata && { metadata }),
  }
}

export class ColloquyConversationStore implements ConversationStore {
  readonly #transcript: Transcript
  readonly #actorOf: (userId: number) => string

  /** @param transcript the result of `openTranscript`, from the package `colloquy`, or of `connectTranscript` */
  constructor(transcript: Transcript, { actorOf = String }: ColloquyConversationStoreOptions = {}) {
    this.#transcript = transcript
    this.#actorOf = actorOf
  }

  async createConversation(conv: Omit<Conversation, 'messageCount'>): Promise<void> {
    const { conversationId, userId, auditingId, agentName, title, createdAt, metadata } = conv
    const user = this.#actorOf(userId)
    const kept: Kept = { userId, auditingId, createdAt: createdAt.toISOString() }
    // Add the viewer as a participant, because the conversation may be visible only to participants.
    const others = this.#transcript.actor === null ? [agentName] : [agentName, this.#transcript.actor]
    const { created } = await this.#transcript.createConversation(
      {
        key: conversationId,
        agentName,
        ...(title !== undefined && { title }),
        metadata: { ...metadata, [KEY]: kept },
        participants: [
          { actor: user },
          ...[...new Set(others)]
            .filter((actor) => actor !== user)
            .map((actor) => (actor === agentName ? { actor, kind: 'AGENT' as const } : { actor })),
        ],
      },
      user,
    )
    if (!created) throw new IdConflict('conversation', conversationId)
  }

  async addMessage(conversationId: string, msg: ConversationMessage): Promise<void> {
    const { stored, conversation } = await this.#find(conversationId)
    const { messageId, role, content, timestamp, traceId, sources, metadata } = msg
    const user = this.#actorOf(conversation.userId)
    const turn = {
      actor: role === 'user' ? user : conversation.agentName,
      role: ROLES[role],
      clientId: messageId,
      parts: [content.trim() === '' ? blankPart([content]) : { text: content }],
      metadata: metadataOf({ id: messageId, createdAt: timestamp }, metadata),
      ...(traceId !== undefined && { traceId }),
      ...(sources && sources.length > 0 && { citations: sources }),
    }
    await writing(conversationId, { messages: [messageId] }, () =>
      this.#transcript.appendTurns(stored.id, [turn], user),
    )
  }

  async updateConversation(
    conversationId: string,
    { title, metadata }: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<void> {
    const { stored, conversation } = await this.#find(conversationId)
    const updates = {
      ...(title !== undefined && { title }),
      ...(metadata !== undefined && { metadata: { ...metadata, [KEY]: stored.metadata[KEY] } }),
    }
    await this.#transcript.updateConversation(stored.id, updates, this.#actorOf(conversation.userId))
  }

  async getConversation(conversationId: string): Promise<Conversation | null> {
    const stored = await this.#transcript.findConversation(conversationId)
    return stored && toConversation(stored)
  }

  async getMessages(conversationId: string, opts: MessageQueryOptions = {}): Promise<ConversationMessage[]> {
    const stored = await this.#transcript.findConversation(conversationId)
    const page = collectPage(opts)
    if (!stored || opts.limit === 0) return []
    // A message may be stored long after its time, so `before` cannot select turns: read all pages from the newest.
    const atMost = opts.before === undefined ? Math.min(opts.limit ?? PAGE_TURNS, PAGE_TURNS) : PAGE_TURNS
    for await (const turns of pagesBackwards(this.#transcript, stored.id, { atMost })) {
      const isFull = turns.toReversed().some((turn) => {
        const message = toMessage(conversationId, turn)
        return message !== null && page.take(message)
      })
      if (isFull) break
    }
    return page.messages()
  }

  async listConversations(filter: ConversationFilter): Promise<Conversation[]> {
    const { userId, agentName, limit = DEFAULT_CONVERSATIONS, offset = 0 } = filter
    const query: ConversationQuery = {
      ...(agentName !== undefined && { agentName }),
      metadata: [
        userId === undefined
          ? { path: [KEY], value: { exists: true } }
          : { path: [KEY, 'userId'], value: { equals: userId } },
      ],
    }
    const listed: Conversation[] = []
    for await (const stored of conversationsOf(this.#transcript, query)) {
      const conversation = toConversation(stored)
      if (conversation) listed.push(conversation)
      if (listed.length >= offset + limit) break
    }
    return listed.slice(offset, offset + limit)
  }

  async deleteConversation(conversationId: string): Promise<void> {
    const stored = await this.#transcript.findConversation(conversationId)
    const conversation = stored && toConversation(stored)
    if (!stored || !conversation) return
    try {
      await this.#transcript.deleteConversation(stored.id, this.#actorOf(conversation.userId))
    } catch (error) {
      if (codeOf(error) !== 'NOT_FOUND') throw error
    }
  }

  async #find(conversationId: string): Promise<{ stored: StoredConversation; conversation: Conversation }> {
    const stored = await this.#transcript.findConversation(conversationId)
    const conversation = stored && toConversation(stored)
    if (!stored || !conversation) throw new ConversationNotFound(conversationId)
    return { stored, conversation }
  }
}
