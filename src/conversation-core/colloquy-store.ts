// Implements the conversation store of document 003 with Colloquy. A message is stored as a turn of Colloquy, the id of
// a conversation as its key, and a turn of the document as a record (turn-record.ts).
//
// Invariant: appendTurn writes the messages of a turn that are not stored yet, and its record, in one transaction.

import { codeOf, ConversationNotFound, IdConflict } from '../transcript/errors.ts'
import { inTimeOrder, withoutRepetitions } from '../transcript/same.ts'
import { headOf, writing } from '../transcript/stored-message.ts'
import {
  conversationsOf,
  PAGE_TURNS,
  pagesBackwards,
  type GivenConversation,
  type GivenTurn,
  type StoredConversation,
  type StoredTurn,
  type Transcript,
} from '../transcript/transcript.ts'
import { DEFAULT_CONVERSATIONS, messagesOfTurn } from './memory-store.ts'
import { callIdOf, toMessage, toTurn, type AnsweredCall } from './message-turn.ts'
import { pairToolResults } from './tool-pairs.ts'
import { fromRecord, RECORDS_ACTOR, toRecord } from './turn-record.ts'
import type {
  Conversation,
  ConversationMessage,
  ConversationStore,
  ConversationTurn,
  ListConversationsOptions,
  ListMessagesOptions,
  ToolResultContentPart,
} from './types.ts'

export type ColloquyConversationStoreOptions = {
  /** Returns the author of a message. Default: the role of the message. */
  actorOf?: (message: ConversationMessage) => string
  /** Initial participants of a new conversation. Default: one for each role, and `turn-records`. */
  participants?: GivenConversation['participants']
}

const PARTICIPANTS: GivenConversation['participants'] = [
  { actor: 'user', kind: 'HUMAN' },
  { actor: 'assistant', kind: 'AGENT' },
  { actor: 'system', kind: 'AGENT' },
  { actor: 'tool', kind: 'TOOL' },
  { actor: RECORDS_ACTOR, kind: 'TOOL' },
]

/** Maximum number of turns that are read to find the call of a result. */
const LOOK_BACK_TURNS = 1000

const toConversation = ({ id, key, createdAt, updatedAt, title, metadata }: StoredConversation): Conversation => ({
  id: key ?? id,
  createdAt,
  updatedAt,
  ...(title !== null && { title }),
  ...(Object.keys(metadata).length > 0 && { metadata }),
})

export class ColloquyConversationStore implements ConversationStore {
  readonly guarantees = ['ATOMIC_TURNS', 'LIMIT_IS_NEWEST'] as const
  readonly #transcript: Transcript
  readonly #actorOf: (message: ConversationMessage) => string
  readonly #participants: GivenConversation['participants']

  /** @param transcript the result of `openTranscript`, from the package `colloquy`, or of `connectTranscript` */
  constructor(transcript: Transcript, options: ColloquyConversationStoreOptions = {}) {
    const { actorOf = ({ role }) => role, participants = PARTICIPANTS } = options
    this.#transcript = transcript
    this.#actorOf = actorOf
    this.#participants = participants
  }

