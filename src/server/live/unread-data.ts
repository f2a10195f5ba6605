// Ends connections whose clients do not read, over every transport: after a time limit, and earlier if the data that
// waits for all clients exceeds the budget, or if large answers cannot be rendered because other answers are not read.
// The connection that has accepted no data for the longest time is ended first.

import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { every } from '../../runtime/clock.ts'
import { counters } from '../../runtime/counters.ts'
import type { ByteBudget } from '../../domain/kernel/limits/byte-budget.ts'
import type { Platform } from '../../domain/kernel/platform.ts'
import type { Viewer } from '../../domain/kernel/view.ts'
import { freeMemory } from '../../runtime/free-memory.ts'
import type { HeldAnswer } from '../../graphql/kernel/limits/work.ts'
import { hasOutbox, noteAnswerBytes, TOTAL_WAITING_BYTES, waitingBytes } from './outbox.ts'
import { createPeakWatch } from '../load/peak.ts'

/** Maximum interval of the checks, ms. */
const CHECK_MS = 250
/** Minimum number of checks per time limit. A stalled connection is ended at most one interval late. */
const CHECKS = 4
/** Time without progress after which a connection may be ended for others, ms. @internal */
export const STALLED_MS = 1_000
/** Time after which a connection that makes progress may be ended for others, ms. @internal */
export const PATIENCE_MS = 5_000

/** The operating system's handle of a socket. Its queue shrinks while a large write makes progress. */
type WithHandle = { _handle?: { bytesWritten?: number; writeQueueSize?: number } | null }

/** A large answer of the viewer that is being rendered or waits to be written. */
type Held = { viewer: Viewer; answer: HeldAnswer }

/** The large answers of each connection. A connection without one has no entry. */
const heldBy = new WeakMap<Duplex, Set<Held>>()

/** Records that the connection has a large answer. Returns a function that removes and releases it. */
export function holdAnswer(connection: Duplex, viewer: Viewer, answer: HeldAnswer): () => void {
  let all = heldBy.get(connection)
  if (!all) heldBy.set(connection, (all = new Set()))
  const held = { viewer, answer }
  all.add(held)
  return () => {
    all.delete(held)
    answer.release()
  }
}

/** Like `holdAnswer`, until the response has been written or its connection is closed. */
export function holdAnswerOf(response: ServerResponse, viewer: Viewer, answer: HeldAnswer): void {
  // A closed response emits no further event.
  if (response.destroyed || !response.socket) return answer.release()
  response.once('close', holdAnswer(response.socket, viewer, answer))
}

/** Number of bytes that the client has accepted. */
const acceptedBy = ({ _handle: handle }: WithHandle) => (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0)

/** A connection with data that its client has not accepted. */
export type Unread = {
  /** Number of bytes that wait for the client, including answers that have not been passed to the socket. */
  bytes: number
  /** Time since the client last accepted data, ms. */
  stalledMs: number
  /** Time since the data began to wait, ms, and bytes that the client has accepted since. */
  waitingMs: number
  acceptedBytes: number
  /** Whether its senders respect the limits of an outbox. */
  hasOutbox: boolean
  /** Whether others wait for the memory of its answers. */
  isBlocking: boolean
}

const rateOf = ({ acceptedBytes, waitingMs }: Unread) => acceptedBytes / Math.max(1, waitingMs)

/**
 * Returns the connections to end, in order: those that stall, the longest first, and then those that read, the slowest
 * first. As many are ended as contain the excess, and one more if it blocks others. A connection that reads is ended
 * because of the excess only if it has no outbox, and because it blocks others only after PATIENCE_MS.
 * @param excess number of bytes by which the data of all clients exceeds the budget; 0 or less for none
 * @internal
 */
