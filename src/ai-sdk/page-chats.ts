// The chats of a page: each opened once, when it is first used.

import { ColloquyError, type Client, type CreateConversationInput } from '../client/index.ts'
import { createChat, type Chat } from '../client/chat/chat.ts'
import type { Requests } from './requests.ts'

export type PageChat = {
  chat: Chat
  conversationId: string
  sent: Requests['sent']
  unsent: Requests['unsent']
  /** Ids of the messages that open streams write. */
  streamed: Set<string>
  /** Number of pages that follow the chat. */
  followers: number
  /** Number of times that the stream was requested again. */
  resumed: number
}

type Options = {
  client: Client
  /** Returns the conversation of a chat. With `create`, one that its key names is created. */
  conversation(chatId: string): string | { key: string }
  /** Input with which a conversation is created if there is none; undefined to create none. */
  create: Omit<CreateConversationInput, 'key' | 'as'> | undefined
}

export type PageChats = {
  /** Opens the chat to send a message. Creates the conversation if there is none. @throws ColloquyError */
  toSend(chatId: string): Promise<PageChat>
  /** Opens the chat to read it; null if there is no conversation. @throws ColloquyError */
  toRead(chatId: string): Promise<PageChat | null>
  /** Calls the listener once, with the chat when it is open. Returns a function that removes it. */
  whenOpen(chatId: string, listener: (page: PageChat) => void): () => void
}

/** Maximum number of chats that are kept. Unused ones are dropped, the oldest first, and opened again when used. */
const MAX_CHATS = 1_000

/** Returns null for the error of a conversation that does not exist. */
function nullIfMissing(error: unknown): null {
  if (error instanceof ColloquyError && error.code === 'NOT_FOUND') return null
  throw error
}

/** Whether the conversation was deleted or can no longer be read. */
const isLost = ({ chat }: PageChat) => ['deleted', 'failed'].includes(chat.get().transcript.status)

export function createPageChats({ client, conversation, create }: Options): PageChats {
  const chats = new Map<string, Promise<PageChat>>()
  const opened = new Map<string, PageChat>()
  const waiting = new Map<string, Set<(page: PageChat) => void>>()

  function dropUnused(): void {
    for (const [chatId, { followers, streamed }] of opened) {
      if (opened.size <= MAX_CHATS) return
      if (followers > 0 || streamed.size > 0) continue
      opened.delete(chatId)
      chats.delete(chatId)
    }
  }

  async function open(chatId: string, isCreated: boolean): Promise<PageChat> {
    const name = conversation(chatId)
    const { id } =
      isCreated && create && typeof name !== 'string'
        ? await client.createConversation({ ...create, ...name })
        : await client.conversation(name).read()
    const page = {
      chat: createChat(client, id),
      conversationId: id,
      sent: new Map(),
      unsent: new Map(),
      streamed: new Set<string>(),
      followers: 0,
      resumed: 0,
    }
    opened.delete(chatId)
    opened.set(chatId, page)
    dropUnused()
    const listeners = [...(waiting.get(chatId) ?? [])]
    waiting.delete(chatId)
    for (const listener of listeners) listener(page)
    return page
  }

  async function reopen(chatId: string, isCreated: boolean, known: Promise<PageChat>): Promise<PageChat> {
    const page = await known.catch((error: unknown) => {
      if (!isCreated) throw error
      return open(chatId, true)
    })
    return isLost(page) ? open(chatId, isCreated) : page
  }

  function get(chatId: string, isCreated: boolean): Promise<PageChat> {
    const known = chats.get(chatId)
    const opening = known ? reopen(chatId, isCreated, known) : open(chatId, isCreated)
    chats.set(chatId, opening)
    opening.catch(() => chats.get(chatId) === opening && chats.delete(chatId))
    return opening
  }

  return {
    toSend: (chatId) => get(chatId, true),
    toRead: (chatId) => get(chatId, false).catch(nullIfMissing),
    whenOpen(chatId, listener) {
      let isCalled = false
      const call = (page: PageChat) => {
        if (isCalled) return
        isCalled = true
        listener(page)
      }
      const listeners = waiting.get(chatId) ?? new Set()
      waiting.set(chatId, listeners.add(call))
      get(chatId, false).then(call, () => {})
      return () => {
        isCalled = true
        waiting.get(chatId)?.delete(call)
      }
    },
  }
}