  async createConversation({
    id,
    title,
    metadata,
  }: {
    id?: string
    title?: string
    metadata?: Record<string, unknown>
  }): Promise<Conversation> {
    const { actor } = this.#transcript
    const { conversation, created } = await this.#transcript.createConversation({
      ...(id !== undefined && { key: id }),
      ...(title !== undefined && { title }),
      ...(metadata !== undefined && { metadata }),
      // Omit the viewer's kind, so that the viewer keeps the kind of its credential.
      participants: this.#participants.map((each) => (each.actor === actor ? { actor } : each)),
    })
    if (!created) throw new IdConflict('conversation', id!)
    return toConversation(conversation)
  }

  async getConversation(id: string): Promise<Conversation | null> {
    const found = await this.#transcript.findConversation(id)
    return found && toConversation(found)
  }

  async updateConversation(
    id: string,
    { title, metadata }: Partial<Pick<Conversation, 'title' | 'metadata'>>,
  ): Promise<Conversation | null> {
    const found = await this.#transcript.findConversation(id)
    if (!found) return null
    const updates = { ...(title !== undefined && { title }), ...(metadata !== undefined && { metadata }) }
    return toConversation(await this.#transcript.updateConversation(found.id, updates))
  }

  async listConversations({ limit = DEFAULT_CONVERSATIONS, before, beforeId }: ListConversationsOptions = {}): Promise<
    Conversation[]
  > {
    // With beforeId, also read the conversations updated at `before`: dates have whole milliseconds.
    const bound = before && new Date(before.getTime() + (beforeId === undefined ? 0 : 1))
    const ties: Conversation[] = []
    const listed: Conversation[] = []
    for await (const stored of conversationsOf(this.#transcript, bound ? { updatedBefore: bound } : {})) {
      const conversation = toConversation(stored)
      const isTie = beforeId !== undefined && conversation.updatedAt.getTime() === before?.getTime()
      // Of the conversations updated at `before`, those up to beforeId are on the previous page.
      if (isTie && conversation.id === beforeId) ties.length = 0
      else (isTie ? ties : listed).push(conversation)
      if (listed.length >= limit) break
    }
    return [...ties, ...listed].slice(0, limit)
  }

  async appendMessages(messages: ConversationMessage[]): Promise<void> {
    const ids = [...new Set(messages.map(({ conversationId }) => conversationId))]
    const found = await Promise.all(ids.map((id) => this.#find(id)))
    for (const [index, stored] of found.entries()) {
      const ofConversation = messages.filter(({ conversationId }) => conversationId === ids[index])
      await this.#write(ids[index]!, stored, ofConversation)
    }
  }

  async listMessages(conversationId: string, { limit }: ListMessagesOptions = {}): Promise<ConversationMessage[]> {
    const { id } = await this.#find(conversationId)
    const newestFirst: ConversationMessage[] = []
    const atMost = Math.min(limit ?? PAGE_TURNS, PAGE_TURNS)
    if (atMost > 0) {
      for await (const page of pagesBackwards(this.#transcript, id, { atMost })) {
        newestFirst.push(...page.toReversed().map((turn) => toMessage(conversationId, turn)))
        if (newestFirst.length >= (limit ?? Infinity)) break
      }
    }
    return inTimeOrder(newestFirst.slice(0, limit).reverse(), ({ createdAt }) => createdAt)
  }

  async appendTurn(turn: ConversationTurn): Promise<void> {
    const { conversationId } = turn
    await this.#write(conversationId, await this.#find(conversationId), messagesOfTurn(turn), turn)
  }

  async listTurns(conversationId: string): Promise<ConversationTurn[]> {
    const { id } = await this.#find(conversationId)
    const pages: StoredTurn[][] = []
    try {
      for await (const page of pagesBackwards(this.#transcript, id, { as: RECORDS_ACTOR })) pages.push(page)
    } catch (error) {
      // An actor who is unknown to the server has written no record.
      if (codeOf(error) !== 'UNKNOWN_ACTOR') throw error
    }
    const turns = pages.reverse().flat()
    const messages = new Map(turns.map((turn) => [headOf(turn).id, toMessage(conversationId, turn)]))
    return turns.flatMap((turn) => fromRecord(conversationId, turn, messages) ?? [])
  }

  async #find(conversationId: string): Promise<StoredConversation> {
    const found = await this.#transcript.findConversation(conversationId)
    if (!found) throw new ConversationNotFound(conversationId)
    return found
  }

  /** Writes the messages that are not stored yet and the record of the turn, or nothing. */
  async #write(
    conversationId: string,
    { id }: StoredConversation,
    messages: ConversationMessage[],
    turn?: ConversationTurn,
  ): Promise<void> {
    const given = withoutRepetitions(messages)
    const answered = await this.#callsOf(id, given)
    const turns: GivenTurn[] = given.map((message) =>
      toTurn(message, this.#actorOf(message), (result) => answered.get(result) ?? null),
    )
    if (turn) turns.push(toRecord(turn))
    if (turns.length === 0) return
    const ids = { messages: given.map((message) => message.id), ...(turn && { turn: turn.id }) }
    await writing(conversationId, ids, () => this.#transcript.appendTurns(id, turns))
  }

  /** Returns the call of each result. A message that is already stored keeps the calls that its results had. */
  async #callsOf(
    conversationId: string,
    messages: readonly ConversationMessage[],
  ): Promise<Map<ToolResultContentPart, AnsweredCall>> {
    const calls = new Map<ToolResultContentPart, AnsweredCall>()
    const waiting = messages.flatMap(({ content }) => content.filter((part) => part.type === 'tool-result'))
    if (waiting.length === 0) return calls
    let earlier: ConversationMessage[] = []
    const assign = () => {
      const isStored = new Set(earlier.map(({ id }) => id))
      for (const pair of pairToolResults([...earlier, ...messages.filter(({ id }) => !isStored.has(id))])) {
        const { call, messageId, part, result } = pair
        calls.set(result, { callId: callIdOf(messageId, part, call.id), name: call.name })
      }
      return waiting.every((result) => calls.has(result))
    }
    if (assign()) return calls
    for await (const page of pagesBackwards(this.#transcript, conversationId)) {
      for (const message of messages) {
        const stored = page.find((turn) => headOf(turn).id === message.id)
        for (const [index, part] of message.content.entries()) {
          const kept = stored?.parts[index]
          if (part.type !== 'tool-result' || !stored) continue
          calls.set(part, kept?.type === 'toolResult' ? { callId: kept.callId, name: kept.name } : null)
        }
      }
      earlier = [...page.map((turn) => toMessage(conversationId, turn)), ...earlier]
      if (assign() || earlier.length >= LOOK_BACK_TURNS) break
    }
    return calls
  }
}