export function connectionsToEnd<T extends Unread>(unread: readonly T[], excess: number): T[] {
  const isStalled = ({ stalledMs }: Unread) => stalledMs >= STALLED_MS
  const stalled = unread.filter(isStalled).sort((a, b) => b.stalledMs - a.stalledMs)
  const reading = unread.filter((each) => !isStalled(each)).sort((a, b) => rateOf(a) - rateOf(b))
  const chosen: T[] = []
  let rest = excess
  for (const each of [...stalled, ...reading.filter(({ hasOutbox }) => !hasOutbox)]) {
    if (rest <= 0) break
    chosen.push(each)
    rest -= each.bytes
  }
  if (chosen.some(({ isBlocking }) => isBlocking)) return chosen
  const patient = reading.filter(({ waitingMs }) => waitingMs >= PATIENCE_MS)
  const blocking = [...stalled, ...patient].find(({ isBlocking }) => isBlocking)
  return blocking ? [...chosen, blocking] : chosen
}

/** The progress of a connection with waiting data. Times are those of `performance.now()`. */
type Progress = { startedAt: number; acceptedAtStart: number; accepted: number; acceptedAt: number }

/** Returns the progress after another check. */
function progressOf(before: Progress | null, socket: Socket, now: number): Progress {
  const accepted = acceptedBy(socket as WithHandle)
  if (!before) return { startedAt: now, acceptedAtStart: accepted, accepted, acceptedAt: now }
  return accepted === before.accepted ? before : { ...before, accepted, acceptedAt: now }
}

/** Returns the state of a connection, and adds up the bytes of its answers that the budget of answers does not count. */
function unreadOf(socket: Socket, progress: Progress, now: number, answers: ByteBudget) {
  const held = [...(heldBy.get(socket) ?? [])]
  const heldBytes = held.reduce((sum, { answer }) => sum + answer.bytes, 0)
  const isOutbox = hasOutbox(socket)
  return {
    socket,
    bytes: Math.max(socket.writableLength, heldBytes),
    uncounted: isOutbox ? 0 : Math.max(0, socket.writableLength - heldBytes),
    stalledMs: now - progress.acceptedAt,
    waitingMs: now - progress.startedAt,
    acceptedBytes: progress.accepted - progress.acceptedAtStart,
    hasOutbox: isOutbox,
    isBlocking: answers.waiting > 0 && held.some(({ viewer }) => answers.isBlockedBy(viewer)),
  }
}

/** Why a connection is ended: its time limit, or the budget of waiting data. */
type EndReason = keyof typeof counters.unread

/**
 * Watches the server's connections until it closes.
 * @param timeoutMs time without progress after which a connection is ended, ms
 * @param services.answers the budget of large answers
 * @param onEnd called before a connection is ended
 */
export function endUnread(
  http: Server,
  timeoutMs: number,
  { clock, answers }: Pick<Platform, 'clock' | 'answers'>,
  onEnd: (socket: Socket, reason: EndReason) => void,
): void {
  const watched = new Map<Socket, Progress | null>()
  const watchPeak = createPeakWatch(() => void freeMemory())
  http.on('connection', (socket) => {
    watched.set(socket, null)
    socket.once('close', () => watched.delete(socket))
  })
  function end(socket: Socket, reason: EndReason): void {
    counters.unread[reason] += 1
    onEnd(socket, reason)
    socket.destroy()
  }
  const stop = every(clock, Math.min(CHECK_MS, timeoutMs / CHECKS), () => {
    const now = clock.performance.now()
    const unread: ReturnType<typeof unreadOf>[] = []
    for (const [socket, before] of watched) {
      if (socket.writableLength === 0) {
        if (before) watched.set(socket, null)
        continue
      }
      const progress = progressOf(before, socket, now)
      watched.set(socket, progress)
      if (now - progress.acceptedAt >= timeoutMs) end(socket, 'timeout')
      else unread.push(unreadOf(socket, progress, now, answers))
    }
    noteAnswerBytes(unread.reduce((sum, { uncounted }) => sum + uncounted, answers.used))
    for (const { socket } of connectionsToEnd(unread, waitingBytes() - TOTAL_WAITING_BYTES)) end(socket, 'budget')
    watchPeak(waitingBytes(), now)
  })
  http.once('close', () => {
    void stop()
    noteAnswerBytes(0)
  })
}
