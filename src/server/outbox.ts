// The frames waiting for one socket. Frames added within 2 ms are written together; a frame whose payload is not ready
// delays the frames behind it. `isFull` bounds the bytes that wait for a slow socket.

import type { Duplex } from 'node:stream'
import { headerSize, writeHeader } from './frame.ts'

/** The body of a message, shared by all its recipients. `bytes` is null until it has been rendered. */
export type Payload = { bytes: Buffer | null; ready: Promise<unknown> | null }

export type Outbox = {
  /** Adds a message made of `prefix`, the payload and a closing brace. */
  add(prefix: Buffer, payload: Payload): void
  /** Writes the ready frames immediately. */
  flush(): void
  /** Resolves when every added frame has been written, or the socket is closed. */
  emptied(): Promise<void>
  /** Whether more than MAX_WAITING_BYTES bytes wait here and in the socket. */
  isFull(): boolean
  /** Resolves when it is no longer full. */
  drained(): Promise<void>
}

/** Bytes waiting for one socket before it is full. */
const MAX_WAITING_BYTES = 1024 * 1024
/** Time during which frames are gathered into one write, ms. */
const GATHER_MS = 2

const CLOSING = 0x7d // }

type Frame = { prefix: Buffer; payload: Payload }

/** Approximate bytes: a payload that is not ready counts as a small one. */
const sizeOf = ({ prefix, payload }: Frame) => prefix.length + (payload.bytes?.length ?? 512)

const scheduled = new Set<{ flush(): void }>()
/** Whether a flush is running or scheduled. */
let gathering = false

/** After an idle period, frames are written in the same turn of the event loop; under load, they are gathered. */
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
  /** Pending promises and their conditions, which are checked after every change that may meet one. */
  let waiters: { until(): boolean; resolve(): void }[] = []

  function settle(): void {
    if (waiters.length === 0) return
    const met = waiters.filter(({ until }) => socket.destroyed || until())
    waiters = waiters.filter((waiter) => !met.includes(waiter))
    for (const { resolve } of met) resolve()
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

  /** Flushes again when that payload is ready. */
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
