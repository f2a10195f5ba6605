// The stream of the answers to a turn, in the stream protocol of the AI SDK. It ends when nobody is expected to answer
// any more, or an answer waits for a decision or for the results of tools.

import type { UIMessageChunk } from 'ai'
import type { TranscriptTurn } from '../client/index.ts'
import { changesOf, requireReadable, type Answering, type Chat, type ChatAnswer, type ChatState } from './chat.ts'
import { createChunker } from './chunks.ts'
import { toAnswers, type ConversationMessage } from './messages.ts'

/** The answers to stream. */
export type Wanted = {
  /** Position of the turn that is answered. */
  to: number
  /** Run that was started for the answer, if any. */
  runId?: string
  /** Whether the stream ends with this run, whoever else is expected to answer. Defaults to false. */
  isOneRun?: boolean
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

/** Whether the answer waits for the results of tools, or for a decision. A run with all decisions is about to continue. */
function waits({ run }: ChatAnswer, { approvals }: Answering): boolean {
  if (run?.state !== 'WAITING_FOR_APPROVAL') return run?.state === 'WAITING_FOR_TOOLS'
  return approvals.some(({ state, turn }) => state === 'PENDING' && run.replies.some(({ id }) => id === turn.id))
}

/** Whether the transcript has every turn after the position `to` in the state in which the server has it. */
function isCurrent({ transcript }: ChatState, { turns }: Answering, to: number): boolean {
  const statuses = new Map(transcript.turns.map(({ id, status }) => [id, status]))
  const after = turns.filter(({ position, status }) => position > to && status !== 'STREAMING')
  return after.every(({ id, status }) => statuses.get(id) === status)
}

/**
 * The turns of agents after the position, without answers to what other people have written there, and answers to these.
 */
function repliesAfter({ turns, viewer }: ChatState['transcript'], to: number): TranscriptTurn[] {
  const others = new Set<string>()
  return turns.filter(({ id, position, role, actor, replyTo }) => {
    if (position <= to) return false
    const isOfOthers = (role === 'USER' && actor !== viewer) || (replyTo !== null && others.has(replyTo.id))
    if (isOfOthers) others.add(id)
    return role !== 'USER' && !isOfOthers
  })
}

/** Returns what the state contains of the wanted answers. */
export function progressOf(
  state: ChatState,
  { to, runId, isOneRun, includes }: Wanted,
  { pageTools }: Pick<StreamOptions, 'pageTools'>,
): Progress {
  const { transcript, answering } = state
  const approvals = answering?.approvals ?? []
  const turns = repliesAfter(transcript, to)
  const answers = toAnswers(turns, { approvals, pageTools }).filter(
    ({ message }) => message.role === 'assistant' && (includes?.(message) ?? true),
  )
  const positions = new Set(isOneRun ? [] : [to, ...turns.map(({ position }) => position)])
  const expected = (answering?.pendingAnswers ?? []).filter(
    ({ turn, run }) => (run && run.id === runId) || (turn && positions.has(turn.position)),
  )
  // A person may take hours.
  const busy = expected.filter((answer) => answer.participant?.kind !== 'HUMAN' && !waits(answer, answering!))
  const isOpen = answers.some((answer) => answer.isOpen)
  const isDone = answering !== null && busy.length === 0 && !isOpen && isCurrent(state, answering, to)
  const incomplete = isDone ? -1 : answers.findIndex(({ isComplete }) => !isComplete)
  const shown = (incomplete < 0 ? answers : answers.slice(0, incomplete + 1)).map(({ message }) => message)
  const messages = shown.filter(({ parts }) => parts.some(({ type }) => type !== 'step-start'))
  return { messages, busy, isWaiting: expected.some((answer) => waits(answer, answering!)), isDone }
}

/** Returns why the run that answers failed, or the newest one of an agent; null if none did. */
function failureOf(
  { runs }: Answering,
  { to, runId }: Wanted,
  messages: readonly ConversationMessage[],
): string | null {
  const own = runs.filter(({ id, replyTo }) => (runId === undefined ? replyTo?.position === to : id === runId))
  const newest = new Map(own.toReversed().map((run) => [run.actor, run]))
  for (const { state, error } of newest.values()) if (state === 'FAILED') return error?.message ?? 'The run failed.'
  // The server repeats runs that fail, and the last of them may not be among the newest runs.
  const aborted = messages.at(-1)?.metadata?.abortReason
  return aborted && own.every(({ state }) => state !== 'CANCELLED') ? aborted : null
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
