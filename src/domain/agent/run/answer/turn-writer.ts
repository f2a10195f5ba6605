// Writes the text and the parts of one reply into a streaming turn, in order and exactly once: while one delta is written,
// the text that arrives is collected for the next. A write whose outcome is unknown is repeated at the same offset.

import { backoffMs, every, sleep } from '../../../../runtime/clock.ts'
import { DomainError, InvalidInput, ServerBusy, StreamClosed } from '../../../../errors.ts'
import type { Platform } from '../../../kernel/platform.ts'
import type { StreamDeps } from '../../../turn/streaming/delta-queue.ts'
import { isFirstHalf } from '../../../turn/streaming/delta-batch.ts'
import { appendDelta, type AppendDeltaInput } from '../../../turn/streaming/append-delta.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { RunFailure } from './failure.ts'
import { runLeaseSeconds } from '../state.ts'

/** Maximum length of one delta, in UTF-16 units. */
const MAX_DELTA = 64 * 1024
/** Length of the waiting text at which reading from the provider pauses, in UTF-16 units. */
const MAX_WAITING = 1024 * 1024
/** The pause before a write is repeated. */
const BACKOFF = { firstMs: 50, maxMs: 2_000 }

/** The part of a turn that text is added to. */
type Part = NonNullable<AppendDeltaInput['part']>

export type TurnWriter = {
  /**
   * Adds text to the turn, or to a part of it. Resolves when less than MAX_WAITING units wait to be written.
   * @throws the error of an earlier write
   */
  write(text: string, part?: Part): Promise<void>
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

/** A delta that waits to be written. `part` is null for a delta of the turn's text. */
type Waiting = { part: Part | null; text: string }

/** Whether text for the part may be added to the waiting delta. */
const continues = ({ part: last }: Waiting, { number, isComplete: _, ...kind }: Partial<Part>) =>
  last?.number === number && !last?.isComplete && Object.keys(kind).length === 0

/** Removes and returns the first MAX_DELTA units of the delta that has waited longest. Its rest is a delta of its own. */
function takeDelta(waiting: Waiting[]): Waiting {
  const { part, text } = waiting.shift()!
  if (text.length <= MAX_DELTA) return { part, text }
  waiting.unshift({ part: part && { number: part.number, isComplete: part.isComplete }, text: text.slice(MAX_DELTA) })
  return { part: part && { ...part, isComplete: false }, text: text.slice(0, MAX_DELTA) }
}

/** Makes each text well-formed: replaces lone halves of surrogate pairs. A pair may be split between two texts. */
function createRepair() {
  /** The first half of a pair whose other half has not arrived, by number of the part; 0 for the turn's text. */
  const halves = new Map<number, string>()
  return {
    add(number: number, text: string): string {
      const given = (halves.get(number) ?? '') + text.replaceAll('\0', '\ufffd')
      const half = given !== '' && isFirstHalf(given.charCodeAt(given.length - 1)) ? given.at(-1)! : ''
      halves.set(number, half)
      return given.slice(0, given.length - half.length).toWellFormed()
    },
    /** Returns the replacement of the half that waits at the end of a text. */
    end: (number: number): string => (halves.get(number) ? '\ufffd' : ''),
  }
}

/** @param onFailure called once, when a write fails */
export function createTurnWriter(
  deps: StreamDeps,
  agent: Viewer,
  opened: Opened,
  onFailure: (error: unknown) => void,
): TurnWriter {
  const { clock } = deps
  const waiting: Waiting[] = []
  /** Total length of the waiting texts, in UTF-16 units. */
  let length = 0
  /** The ends of the stored texts, by number of the part. */
  const ends = new Map<number, number>()
  const repair = createRepair()
  let running: Promise<void> | null = null
  let failure: { error: unknown } | null = null
  let wroteAt = clock.performance.now()

  function send(text: string, part: Part | null) {
    const start = ends.get(part?.number ?? 0) ?? 0
    return persist(deps, () => appendDelta(deps, agent, { ...opened, text, part, start }))
  }

  function fail(error: unknown): void {
    if (failure) return
    failure = { error: refusalOf(error, deps.limits.turnBytes) }
    waiting.length = 0
    length = 0
    onFailure(failure.error)
  }

  async function run(): Promise<void> {
    while (waiting.length > 0 && !failure) {
      const { part, text } = takeDelta(waiting)
      length -= text.length
      const number = part?.number ?? 0
      try {
        await send(text, part)
        ends.set(number, (ends.get(number) ?? 0) + text.length)
        wroteAt = clock.performance.now()
      } catch (error) {
        fail(error)
      }
    }
    running = null
  }

  function add(text: string, part: Part | null): void {
    if (failure || (text === '' && !part)) return
    length += text.length
    const last = waiting.at(-1)
    if (last && continues(last, part ?? {})) {
      last.text += text
      if (part?.isComplete) last.part!.isComplete = true
    } else waiting.push({ part: part && { ...part }, text })
    running ??= run()
  }

  const leaseMs = runLeaseSeconds(deps) * 1000
  const stopHeartbeats = every(clock, leaseMs / 3, () => {
    const isIdle = !running && clock.performance.now() - wroteAt > leaseMs / 4
    // If a heartbeat fails, the next one renews the lease. If the turn is closed, the writer fails.
    if (isIdle) send('', null).catch((error: unknown) => error instanceof StreamClosed && fail(error))
  })

  async function drain(limit: number): Promise<void> {
    while (running && length >= limit) await running
    if (failure) throw failure.error
  }

  return {
    write(text, part) {
      const number = part?.number ?? 0
      add(repair.add(number, text) + (part?.isComplete ? repair.end(number) : ''), part ?? null)
      return drain(MAX_WAITING)
    },
    async finish() {
      add(repair.end(0), null)
      await drain(0)
    },
    stop: () => void stopHeartbeats(),
  }
}
