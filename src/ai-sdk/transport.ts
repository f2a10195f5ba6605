// A transport of the AI SDK's `useChat`: a chat page that sends to a conversation, and receives what agents answer. The
// conversation is the truth: a page that was closed, or has lost the connection, continues where the conversation is.

import type { ChatTransport, UIMessageChunk } from 'ai'
import type { Client, CreateConversationInput } from '../client/index.ts'
import { answerChunks, IDLE_MS, progressOf, streamOf, type StreamOptions, type Wanted } from './answer-stream.ts'
import { changesOf, readyToRead, type Chat } from '../client/chat/chat.ts'
import { mergeMessages } from './merge.ts'
import { toUIMessages, type ConversationMessage } from './messages.ts'
import { createPageChats, type PageChat } from './page-chats.ts'
import { request, type ChatRunOptions } from './requests.ts'

export type ChatTransportOptions = {
  client: Client
  /** Returns the conversation of a chat, its id or `{ key }`. By default, the id of the chat is the conversation's key. */
  conversation?: (chatId: string) => string | { key: string }
  /** Creates the conversation of a chat with its first message, with the id of the chat as its key, if there is none. */
  create?: Omit<CreateConversationInput, 'key' | 'as'>
  /**
   * Runs an agent for every message. By default, a message is only appended, and the participants answer whom it wakes
   * up. The `tools` are executed by the page.
   */
  run?: ChatRunOptions
  /**
   * Time without any change after which a stream ends although an answer is expected, ms. A running run has no limit.
   * Defaults to 60,000.
   */
  idleMs?: number
}

type SetMessages = (change: (messages: ConversationMessage[]) => ConversationMessage[]) => void

export type ConversationTransport = ChatTransport<ConversationMessage> & {
  /** Reads the newest messages of a chat, 50 turns by default: the `messages` to start with. @throws ColloquyError */
  load(chatId: string, options?: { turns?: number }): Promise<ConversationMessage[]>
  /**
   * Keeps the messages of a page current, with those of other people and agents, until the returned function is called.
   * @param setMessages that of `useChat`
   */
  follow(chatId: string, setMessages: SetMessages): () => void
}

/** Time for which a stopped stream waits for the runs to cancel, ms. */
const STOP_MS = 10_000
/** Interval between the changes of `follow`, ms. */
const FOLLOW_MS = 50

/** Cancels the runs that answer, also one that is about to start. */
async function stopAnswers(client: Client, chat: Chat, wanted: Wanted, options: StreamOptions): Promise<void> {
  const changes = changesOf(chat)
  const cancelled = new Set<string>()
  try {
    await chat.refresh()
    const until = Date.now() + STOP_MS
    while (Date.now() < until) {
      const { busy } = progressOf(chat.get(), wanted, options)
      if (busy.length === 0) return
      for (const { run } of busy) {
        if (!run || cancelled.has(run.id)) continue
        cancelled.add(run.id)
        // The run may have ended, or the actor may not cancel it.
        await client.cancelRun(run.id).catch(() => {})
      }
      await changes.next(until - Date.now())
    }
  } finally {
    changes.close()
  }
}

/** Returns the stream of the answers. Calls `release` when it has ended. */
function streamAnswers(
  { chat, streamed }: PageChat,
  wanted: Wanted,
  options: StreamOptions,
  release: () => void,
): ReadableStream<UIMessageChunk> {
  return streamOf(async function* (signal) {
    const own = new Set<string>()
    const add = (id: string) => own.add(id) && streamed.add(id)
    try {
      if (wanted.known) add(wanted.known.id)
      for await (const chunk of answerChunks(chat, wanted, { ...options, signal })) {
        if (chunk.type === 'start') add(chunk.messageId!)
        yield chunk
      }
    } finally {
      for (const id of own) streamed.delete(id)
      release()
    }
  })
}

