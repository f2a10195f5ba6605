// Creates a ProviderAdapter from a model that returns the pieces of a reply. Implements the parts that all adapters
// share: the time limit of silence, the limits and the assembly of a reply, abort and close, and the stream.

import { randomUUID } from 'node:crypto'
import { createPushIterator } from '../runtime/push-iterator.ts'
import { asText, textOf } from './message-parts.ts'
import {
  ProviderCallFailed,
  type ProviderAdapter,
  type ProviderCallParams,
  type ProviderCallResult,
  type ProviderContentPart,
  type ProviderFinishReason,
  type ProviderStream,
  type ProviderStreamEvent,
  type ProviderTokenUsage,
  type ProviderToolCall,
} from './ports/provider-adapter.ts'

/**
 * Maximum size of a reply: its text and the arguments of its tool calls, in bytes of UTF-8.
 * @internal Exported for tests.
 */
export const MAX_REPLY_BYTES = 1024 * 1024
/** Maximum number of tool calls of one reply. @internal Exported for tests. */
export const MAX_REPLY_CALLS = 100
/** Time without data from the provider after which a call fails, ms. */
export const STALL_MS = 60_000

export type ReplyEnd = {
  type: 'end'
  finishReason: ProviderFinishReason
  usage?: ProviderTokenUsage | undefined
  /** The provider's id of the reply. Default: a generated one. */
  id?: string | undefined
  raw?: unknown
}

/** A piece of a reply, in the order in which the model writes it. `end` is the last one. */
export type ReplyPiece = { type: 'text'; text: string } | { type: 'tool-call'; toolCall: ProviderToolCall } | ReplyEnd

export type ModelCall = {
  /** Aborted when the call ends early. */
  signal: AbortSignal
  /** Restarts the time limit of silence, as each piece does. Call it when the provider sends any other data. */
  isAlive(): void
}

export type ChatModel = {
  /** Returns the names of the provider and its model. Error messages begin with them. */
  label(params: ProviderCallParams): string
  /** Time without data from the provider after which a call fails, ms. */
  stallMs: number
  /** Sends the request. Resolves when the provider has accepted it. */
  open(params: ProviderCallParams, call: ModelCall): Promise<AsyncIterable<ReplyPiece>>
  /** Converts an error of `open`, or of the pieces if `isAccepted`. Rethrows an error that is unrelated to the call. */
  explain(error: unknown, isAccepted: boolean, label: string): ProviderCallFailed
}

export type ChatAdapter = Required<ProviderAdapter> & {
  /** Ends running calls. Later calls fail with `CLOSED`. Idempotent. */
  close(): Promise<void>
}

export function createChatAdapter(model: ChatModel): ChatAdapter {
  const running = new Set<AbortController>()
  let isClosed = false

  async function completeStream(params: ProviderCallParams): Promise<ProviderStream> {
    const label = model.label(params)
    params.signal?.throwIfAborted()
    if (isClosed) throw closed(label)
    const controller = new AbortController()
    const { signal } = controller
    const abort = () => controller.abort(params.signal?.reason)
    params.signal?.addEventListener('abort', abort, { once: true })
    running.add(controller)
    const silence = setTimeout(() => controller.abort(stalled(label, model.stallMs)), model.stallMs)
    const end = () => {
      clearTimeout(silence)
      running.delete(controller)
      params.signal?.removeEventListener('abort', abort)
    }
    const failureOf = (error: unknown, isAccepted: boolean): unknown => {
      if (signal.aborted) return signal.reason
      if (error instanceof ProviderCallFailed) return error
      try {
        return model.explain(error, isAccepted, label)
      } catch (unrelated) {
        return unrelated
      }
    }
    try {
      const isAlive = () => void silence.refresh()
      const pieces = await unlessAborted(signal, () => model.open(params, { signal, isAlive }))
      const reply = createReply(label)
      const stream = createStream((error) => controller.abort(error))
      // A model that ignores the signal cannot delay the end.
      const fail = (error: unknown) => {
        stream.fail(error)
        end()
      }
      signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      pump(pieces, reply, stream, isAlive).then(end, (error: unknown) => {
        fail(failureOf(error, true))
        controller.abort()
      })
      return stream.stream
    } catch (error) {
      end()
      throw failureOf(error, false)
    }
  }

  return {
    completeStream,
    complete: async (params) => (await completeStream(params)).final,
    async close() {
      isClosed = true
      for (const controller of running) controller.abort(closed('The provider'))
    },
  }
}

const closed = (label: string) => new ProviderCallFailed('CLOSED', `${label} is closed.`, false)

const stalled = (label: string, ms: number) =>
  new ProviderCallFailed('STALLED', `${label} sent nothing for ${ms / 1000} s.`, true)

/** Resolves with the result of `start`, or rejects with the signal's reason as soon as the signal is aborted. */
const unlessAborted = <T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    start()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })

