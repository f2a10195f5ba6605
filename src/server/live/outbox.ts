// The queue of frames for one client: a WebSocket, or a response that is an event stream. Waiting frames are written
// together. A frame whose payload is not ready delays all later frames. If senders respect `isFull`, at most about
// MAX_WAITING_BYTES wait for a slow socket, and less while the frames for all sockets use much of TOTAL_WAITING_BYTES.

import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Framing } from './frame.ts'

/** The body of a message, shared by all its recipients. `bytes` is null until `ready` resolves. */
export type Payload = {
  bytes: Buffer | null
  ready: Promise<unknown> | null
  /** Approximate size in bytes while `bytes` is null. */
  estimate: number
}

export type Outbox = {
  /** Adds a message: `prefix`, the payload, and the closing bytes of the framing. */
  add(prefix: Buffer, payload: Payload): void
  /** Writes the ready frames immediately. */
  flush(): void
  /** Resolves when every added frame has been written to the socket, or the socket is closed. */
  emptied(): Promise<void>
  /** Number of bytes that wait in the outbox and the socket together. */
  readonly waiting: number
  /** Whether more bytes wait than `fullAt`, so that senders of events must wait for `drained`. */
  isFull(): boolean
  /** Whether the waiting bytes exceed twice `fullAt`. The server must then stop reading from the client. */
  isBlocked(): boolean
  /** Whether more bytes wait than `overflowAt`, so that the socket must be closed. */
  isOverflowing(): boolean
  /** Resolves when the outbox is no longer full, or the socket is closed. */
  drained(): Promise<void>
}

/** Maximum of `fullAt`, in bytes. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Minimum of `fullAt`, in bytes. */
const MIN_WAITING_BYTES = 16 * 1024
/**
 * Intended maximum number of bytes that wait for all clients of the process together: in outboxes, and in answers that
 * are sent without one.
 */
export const TOTAL_WAITING_BYTES = 128 * 1024 * 1024

/**
 * Returns the number of waiting bytes above which an outbox is full, if `total` bytes wait for all sockets: an eighth
 * of the unused part of TOTAL_WAITING_BYTES, from MIN_WAITING_BYTES to MAX_WAITING_BYTES. (Dynamic thresholds,
 * Choudhury and Hahne, 1998.)
 * @internal
 */
export const fullAt = (total: number): number =>
  Math.min(MAX_WAITING_BYTES, Math.max(MIN_WAITING_BYTES, (TOTAL_WAITING_BYTES - total) / 8))

/** Maximum of `overflowAt`, in bytes. */
const MAX_OVERFLOW_BYTES = 32 * 1024 * 1024

/**
 * Returns the number of waiting bytes above which the socket is closed instead of sending an answer, if `total` bytes
 * wait for all sockets: half of the unused part of TOTAL_WAITING_BYTES, at least 4 × MIN_WAITING_BYTES and at most
 * MAX_OVERFLOW_BYTES.
 * @internal
 */
export const overflowAt = (total: number): number =>
  Math.min(MAX_OVERFLOW_BYTES, Math.max(4 * MIN_WAITING_BYTES, (TOTAL_WAITING_BYTES - total) / 2))

/** Number of bytes that wait in all outboxes, as of the last change of each, and in answers that are sent without one. */
let totalWaiting = 0
/** The part of `totalWaiting` that waits in answers, as of the last check of unread-data.ts. */
let answerBytes = 0

/** Returns the number of bytes that wait for all clients of the process. */
export const waitingBytes = (): number => totalWaiting

/** Replaces the number of bytes of answers that are sent without an outbox. */
export function noteAnswerBytes(bytes: number): void {
  totalWaiting += bytes - answerBytes
  answerBytes = bytes
}

/** The connections with an outbox. */
const connections = new WeakSet<Duplex>()

/** Whether the data of the connection waits in an outbox. */
export const hasOutbox = (connection: Duplex): boolean => connections.has(connection)

/** Returns a function that adds the connection to `connections`, until the socket or response is closed. */
function watchConnection(socket: Duplex | ServerResponse): () => void {
  const connection = 'socket' in socket ? socket.socket : socket
  if (!connection) return () => {}
  socket.once('close', () => connections.delete(connection))
  return () => connections.add(connection)
}

/**
 * Time for which frames are collected into one write, ms: the duration of the last flush, from `min` to `max`. So
 * flushes of up to `max` ms take at most half of the processor's time. Collecting makes writes fewer and larger.
 */
const GATHER_MS = { min: 2, max: 10 }

type Frame = { prefix: Buffer; payload: Payload }

/** Returns the approximate size of the frame, in bytes. */
const sizeOf = ({ prefix, payload }: Frame) => prefix.length + (payload.bytes?.length ?? payload.estimate)

/** The functions that the next `flushAll` calls. */
let scheduled: (() => void)[] = []
/** Whether `flushAll` is running or scheduled. */
let gathering = false

/**
 * Flushes the scheduled outboxes: after an idle period, in the same event loop iteration; under load, after GATHER_MS.
 */
