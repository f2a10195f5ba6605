// The frames waiting for one socket. Frames added within 2 ms are written together; a frame whose payload is not ready
// delays the frames behind it. `isFull` bounds the bytes that wait for a slow socket.

import type { Duplex } from 'node:stream'
import { headerSize, writeHeader } from './frame.ts'

/** The body of a message, shared by all its recipients. `bytes` is null until it has been rendered. */
export type Payload = { bytes: Buffer | null; ready: Promise<unknown> | null }

export type Outbox = {
  /** Adds a message made of `prefix`, the payload and a closing brace. */
  add(prefix: Buffer, payload: Payload): void
  /** Writes the frames that are ready, now. */
  flush(): void
  /** Resolves when every added frame has been written, or the socket is closed. */
  emptied(): Promise<void>
  /** Whether more than BOUND bytes wait here and in the socket. */
  isFull(): boolean
  /** Resolves when it is no longer full. */
  drained(): Promise<void>
}

/** Bytes waiting for one socket before it is full. */
const BOUND = 1024 * 1024
/** Time in which frames are gathered into one write, ms. */
const GATHER = 2

const CLOSING = 0x7d // }

type Frame = { prefix: Buffer; payload: Payload }

/** Approximate bytes: a payload that is not ready counts as a small one. */
const sizeOf = ({ prefix, payload }: Frame) => prefix.length + (payload.bytes?.length ?? 512)

const due = new Set<{ flush(): void }>()
/** Whether a flush is running or scheduled. */
let gathering = false

/** After an idle time, frames leave with this turn of the event loop; while busy, they are gathered. */
function flushAll(): void {
  const boxes = [...due]
  due.clear()
  gathering = boxes.length > 0
  for (const box of boxes) box.flush()
  if (gathering) setTimeout(flushAll, GATHER)
}

function flushSoon(box: { flush(): void }): void {
  due.add(box)
  if (gathering) return
  gathering = true
  setImmediate(flushAll)
}

export function createOutbox(socket: Duplex): Outbox {
  let waiting: Frame[] = []
  let size = 0
  let held = false
  /** Pending promises with their conditions, which are checked after every step that may fulfil one. */
  let hoping: { until(): boolean; resolve(): void }[] = []

  function settle(): void {
    if (hoping.length === 0) return
    const met = hoping.filter(({ until }) => socket.destroyed || until())
    hoping = hoping.filter((hope) => !met.includes(hope))
    for (const { resolve } of met) resolve()
  }
  socket.on('drain', settle)
  socket.on('close', flush)

  const hope = (until: () => boolean) =>
    new Promise<void>((resolve) => {
      hoping.push({ until, resolve })
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
    if (waiting.length > 0) hold(waiting[0]!.payload.ready)
    settle()
  }

  /** Continues when the first payload is ready. */
  function hold(ready: Promise<unknown> | null): void {
    if (held || !ready) return
    held = true
    void ready.finally(() => {
      held = false
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
    emptied: () => hope(() => waiting.length === 0),
    isFull: () => size + socket.writableLength > BOUND,
    drained: () => hope(() => !outbox.isFull()),
  }
  return outbox
}
