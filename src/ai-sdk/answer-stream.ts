// The stream of the answers to a turn, in the stream protocol of the AI SDK. It ends when nobody is expected to answer
// any more, or an answer waits for a decision or for the results of tools.

import type { UIMessageChunk } from 'ai'
import { answersIn, newestRuns, type Asked } from '../client/chat/answers.ts'
import {
  changesOf,
  requireReadable,
  type Answering,
  type Chat,
  type ChatAnswer,
  type ChatState,
} from '../client/chat/chat.ts'
import type { Client } from '../client/index.ts'
import { createChunker } from './chunks.ts'
import { toAnswers, type ConversationMessage } from './messages.ts'

/** The answers to stream. */
export type Wanted = Asked & {
  /** Whether a message of an agent that follows the turn belongs to the stream. Defaults to all. */
  includes?(message: ConversationMessage): boolean
  /** The message that the page has, which the answers continue. */
  known?: ConversationMessage
  /**
   * How several answers are sent: `joined` as steps of one message, `first` only the first one, or `separate` as messages
   * of their own, which only a resumed stream can have.
   */
  answers: 'joined' | 'first' | 'separate'
}

/** Interval at which a stream looks whether it is idle, ms. */
const LOOK_MS = 1_000
/** Default of `idleMs`. */
export const IDLE_MS = 60_000

export type StreamOptions = {
  pageTools: ReadonlySet<string>
  fileUrl: Client['fileUrl']
  /** Time without any change after which a stream ends although an answer is expected, ms. A running run has no limit. */
  idleMs: number
}

type Progress = {
  /** The messages to send now, in order. All but the last are complete. */
  messages: ConversationMessage[]
  /** The answers of agents that are expected and do not wait. */
  busy: ChatAnswer[]
  /** Whether an answer waits for a decision or for the results of tools. */
  isWaiting: boolean
  isDone: boolean
}

/** Returns what the state contains of the wanted answers. */
export function progressOf(
  state: ChatState,
  wanted: Wanted,
  { pageTools, fileUrl }: Pick<StreamOptions, 'pageTools' | 'fileUrl'>,
): Progress {
  const { turns, busy, waiting, ...found } = answersIn(state, wanted)
  const answers = toAnswers(turns, { approvals: state.answering?.approvals ?? [], pageTools, fileUrl }).filter(
    ({ message }) => message.role === 'assistant' && (wanted.includes?.(message) ?? true),
  )
  const isDone = found.isDone && !answers.some(({ isOpen }) => isOpen)
  const incomplete = isDone ? -1 : answers.findIndex(({ isComplete }) => !isComplete)
  const shown = (incomplete < 0 ? answers : answers.slice(0, incomplete + 1)).map(({ message }) => message)
  const messages = shown.filter(({ parts }) => parts.some(({ type }) => type !== 'step-start'))
  return { messages, busy, isWaiting: waiting.length > 0, isDone }
}

/** Returns why the run that answers failed, or the newest one of an agent; null if none did. */
function failureOf(answering: Answering, wanted: Wanted, messages: readonly ConversationMessage[]): string | null {
  const newest = newestRuns(answering, wanted)
  for (const { state, error } of newest) if (state === 'FAILED') return error?.message ?? 'The run failed.'
  // The server repeats runs that fail, and the last of them may not be among the newest runs.
  const aborted = messages.at(-1)?.metadata?.abortReason
  return aborted && newest.every(({ state }) => state !== 'CANCELLED') ? aborted : null
}

/** Creates the function that returns the chunks of new states of the messages. */
function createSender({ known, answers }: Wanted): (messages: readonly ConversationMessage[]) => UIMessageChunk[] {
  let current = known
  let chunker = createChunker(known)
  const start = (message: ConversationMessage): UIMessageChunk[] => {
    // A stream of one message keeps its id, also if its first turn is superseded.
    const isNew = answers === 'separate' ? current?.id !== message.id : !current
    if (isNew && answers === 'separate') chunker = createChunker()
    current = isNew ? message : current
    return isNew ? [{ type: 'start', messageId: message.id, messageMetadata: message.metadata }] : []
  }
  return (messages) => {
    const [first] = messages
    if (!first) return []
    if (answers === 'separate') {
      const from = messages.findIndex(({ id }) => id === current?.id)
      return messages.slice(Math.max(0, from)).flatMap((message) => [...start(message), ...chunker(message)])
    }
    const parts = answers === 'first' ? first.parts : messages.flatMap((message) => message.parts)
    return [...start(first), ...chunker({ ...first, parts })]
  }
}

/**
 * Yields the chunks of the answers as they are written. A chat that has lost the connection waits until it is restored.
 * @throws ColloquyError if the conversation can no longer be read @throws Error if it was deleted
 */
export async function* answerChunks(
  chat: Chat,
  wanted: Wanted,
  options: StreamOptions & { signal: AbortSignal },
): AsyncGenerator<UIMessageChunk, void> {
  const changes = changesOf(chat, options.signal)
  const send = createSender(wanted)
  let changedAt = Date.now()
  let seen: ChatState['transcript'] | null = null
  try {
    while (!options.signal.aborted) {
      const state = chat.get()
      requireReadable(state)
      if (state.transcript !== seen) changedAt = Date.now()
      seen = state.transcript
      const { messages, busy, isDone, isWaiting } = progressOf(state, wanted, options)
      yield* send(messages)
      const isIdle = Date.now() - changedAt > options.idleMs && busy.every(({ run }) => run?.state !== 'RUNNING')
      if (state.answering && (isDone || isIdle)) {
        const messageMetadata = messages.at(-1)?.metadata
        const errorText = failureOf(state.answering, wanted, messages)
        if (errorText !== null) {
          if (messageMetadata) yield { type: 'message-metadata', messageMetadata }
          yield { type: 'error', errorText }
        } else if (messageMetadata) {
          yield { type: 'finish', finishReason: isWaiting ? 'tool-calls' : 'stop', messageMetadata }
        }
        return
      }
      await changes.next(LOOK_MS)
    }
  } finally {
    changes.close()
  }
}

/** Returns a stream of the values, which are taken only as fast as the stream is read. */
export function streamOf<Value>(values: (signal: AbortSignal) => AsyncGenerator<Value, void>): ReadableStream<Value> {
  const ending = new AbortController()
  const reading = values(ending.signal)
  return new ReadableStream<Value>({
    async pull(controller) {
      const { value, done } = await reading.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    // The values may wait for a change, which the signal ends, or for the reader, which `return` ends.
    cancel() {
      ending.abort()
      reading.return().catch(() => {})
    },
  })
}