function flushAll(): void {
  const flushes = scheduled
  scheduled = []
  gathering = flushes.length > 0
  if (!gathering) return
  const start = performance.now()
  for (const flush of flushes) flush()
  setTimeout(flushAll, Math.min(GATHER_MS.max, Math.max(GATHER_MS.min, performance.now() - start)))
}

function schedule(flush: () => void): void {
  scheduled.push(flush)
  if (gathering) return
  gathering = true
  setImmediate(flushAll)
}

/** Returns a function that schedules the flush, unless it is scheduled already. */
function createScheduler(flush: () => void): () => void {
  let isScheduled = false
  const run = () => {
    isScheduled = false
    flush()
  }
  return () => {
    if (isScheduled) return
    isScheduled = true
    schedule(run)
  }
}

/** Joins the first `count` frames, whose payloads are ready, into one buffer of `total` bytes. */
function join({ writeHeader, closing }: Framing, frames: readonly Frame[], count: number, total: number): Buffer {
  const out = Buffer.allocUnsafe(total)
  let offset = 0
  for (let index = 0; index < count; index++) {
    const { prefix, payload } = frames[index]!
    const bytes = payload.bytes!
    offset = writeHeader(out, offset, prefix.length + bytes.length + closing.length)
    offset += prefix.copy(out, offset)
    offset += bytes.copy(out, offset)
    offset += closing.copy(out, offset)
  }
  return out
}

/** Creates promises that resolve when a condition is true. `settle` checks all conditions. */
function createWaiters(socket: Duplex | ServerResponse) {
  let waiters: { until(): boolean; resolve(): void }[] = []
  return {
    wait: (until: () => boolean) => new Promise<void>((resolve) => void waiters.push({ until, resolve })),
    settle(): void {
      if (waiters.length === 0) return
      const fulfilled = waiters.filter(({ until }) => socket.destroyed || until())
      waiters = waiters.filter((waiter) => !fulfilled.includes(waiter))
      for (const { resolve } of fulfilled) resolve()
    },
  }
}

/** Creates an outbox. `socket` receives the frames: the socket of a WebSocket, or a response. */
export function createOutbox(socket: Duplex | ServerResponse, framing: Framing): Outbox {
  let waiting: Frame[] = []
  let size = 0
  /** The part of `totalWaiting` that belongs to this socket. */
  let counted = 0
  let isAwaitingPayload = false
  const flushSoon = createScheduler(flush)
  const waiters = createWaiters(socket)

  const waitingNow = () => (socket.destroyed ? 0 : size + socket.writableLength)

  function count(): void {
    const now = waitingNow()
    totalWaiting += now - counted
    counted = now
  }

  function settle(): void {
    count()
    waiters.settle()
  }
  const noteConnection = watchConnection(socket)
  socket.on('drain', settle)
  socket.on('close', flush)

  function waitUntil(until: () => boolean): Promise<void> {
    const fulfilled = waiters.wait(until)
    flush()
    return fulfilled
  }

  function flush(): void {
    if (socket.destroyed || socket.writableEnded) {
      waiting = []
      size = 0
    }
    let ready = 0
    let total = 0
    while (ready < waiting.length) {
      const { prefix, payload } = waiting[ready]!
      if (payload.bytes === null) break
      const length = prefix.length + payload.bytes.length + framing.closing.length
      total += framing.headerSize(length) + length
      ready += 1
    }
    if (ready > 0) {
      const out = join(framing, waiting, ready, total)
      waiting = ready === waiting.length ? [] : waiting.slice(ready)
      size = waiting.reduce((sum, frame) => sum + sizeOf(frame), 0)
      noteConnection()
      socket.write(out)
    }
    if (waiting.length > 0) flushWhenReady(waiting[0]!.payload.ready)
    settle()
  }

  /** Schedules a flush for when the payload is ready. */
  function flushWhenReady(ready: Promise<unknown> | null): void {
    if (isAwaitingPayload || !ready) return
    isAwaitingPayload = true
    void ready.finally(() => {
      isAwaitingPayload = false
      flushSoon()
    })
  }

  const outbox: Outbox = {
    add(prefix, payload) {
      // Runs for every recipient of every event, so it does not read the socket: `flush` counts the socket's bytes.
      const frame = { prefix, payload }
      const bytes = sizeOf(frame)
      waiting.push(frame)
      size += bytes
      counted += bytes
      totalWaiting += bytes
      flushSoon()
    },
    flush,
    get waiting() {
      return waitingNow()
    },
    emptied: () => waitUntil(() => waiting.length === 0),
    // `isFull` runs for every recipient of every event, so it reads the socket only if `counted` is high. `counted` is
    // at least the number of waiting bytes, except for answers sent since the last flush.
    isFull: () => counted > fullAt(totalWaiting) && waitingNow() > fullAt(totalWaiting),
    isBlocked: () => waitingNow() > 2 * fullAt(totalWaiting),
    isOverflowing: () => waitingNow() > overflowAt(totalWaiting),
    drained: () => waitUntil(() => !outbox.isFull()),
  }
  return outbox
}
