// The frames waiting for one socket. Frames added within GATHER_MS are written together; a frame whose payload is not
// ready delays all later frames. Senders that respect `isFull` keep at most about MAX_WAITING_BYTES for a slow socket.

import type { Duplex } from 'node:stream'
import { headerSize, writeHeader } from './frame.ts'

/** The body of a message, shared by all its recipients. `bytes` is null until `ready` resolves. */
export type Payload = { bytes: Buffer | null; ready: Promise<unknown> | null }

export type Outbox = {
  /** Adds a message made of `prefix`, the payload and a closing brace. */
  add(prefix: Buffer, payload: Payload): void
  /** Writes the ready frames immediately. */
  flush(): void
  /** Resolves when every added frame has been written, or the socket is closed. */
  emptied(): Promise<void>
  /** Whether more than MAX_WAITING_BYTES wait in the outbox and the socket together. */
  isFull(): boolean
  /** Resolves when the outbox is no longer full, or the socket is closed. */
  drained(): Promise<void>
}

/** Number of bytes waiting for one socket above which its outbox is full. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Time for which frames are collected into one write, ms. */
const GATHER_MS = 2

const CLOSING = 0x7d // }

type Frame = { prefix: Buffer; payload: Payload }

/** Approximate size in bytes: the size of a payload that is not ready is unknown. */
const sizeOf = ({ prefix, payload }: Frame) => prefix.length + (payload.bytes?.length ?? 512)

const scheduled = new Set<{ flush(): void }>()
/** Whether a flush is running or scheduled. */
let gathering = false

/**
 * Flushes the scheduled outboxes. After an idle period, that is in the same event loop iteration; under load, every
 * GATHER_MS.
 */
function flushAll(): void {
  const boxes = [...scheduled]
  scheduled.clear()
  gathering = boxes.length > 0
  for (const box of boxes) box.flush()
  if (gathering) setTimeout(flushAll, GATHER_MS)
}

function flushSoon(box: { flush(): void }): void {
  scheduled.add(box)
  if (gathering) return
  gathering = true
  setImmediate(flushAll)
}

export function createOutbox(socket: Duplex): Outbox {
  let waiting: Frame[] = []
  let size = 0
  let isAwaitingPayload = false
  /** Pending promises and their conditions. Conditions are checked after every change that may fulfil one. */
  let waiters: { until(): boolean; resolve(): void }[] = []

  function settle(): void {
    if (waiters.length === 0) return
    const fulfilled = waiters.filter(({ until }) => socket.destroyed || until())
    waiters = waiters.filter((waiter) => !fulfilled.includes(waiter))
    for (const { resolve } of fulfilled) resolve()
  }
  socket.on('drain', settle)
  socket.on('close', flush)

  const waitUntil = (until: () => boolean) =>
    new Promise<void>((resolve) => {
      waiters.push({ until, resolve })
      flush()
    })

  function flush(): void {
    if (socket.destroyed) {
      waiting = []
      size = 0
    }
    let ready = 0
    let total = 0
    while (ready < waiting.length) {
      const { prefix, payload } = waiting[ready]!
      if (payload.bytes === null) break
      const length = prefix.length + payload.bytes.length + 1
      total += headerSize(length) + length
      ready += 1
    }
    if (ready > 0) {
      const out = Buffer.allocUnsafe(total)
      let offset = 0
      for (let index = 0; index < ready; index++) {
        const { prefix, payload } = waiting[index]!
        const bytes = payload.bytes!
        offset = writeHeader(out, offset, prefix.length + bytes.length + 1)
        offset += prefix.copy(out, offset)
        offset += bytes.copy(out, offset)
        out[offset++] = CLOSING
      }
      socket.write(out)
      waiting = ready === waiting.length ? [] : waiting.slice(ready)
      size = waiting.reduce((sum, frame) => sum + sizeOf(frame), 0)
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
      flushSoon(outbox)
    })
  }

  const outbox: Outbox = {
    add(prefix, payload) {
      waiting.push({ prefix, payload })
      size += sizeOf({ prefix, payload })
      flushSoon(outbox)
    },
    flush,
    emptied: () => waitUntil(() => waiting.length === 0),
    isFull: () => size + socket.writableLength > MAX_WAITING_BYTES,
    drained: () => waitUntil(() => !outbox.isFull()),
  }
  return outbox
}
