// Writes the text of one reply into a streaming turn, in order and exactly once: while one delta is written, the text
// that arrives is collected for the next. A write whose outcome is unknown is repeated at the same offset.

import { backoffMs, every, sleep } from '../../../../runtime/clock.ts'
import { DomainError, InvalidInput, ServerBusy, StreamClosed } from '../../../../errors.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { StreamDeps } from '../../../turn/streaming/delta-queue.ts'
import { isFirstHalf } from '../../../turn/streaming/delta-batch.ts'
import { appendDelta } from '../../../turn/streaming/stream.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { RunFailure } from './failure.ts'
import { runLeaseSeconds } from '../state.ts'

/** Maximum length of one delta, in UTF-16 units. */
const MAX_DELTA = 64 * 1024
/** Length of the waiting text at which reading from the provider pauses, in UTF-16 units. */
const MAX_WAITING = 1024 * 1024
/** The pause before a write is repeated. */
const BACKOFF = { firstMs: 50, maxMs: 2_000 }

export type TurnWriter = {
  /** Adds text. Resolves when less than MAX_WAITING units wait to be written. @throws the error of an earlier write */
  write(text: string): Promise<void>
  /** Resolves when all text is stored. @throws the error of a write */
  finish(): Promise<void>
  /** Stops the heartbeats, the empty deltas that renew the lease of the turn. */
  stop(): void
}

type Opened = { turnId: string; writerToken: string }

/** Retries an idempotent call for up to `streamLeaseMs` while it fails unexpectedly or with ServerBusy. */
export async function persist<T>(
  { clock, streamLeaseMs }: Pick<Platform, 'clock' | 'streamLeaseMs'>,
  call: () => Promise<T>,
): Promise<T> {
  const until = clock.performance.now() + streamLeaseMs
  for (let failures = 1; ; failures++) {
    try {
      return await call()
    } catch (error) {
      const wait = backoffMs(BACKOFF, failures)
      const isFinal = error instanceof RunFailure || (error instanceof DomainError && !(error instanceof ServerBusy))
      if (isFinal || clock.performance.now() + wait > until) throw error
      await sleep(clock, wait)
    }
  }
}

/** Returns the error to report for a delta that was refused. */
const refusalOf = (error: unknown, limit: number): unknown =>
  error instanceof InvalidInput
    ? new RunFailure('REPLY_TOO_LONG', `The reply is longer than ${limit} bytes, the maximum of a turn.`)
    : error

/** @param onFailure called once, when a write fails */
export function createTurnWriter(
  deps: StreamDeps,
  agent: Viewer,
  opened: Opened,
  onFailure: (error: unknown) => void,
): TurnWriter {
  const { clock } = deps
  let waiting = ''
  /** The first half of a surrogate pair whose other half has not arrived. */
  let half = ''
  let end = 0
  let running: Promise<void> | null = null
  let failure: { error: unknown } | null = null
  let wroteAt = clock.performance.now()

  const send = (text: string, start: number) =>
    persist(deps, () => appendDelta(deps, agent, { ...opened, text, start }))

  function fail(error: unknown): void {
    if (failure) return
    failure = { error: refusalOf(error, deps.limits.turnBytes) }
    waiting = ''
    onFailure(failure.error)
  }

  async function run(): Promise<void> {
    while (waiting !== '' && !failure) {
      const text = waiting.slice(0, MAX_DELTA)
      waiting = waiting.slice(MAX_DELTA)
      try {
        await send(text, end)
        end += text.length
        wroteAt = clock.performance.now()
      } catch (error) {
        fail(error)
      }
    }
    running = null
  }

  const start = () => {
    if (waiting !== '' && !running) running = run()
  }

  const leaseMs = runLeaseSeconds(deps) * 1000
  const stopHeartbeats = every(clock, leaseMs / 3, () => {
    const isIdle = !running && clock.performance.now() - wroteAt > leaseMs / 4
    // If a heartbeat fails, the next one renews the lease. If the turn is closed, the writer fails.
    if (isIdle) send('', end).catch((error: unknown) => error instanceof StreamClosed && fail(error))
  })

  async function drain(limit: number): Promise<void> {
    while (running && waiting.length >= limit) await running
    if (failure) throw failure.error
  }

  return {
    write(text) {
      const given = half + text.replaceAll('\0', '\ufffd')
      half = given !== '' && isFirstHalf(given.charCodeAt(given.length - 1)) ? given.at(-1)! : ''
      waiting += given.slice(0, given.length - half.length).toWellFormed()
      start()
      return drain(MAX_WAITING)
    },
    async finish() {
      if (half !== '') waiting += '\ufffd'
      half = ''
      start()
      await drain(0)
    },
    stop: () => void stopHeartbeats(),
  }
}