/** Adds all pieces to the reply and the stream. @throws ProviderCallFailed if the pieces end without an `end` */
async function pump(pieces: AsyncIterable<ReplyPiece>, reply: Reply, stream: EventStream, isAlive: () => void) {
  for await (const piece of pieces) {
    isAlive()
    const event = reply.add(piece)
    if (event) stream.push(event)
    if (event?.type === 'done') return
  }
  throw reply.cutOff()
}

type Reply = {
  /** Adds a piece. Returns its event; null for an empty text. @throws ProviderCallFailed above a limit */
  add(piece: ReplyPiece): ProviderStreamEvent | null
  /** Returns the error for a reply without an `end`. */
  cutOff(): ProviderCallFailed
}

/** Assembles a reply from its pieces. Adjacent texts become one part. */
function createReply(label: string): Reply {
  const createdAt = new Date()
  const content: ProviderContentPart[] = []
  const calls: ProviderToolCall[] = []
  const ids = new Set<string>()
  const size = createReplySize(label)

  function addCall(given: ProviderToolCall): ProviderStreamEvent {
    if (calls.length === MAX_REPLY_CALLS) throw tooLarge(label, `more than ${MAX_REPLY_CALLS} tool calls`)
    const id = isUsableId(given.id) && !ids.has(given.id) ? given.id : `call_${randomUUID()}`
    const toolCall: ProviderToolCall = { id, name: given.name, arguments: given.arguments }
    size.add(asText(given.arguments))
    ids.add(id)
    calls.push(toolCall)
    content.push({ type: 'tool-call', ...toolCall })
    return { type: 'tool-call', toolCall }
  }

  function resultOf({ finishReason, usage, id, raw }: ReplyEnd): ProviderCallResult {
    return {
      id: isUsableId(id) ? id : `reply_${randomUUID()}`,
      createdAt,
      message: { role: 'assistant', content },
      ...(calls.length > 0 && { toolCalls: calls }),
      ...(usage && { usage }),
      ...(raw !== undefined && { raw }),
      finishReason,
    }
  }

  return {
    add(piece) {
      switch (piece.type) {
        case 'text': {
          if (piece.text === '') return null
          size.add(piece.text)
          const last = content.at(-1)
          if (last?.type === 'text') last.text += piece.text
          else content.push({ type: 'text', text: piece.text })
          return { type: 'delta', delta: textMessage(piece.text) }
        }
        case 'tool-call':
          return addCall(piece.toolCall)
        case 'end':
          return { type: 'done', result: resultOf(piece) }
      }
    },
    cutOff: () => new ProviderCallFailed('CUT_OFF', `${label} ended its reply too early.`, true),
  }
}

/** Whether an id of the provider has 1 to 128 printable characters, so that it can be stored and sent back. */
const isUsableId = (id: unknown): id is string => typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id)

const textMessage = (text: string) => ({ role: 'assistant' as const, content: [{ type: 'text' as const, text }] })

const tooLarge = (label: string, what: string) =>
  new ProviderCallFailed('REPLY_TOO_LARGE', `${label} wrote a reply with ${what}.`, false)

/** Adds up the size of a reply. `add` throws ProviderCallFailed above MAX_REPLY_BYTES. */
export function createReplySize(label: string): { add(text: string): void } {
  let bytes = 0
  return {
    add(text) {
      bytes += Buffer.byteLength(text)
      if (bytes > MAX_REPLY_BYTES) throw tooLarge(label, `more than ${MAX_REPLY_BYTES} bytes`)
    },
  }
}

type EventStream = {
  stream: ProviderStream
  push(event: ProviderStreamEvent): void
  /** Ends the stream after the events that wait. Later calls have no effect. */
  fail(error: unknown): void
}

/** Joins two deltas. */
const joinDeltas = (last: ProviderStreamEvent, pushed: ProviderStreamEvent): ProviderStreamEvent | null =>
  last.type === 'delta' && pushed.type === 'delta'
    ? { type: 'delta', delta: textMessage(textOf(last.delta) + textOf(pushed.delta)) }
    : null

/**
 * Creates a stream for one reader. Waiting deltas are joined, so that at most the text of one reply waits, even if the
 * reader is slow or never reads. Calls `stop` if the reader ends the iteration early.
 */
function createStream(stop: (error: Error) => void): EventStream {
  const events = createPushIterator<ProviderStreamEvent>(Infinity, { join: joinDeltas })
  let resolve: (result: ProviderCallResult) => void
  let reject: (error: unknown) => void
  const final = new Promise<ProviderCallResult>((...settle) => ([resolve, reject] = settle))
  final.catch(() => {})
  let ended = false
  const iterator = events.iterate(() => {
    if (!ended) stop(new DOMException('The reader of the reply stopped.', 'AbortError'))
  })
  return {
    stream: { final, [Symbol.asyncIterator]: () => iterator },
    push(event) {
      if (ended) return
      events.push(event)
      if (event.type !== 'done') return
      ended = true
      events.end()
      resolve(event.result)
    },
    fail(error) {
      if (ended) return
      ended = true
      events.end(error)
      reject(error)
    },
  }
}
