// What waits to be written to one socket. Frames that follow one another within 2 ms leave in one write; a frame that
// is not ready yet holds back those behind it. Nobody's socket is given more than it can take: see `isFull`.

import type { Duplex } from 'node:stream'
import { headerSize, writeHeader } from './frame.ts'

/** The body of a message, shared by all who get it; null until it is made. */
export type Payload = { bytes: Buffer | null; ready: Promise<unknown> | null }

export type Outbox = {
  /** A message of `prefix`, the payload, and a closing brace. */
  add(prefix: Buffer, payload: Payload): void
  /** Writes what is ready, now. */
  flush(): void
  /** Resolves when all that was added is written or the socket is gone. */
  emptied(): Promise<void>
  /** Whether more waits here and in the socket than is good. */
  isFull(): boolean
  /** Resolves when the socket has taken what waited. */
  drained(): Promise<void>
}

/** Bytes that may wait for one socket. */
const BOUND = 1024 * 1024
/** How long frames are gathered, in ms. */
const GATHER = 2

const CLOSING = 0x7d // }

type Frame = { prefix: Buffer; payload: Payload }

/** Bytes, about: a payload that is not made yet is taken for a small one. */
const sizeOf = ({ prefix, payload }: Frame) => prefix.length + (payload.bytes?.length ?? 512)

const due = new Set<{ flush(): void }>()
/** Whether a flush is under way or to come. */
let gathering = false

/** What comes after a quiet time leaves with this turn of the event loop; what comes while it is busy is gathered. */
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
  /** Who waits for what: they are asked after every step that may have brought it about. */
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

  /** Goes on when the payload in front is made. */
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
