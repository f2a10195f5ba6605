// The outbox of a socket: the frames that a real WebSocket client receives, their order, and backpressure.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { WEBSOCKET } from '../../../../src/server/live/frame.ts'
import {
  createOutbox,
  fullAt,
  overflowAt,
  TOTAL_WAITING_BYTES,
  waitingBytes,
  type Outbox,
  type Payload,
} from '../../../../src/server/live/outbox.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** A connected client, and the server's outbox for it. */
async function connect(): Promise<{ client: WebSocket; outbox: Outbox; received: string[]; socket: Duplex }> {
  const http = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  const opened = new Promise<Duplex>((resolve) =>
    http.on('upgrade', (request: IncomingMessage, socket, head) => {
      sockets.handleUpgrade(request, socket, head, () => resolve(socket))
    }),
  )
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`)
  const received: string[] = []
  client.on('message', (data) => received.push(String(data)))
  await once(client, 'open')
  const socket = await opened
  closing.push(() => {
    client.terminate()
    http.close()
  })
  return { client, outbox: createOutbox(socket, WEBSOCKET), received, socket }
}

const prefix = Buffer.from('{"payload":')
const payload = (text: string): Payload => ({ bytes: Buffer.from(JSON.stringify(text)), ready: null, estimate: 0 })
const messages = (received: string[]) => received.map((message) => (JSON.parse(message) as { payload: string }).payload)

async function received(client: WebSocket, list: string[], count: number): Promise<void> {
  while (list.length < count) await once(client, 'message')
}

describe('the limit of bytes that wait for one socket', () => {
  const MiB = 1024 * 1024

  test.each([
    [0, MiB, 32 * MiB],
    [TOTAL_WAITING_BYTES - 16 * MiB, MiB, 8 * MiB],
    [TOTAL_WAITING_BYTES - 4 * MiB, MiB / 2, 2 * MiB],
    [TOTAL_WAITING_BYTES, 16 * 1024, 64 * 1024],
    [2 * TOTAL_WAITING_BYTES, 16 * 1024, 64 * 1024],
  ])('with %d waiting bytes in total is %d for events and %d for answers', (total, events, answers) => {
    expect([fullAt(total), overflowAt(total)]).toEqual([events, answers])
  })
})

describe('an outbox', () => {
  test('frames messages of every header size, in order', async () => {
    const { client, outbox, received: list } = await connect()
    // These sizes are around the two limits at which the frame header grows. A message has 16 bytes in addition to the
    // x characters.
    const texts = [0, 1, 110, 111, 112, 113, 65_520, 65_521, 65_522, 65_523, 200_000].map(
      (size) => 'é'.repeat(1) + 'x'.repeat(size),
    )
    for (const text of texts) outbox.add(prefix, payload(text))
    await received(client, list, texts.length)
    expect(messages(list)).toEqual(texts)
  })

  test('delays later frames until a payload that is still being rendered is ready', async () => {
    const { client, outbox, received: list } = await connect()
    let render!: () => void
    const late: Payload = { bytes: null, ready: null, estimate: 0 }
    late.ready = new Promise<void>((resolve) => (render = resolve)).then(
      () => void (late.bytes = Buffer.from('"second"')),
    )
    outbox.add(prefix, payload('first'))
    outbox.add(prefix, late)
    outbox.add(prefix, payload('third'))
    await received(client, list, 1)
    expect(messages(list)).toEqual(['first'])
    render()
    await received(client, list, 3)
    expect(messages(list)).toEqual(['first', 'second', 'third'])
  })

  test('is full while its socket is blocked, and `drained` resolves when it is no longer full', async () => {
    const { client, outbox, received: list } = await connect()
    client.pause()
    let added = 0
    while (!outbox.isFull()) {
      outbox.add(prefix, payload('x'.repeat(100_000)))
      outbox.flush()
      if ((added += 1) > 1000) throw new Error('never full')
    }
    let drained = false
    const done = outbox.drained().then(() => (drained = true))
    // Flushes whatever can be written.
    outbox.flush()
    await new Promise((resolve) => setImmediate(resolve))
    expect(drained).toBe(false)
    client.resume()
    await done
    expect(outbox.isFull()).toBe(false)
    await received(client, list, added)
    expect(outbox.waiting).toBe(0)
  })

  test('counts a payload that is not ready by its estimate, and nothing after the socket is closed', async () => {
    const { client, outbox, socket } = await connect()
    const late: Payload = { bytes: null, ready: new Promise(() => {}), estimate: 600_000 }
    outbox.add(prefix, late)
    expect([outbox.isFull(), outbox.isBlocked(), outbox.isOverflowing()]).toEqual([false, false, false])
    outbox.add(prefix, late)
    expect([outbox.isFull(), outbox.isBlocked()]).toEqual([true, false])
    outbox.add(prefix, late)
    outbox.add(prefix, late)
    expect([outbox.isBlocked(), outbox.isOverflowing()]).toEqual([true, false])
    expect(waitingBytes()).toBeGreaterThan(2_400_000)
    client.terminate()
    await once(socket, 'close')
    expect([outbox.waiting, waitingBytes()]).toEqual([0, 0])
  })

  test('resolves `emptied` when the socket is closed', async () => {
    const { client, outbox, socket } = await connect()
    outbox.add(prefix, { bytes: null, ready: new Promise(() => {}), estimate: 0 })
    const emptied = outbox.emptied()
    client.terminate()
    await once(socket, 'close')
    await emptied
  })
})
