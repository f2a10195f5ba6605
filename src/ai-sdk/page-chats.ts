// The chats of a page: each opened once, when it is first used.

import { ColloquyError, type Client, type CreateConversationInput } from '../client/index.ts'
import { createChat, type Chat } from './chat.ts'
import type { Requests } from './requests.ts'

export type PageChat = {
  chat: Chat
  conversationId: string
  sent: Requests['sent']
  /** Ids of the messages that open streams write. */
  streamed: Set<string>
  /** Number of pages that follow the chat. */
  followers: number
  /** Number of times that the stream was requested again. */
  resumed: number
}

type Options = {
  client: Client
  /** Returns the conversation of a chat. */
  conversation(chatId: string): string | { key: string }
  /** Input with which a conversation is created if there is none; undefined to create none. */
  create: Omit<CreateConversationInput, 'key' | 'as'> | undefined
}

export type PageChats = {
  /** Opens the chat to send a message. Creates the conversation if there is none. @throws ColloquyError */
  toSend(chatId: string): Promise<PageChat>
  /** Opens the chat to read it; null if there is no conversation. @throws ColloquyError */
  toRead(chatId: string): Promise<PageChat | null>
  /** Opens the chat anew the next time, for example because its conversation was deleted. */
  forget(chatId: string): void
  /** Calls the listener once, with the chat when it is open. Returns a function that removes it. */
  whenOpen(chatId: string, listener: (page: PageChat) => void): () => void
}

/** Returns null for the error of a conversation that does not exist. */
function nullIfMissing(error: unknown): null {
  if (error instanceof ColloquyError && error.code === 'NOT_FOUND') return null
  throw error
}

export function createPageChats({ client, conversation, create }: Options): PageChats {
  const chats = new Map<string, Promise<PageChat>>()
  const waiting = new Map<string, Set<(page: PageChat) => void>>()

  async function open(chatId: string, isCreated: boolean): Promise<PageChat> {
    const { id } =
      isCreated && create
        ? await client.createConversation({ ...create, key: chatId })
        : await client.conversation(conversation(chatId)).read()
    const page = {
      chat: createChat(client, id),
      conversationId: id,
      sent: new Map(),
      streamed: new Set<string>(),
      followers: 0,
      resumed: 0,
    }
    for (const listener of waiting.get(chatId) ?? []) listener(page)
    waiting.delete(chatId)
    return page
  }

  async function get(chatId: string, isCreated: boolean): Promise<PageChat> {
    const known = await chats.get(chatId)?.catch(() => null)
    if (known) return known
    const opening = open(chatId, isCreated)
    chats.set(chatId, opening)
    try {
      return await opening
    } catch (error) {
      chats.delete(chatId)
      throw error
    }
  }

  return {
    toSend: (chatId) => get(chatId, true),
    forget: (chatId) => void chats.delete(chatId),
    toRead: (chatId) => get(chatId, false).catch(nullIfMissing),
    whenOpen(chatId, listener) {
      const listeners = waiting.get(chatId) ?? new Set()
      waiting.set(chatId, listeners.add(listener))
      get(chatId, false).then(
        (page) => listeners.delete(listener) && listener(page),
        () => {},
      )
      return () => void listeners.delete(listener)
    },
  }
}
