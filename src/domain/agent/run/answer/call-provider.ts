// Makes one call of a provider and streams the reply. Retries a call that fails temporarily, with
// exponential backoff, unless a part of the reply has already arrived.

import { backoffMs, sleep, type Clock } from '../../../../runtime/clock.ts'
import { CallFailed } from '../../../../providers/ports/call-failed.ts'
import {
  ProviderCallFailed,
  type ProviderFailureCode,
  type ProviderAdapter,
  type ProviderCallParams,
  type ProviderCallResult,
  type ProviderDeltaPart,
  type ProviderMessage,
  type ProviderStream,
  type ProviderToolCall,
} from '../../../../providers/ports/provider-adapter.ts'

/** Maximum number of attempts of one call. @internal */
export const MAX_CALL_ATTEMPTS = 4
/** Pause before the second attempt, ms, ±25 %; doubles before each further one. A provider may request a longer one. */
const PAUSE_MS = 500
/** Maximum pause that a provider may request, ms. If it requests a longer one, the call fails. */
const MAX_PAUSE_MS = 30_000

export type CallOptions = {
  clock: Clock
  /** Milliseconds without an event after which the call fails. */
  stallMs: number
  signal: AbortSignal
  /** Whether `onDelta` receives the reasoning. If not, a call that fails while the model reasons may be repeated. */
  hasReasoning: boolean
  /** Receives the parts of the reply's deltas, in order. The next event is read after the promise has resolved. */
  onDelta(part: ProviderDeltaPart): Promise<void>
  /** Receives each tool call of a stream, with all its arguments, after its deltas. */
  onCall(call: ProviderToolCall): Promise<void>
  /** Called before each attempt, with its number from 1. */
  onAttempt(attempt: number): void
}

export type CallReply = { result: ProviderCallResult; calls: readonly ProviderToolCall[] }

const textOf = ({ content }: ProviderMessage): string =>
  content.map((part) => ('text' in part && part.type === 'text' ? String(part.text) : '')).join('')

const isReasoning = ({ type }: ProviderDeltaPart) => type === 'reasoning' || type === 'reasoning-end'

/** Rejects with the signal's reason when it aborts. */
function rejectOnAbort(signal: AbortSignal): { promise: Promise<never>; dispose(): void } {
  let onAbort = () => {}
  const promise = new Promise<never>((_, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a reason need not be an Error
    onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  promise.catch(() => {})
  return { promise, dispose: () => signal.removeEventListener('abort', onAbort) }
}

/** Aborts the controller if `reset` is not called for `ms`. */
function createStallTimer(clock: Clock, controller: AbortController, provider: string, ms: number) {
  let timer: NodeJS.Timeout | undefined
  return {
    reset() {
      clock.clearTimeout(timer)
      timer = clock.setTimeout(() => {
        const message = `The provider ${provider} sent nothing for ${ms / 1000} s.`
        controller.abort(new ProviderCallFailed('STALLED', message, true))
      }, ms)
    },
    clear: () => clock.clearTimeout(timer),
  }
}

/** The part of a reply that has arrived. `hasBegun`: `onDelta` or `onCall` has received text, reasoning or a whole call. */
type Progress = { hasBegun: boolean; length: number; calls: ProviderToolCall[] }

async function readStream(
  stream: ProviderStream,
  race: <T>(work: Promise<T>) => Promise<T>,
  progress: Progress,
  { hasReasoning, onDelta, onCall }: Pick<CallOptions, 'hasReasoning' | 'onDelta' | 'onCall'>,
): Promise<ProviderCallResult> {
  stream.final.catch(() => {})
  const iterator = stream[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await race(iterator.next())
      if (done) throw new ProviderCallFailed('CUT_OFF', 'The reply of the provider ended before it was complete.', true)
      if (value.type === 'done') return value.result
      if (value.type === 'tool-call') {
        progress.hasBegun = true
        progress.calls.push(value.toolCall)
        await onCall(value.toolCall)
      } else {
        progress.length += textOf(value.delta).length
        for (const part of value.delta.content as ProviderDeltaPart[]) {
          if (!hasReasoning && isReasoning(part)) continue
          // A call that is not whole does not prevent another attempt: the turn is committed without it.
          progress.hasBegun ||= part.type === 'text' ? part.text !== '' : isReasoning(part)
          await onDelta(part)
        }
      }
    }
  } finally {
    // Leaving the loop early cancels the stream. Do not wait for the provider to confirm it.
    iterator.return?.().catch(() => {})
  }
}

async function attempt(
  adapter: ProviderAdapter,
  params: ProviderCallParams,
  { clock, stallMs, signal, ...reading }: CallOptions,
  progress: Progress,
): Promise<CallReply> {
  const controller = new AbortController()
  const outer = rejectOnAbort(signal)
  outer.promise.catch(() => controller.abort(signal.reason))
  const inner = rejectOnAbort(controller.signal)
  const timer = createStallTimer(clock, controller, params.metadata.provider, stallMs)
  const race = async <T>(work: Promise<T>): Promise<T> => {
    timer.reset()
    work.catch(() => {})
    try {
      return await Promise.race([work, inner.promise])
    } finally {
      timer.clear()
    }
  }
  const given = { ...params, signal: controller.signal }
  try {
    const result = adapter.completeStream
      ? await readStream(await race(adapter.completeStream(given)), race, progress, reading)
      : await race(adapter.complete(given))
    // A reply without deltas has all its text in the result.
    if (progress.length === 0) await reading.onDelta({ type: 'text', text: textOf(result.message) })
    return { result, calls: result.toolCalls ?? progress.calls }
  } finally {
    timer.clear()
    outer.dispose()
    inner.dispose()
  }
}

/** Codes of failures after the provider has begun to answer. */
const ACCEPTED: ReadonlySet<ProviderFailureCode> = new Set(['BAD_REPLY', 'CUT_OFF', 'REPLY_TOO_LARGE', 'STALLED'])

/** Whether the error means that the provider has not accepted the call, and so has charged no tokens. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof CallFailed && !(error instanceof ProviderCallFailed && ACCEPTED.has(error.code))

/** Returns the pause before the given attempt, ms; null if the call must not be retried. Pure. @internal */
export function pauseBefore(attempt: number, error: unknown, hasBegun: boolean): number | null {
  if (hasBegun || attempt > MAX_CALL_ATTEMPTS || !(error instanceof CallFailed) || !error.retryable) return null
  const { code, retryAfterMs } =
    error instanceof ProviderCallFailed ? error : { code: 'UNAVAILABLE', retryAfterMs: null }
  if (code === 'STALLED' || (retryAfterMs ?? 0) > MAX_PAUSE_MS) return null
  return Math.max(retryAfterMs ?? 0, backoffMs({ firstMs: PAUSE_MS }, attempt - 1))
}

/**
 * Returns the reply to the call, after at most MAX_CALL_ATTEMPTS attempts.
 * @throws CallFailed @throws the error of `onDelta` or `onCall` @throws the signal's reason after an abort
 */
export async function callProvider(
  adapter: ProviderAdapter,
  params: ProviderCallParams,
  options: CallOptions,
): Promise<CallReply> {
  for (let number = 1; ; number++) {
    const progress: Progress = { hasBegun: false, length: 0, calls: [] }
    options.onAttempt(number)
    try {
      return await attempt(adapter, params, options, progress)
    } catch (error) {
      const ms = options.signal.aborted ? null : pauseBefore(number + 1, error, progress.hasBegun)
      if (ms === null) throw error
      await sleep(options.clock, ms * (0.75 + Math.random() / 2), options.signal)
    }
  }
}