/** Shows the messages of the chat after each change. Returns a function that ends this. */
function followChat(
  page: PageChat,
  setMessages: SetMessages,
  { pageTools, fileUrl }: Pick<StreamOptions, 'pageTools' | 'fileUrl'>,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = () => {
    timer = undefined
    const { transcript, answering } = page.chat.get()
    if (!transcript.conversation) return
    const messages = toUIMessages(transcript.turns, { approvals: answering?.approvals ?? [], pageTools, fileUrl })
    setMessages((shown) => mergeMessages(shown, messages, page))
  }
  const unsubscribe = page.chat.subscribe(() => (timer ??= setTimeout(show, FOLLOW_MS)))
  page.followers += 1
  return () => {
    page.followers -= 1
    clearTimeout(timer)
    unsubscribe()
  }
}

/** Creates the transport. Also works in a server, behind the routes of a page that uses the AI SDK's own transport. */
export function createChatTransport({
  client,
  conversation = (key) => ({ key }),
  create,
  run,
  idleMs = IDLE_MS,
}: ChatTransportOptions): ConversationTransport {
  const pageTools = new Set((run?.tools ?? []).map(({ name }) => name))
  const { fileUrl } = client
  const options: StreamOptions = { pageTools, fileUrl, idleMs }
  const chats = createPageChats({ client, conversation, create })

  /** Keeps the chat current until the stream that `begin` returns has ended. */
  async function withChat<Result>(
    { chat }: PageChat,
    begin: (release: () => void) => Promise<Result>,
  ): Promise<Result> {
    const release = chat.subscribe(() => {})
    try {
      await readyToRead(chat)
      return await begin(release)
    } catch (error) {
      release()
      throw error
    }
  }
  const stop = ({ chat }: PageChat, wanted: Wanted) => void stopAnswers(client, chat, wanted, options).catch(() => {})

  return {
    resumeStreamIsReplay: true,

    async sendMessages({ chatId, abortSignal, ...given }) {
      const page = await chats.toSend(chatId)
      return withChat(page, async (release) => {
        const answered = await request({ client, ...page, run, pageTools }, given)
        const wanted: Wanted = { ...answered, answers: page.followers > 0 ? 'first' : 'joined' }
        if (abortSignal?.aborted) stop(page, wanted)
        abortSignal?.addEventListener('abort', () => stop(page, wanted), { once: true })
        await page.chat.refresh()
        return streamAnswers(page, wanted, options, release)
      })
    },

    async reconnectToStream({ chatId, abortSignal }) {
      const page = await chats.toRead(chatId)
      if (!page) return null
      const resumed = ++page.resumed
      return withChat(page, async (release) => {
        const { transcript, answering } = page.chat.get()
        const own = transcript.turns.filter(({ actor, role }) => actor === transcript.viewer && role === 'USER')
        const asked = answering!.pendingAnswers.flatMap(({ turn }) => (turn?.actor === transcript.viewer ? [turn] : []))
        const to = Math.min(own.at(-1)?.position ?? transcript.lastSeq, ...asked.map(({ position }) => position))
        await page.chat.reach(to)
        const wanted: Wanted = { to, answers: 'separate' }
        if (progressOf(page.chat.get(), wanted, options).isDone) {
          release()
          return null
        }
        // `useChat` also aborts a stream when it is resumed again, which must not stop the answers.
        const onAbort = () => setTimeout(() => page.resumed === resumed && stop(page, wanted))
        abortSignal?.addEventListener('abort', onAbort, { once: true })
        return streamAnswers(page, wanted, options, release)
      })
    },

    async load(chatId, { turns = 50 } = {}) {
      const page = await chats.toRead(chatId)
      if (!page) return []
      const { chat, conversationId } = page
      const [{ nodes }, approvals] = await Promise.all([
        chat.conversation.turns({ last: turns }),
        client.approvals({ conversationId }),
      ])
      return toUIMessages(nodes, { approvals: approvals.nodes, pageTools, fileUrl })
    },

    follow(chatId, setMessages) {
      let end = chats.whenOpen(chatId, (page) => {
        end = followChat(page, setMessages, options)
      })
      return () => end()
    },
  }
}
