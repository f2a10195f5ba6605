// Creates a ProviderAdapter from a model that returns the pieces of a reply. Implements the parts that all adapters
// share: the time limit of silence, the limits and the assembly of a reply, abort and close, and the stream.

import { createPushIterator } from '../runtime/push-iterator.ts'
import {
  ProviderCallFailed,
  type ProviderAdapter,
  type ProviderCallParams,
  type ProviderCallResult,
  type ProviderDeltaPart,
  type ProviderStream,
  type ProviderStreamEvent,
} from './ports/provider-adapter.ts'
import { createReply, deltaOf, type Reply, type ReplyPiece } from './reply.ts'

/** Time without data from the provider after which a call fails, ms. */
export const STALL_MS = 60_000

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

export type ChatAdapter = Required<Pick<ProviderAdapter, 'complete' | 'completeStream'>>
  & Pick<ProviderAdapter, 'acceptsImages' | 'fetchesUrl'> & {
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

type EventStream = {
  stream: ProviderStream
  push(event: ProviderStreamEvent): void
  /** Ends the stream after the events that wait. Later calls have no effect. */
  fail(error: unknown): void
}

/** Joins two deltas of the text, of the reasoning, or of one tool call. Returns null for other events. */
function joinDeltas(last: ProviderStreamEvent, pushed: ProviderStreamEvent): ProviderStreamEvent | null {
  if (last.type !== 'delta' || pushed.type !== 'delta') return null
  const [before, after] = [last.delta.content[0], pushed.delta.content[0]] as ProviderDeltaPart[]
  if (!before || !after || !('text' in before) || !('text' in after) || before.type !== after.type) return null
  if ('id' in before && 'id' in after && before.id !== after.id) return null
  return deltaOf({ ...before, text: before.text + after.text })
}

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
