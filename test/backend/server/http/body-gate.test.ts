// Request bodies that are rejected because of their headers, and bodies that are refused while they arrive, over real
// connections.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  ADDRESS_BODY_BYTES,
  bodyRefusal,
  createBodyGate,
  LARGE_BODY_BYTES,
  TOTAL_BODY_BYTES,
  type BodyGate,
  type BodyLimits,
} from '../../../../src/server/http/body-gate.ts'
import { fakeClock } from '../../../support/fake-clock.ts'

const limits = { bodyBytes: 100, batchBodyBytes: 1_000, fileBytes: 1_000, bodyTimeoutMs: 1_000, bodyRate: 0 }

test.each([
  ['of the maximum size is accepted', { 'content-length': '100' }, null],
  ['above the maximum size is rejected with 413', { 'content-length': '101' }, 413],
  ['of a batch of the maximum size is accepted', { 'content-length': '1000', 'x-batch': '1' }, null],
  ['of a batch above the maximum size is rejected with 413', { 'content-length': '1001', 'x-batch': '1' }, 413],
  [
    'with another value of the batch header is limited like any other',
    { 'content-length': '101', 'x-batch': 'true' },
    413,
  ],
  ['of unknown length is rejected with 411', {}, 411],
])('a body %s', (_, headers, status) => {
  expect(bodyRefusal(headers, limits)?.status ?? null).toBe(status)
})

test('the message names the batch header only if batches may be larger', () => {
  const message = (length: string, more = limits) => bodyRefusal({ 'content-length': length }, more)!.message
  expect(message('101')).toContain('at most 1000 bytes, send the header "x-batch: 1"')
  expect(message('101', { ...limits, batchBodyBytes: 100 })).toBe('The body has 101 bytes; at most 100 are accepted.')
})

const MiB = 1024 * 1024
const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

type Sent = { socket: Socket; status(): Promise<number | null>; message(): string }

/**
 * A server that answers with 200 when a body has arrived, unless the client asks it to wait. The headers x-address and
 * x-actor name the client.
 */
async function serve(more: Partial<BodyLimits> = {}) {
  const clock = fakeClock()
  const gate: BodyGate = createBodyGate(
    { bodyBytes: MiB, batchBodyBytes: 16 * MiB, fileBytes: 10 * MiB, bodyTimeoutMs: 600_000, bodyRate: 0, ...more },
    clock,
  )
  const http = createServer((request, response) => {
    const { 'x-address': address = '', 'x-actor': actor } = request.headers as Record<string, string>
    const viewer = { tenant: 'acme', actor: actor ?? randomUUID() }
    if (!gate.admit(request, response, { viewer, address })) return
    request.on('end', () => {
      if (!request.headers['x-wait']) response.end('ok')
    })
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  closing.push(() => {
    http.closeAllConnections()
    http.close()
    gate.close()
  })
  const { port } = http.address() as AddressInfo

  /** Declares a body of `length` bytes and sends `sent` of them. */
  function send(length: number, sent: number, headers: Record<string, string> = {}): Sent {
    const socket = connect(port, '127.0.0.1')
    closing.push(() => socket.destroy())
    let received = ''
    socket.on('error', () => {})
    socket.on('data', (data) => (received += String(data)))
    const lines = Object.entries({ 'x-batch': '1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n${lines.join('')}\r\n`)
    socket.write(Buffer.alloc(sent))
    return {
      socket,
      async status() {
        while (!received && !socket.destroyed) {
          // A reset connection rejects both.
          await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
        }
        return received ? Number(received.split(' ')[1]) : null
      },
      message: () => received,
    }
  }
  return { clock, gate, send }
}

describe('bodies that arrive', () => {
  test('count with the bytes that have arrived, until the response is closed', async () => {
    const { gate, send } = await serve()
    const unfinished = send(16 * MiB, MiB)
    await vi.waitFor(() => expect(gate.used).toBe(MiB))
    const waiting = send(MiB, MiB, { 'x-wait': '1' })
    await vi.waitFor(() => expect(gate.used).toBe(2 * MiB))
    waiting.socket.destroy()
    await vi.waitFor(() => expect(gate.used).toBe(MiB))
    unfinished.socket.write(Buffer.alloc(15 * MiB))
    expect(await unfinished.status()).toBe(200)
    await vi.waitFor(() => expect(gate.used).toBe(0))
  })

  test('are limited for one address, and others are served', async () => {
    const { gate, send } = await serve()
    const fitting = ADDRESS_BODY_BYTES / MiB
    const sent = Array.from({ length: fitting + 5 }, () => send(MiB, MiB, { 'x-address': 'a', 'x-wait': '1' }))
    const refused = sent.map(async (each) => ((await each.status()) === 503 ? each.message() : ''))
    const message = await Promise.any(refused.map((each) => each.then((text) => text || Promise.reject(new Error()))))
    expect(message).toContain(
      `The bodies of the requests in progress from your address exceed ${ADDRESS_BODY_BYTES} bytes`,
    )
    expect(message.toLowerCase()).toContain('retry-after: 1')
    expect(gate.used).toBeLessThanOrEqual(ADDRESS_BODY_BYTES)
    expect(await send(MiB, MiB, { 'x-address': 'b' }).status()).toBe(200)
  })

  test('leave memory for small ones if they are large', async () => {
    const { gate, send } = await serve()
    const bytes = 16 * MiB - 1
    const large = Array.from({ length: 6 }, (_, n) =>
      send(16 * MiB, bytes, { 'x-address': `${n % 3}`, 'x-actor': `${n % 3}` }),
    )
    const first = await Promise.race(large.map(async (each) => [await each.status(), each.message()]))
    expect(first[0]).toBe(503)
    expect(gate.used).toBeLessThanOrEqual(LARGE_BODY_BYTES)
    expect(LARGE_BODY_BYTES).toBeLessThan(TOTAL_BODY_BYTES)
    expect(await send(MiB, MiB, { 'x-address': 'other' }).status()).toBe(200)
  })

  test('are refused in place of a neighbour if they are the slowest', async () => {
    // The grace period is half of the time limit.
    const { clock, gate, send } = await serve({ bodyTimeoutMs: 4_000 })
    const headers = { 'x-address': 'shared' }
    const slow = Array.from({ length: ADDRESS_BODY_BYTES / MiB }, () => send(MiB, MiB - 1, headers))
    await vi.waitFor(() => expect(gate.used).toBeGreaterThan(ADDRESS_BODY_BYTES - MiB))
    await clock.advance(2_000)
    expect(await send(MiB, MiB, headers).status()).toBe(200)
    expect(await Promise.race(slow.map((each) => each.status()))).toBe(503)
  })

  test('are one of a viewer at a time if they are large', async () => {
    const { gate, send } = await serve()
    const [ada, bob] = [{ 'x-actor': 'ada' }, { 'x-actor': 'bob' }]
    const first = send(16 * MiB, 2 * MiB, { ...ada, 'x-wait': '1' })
    await vi.waitFor(() => expect(gate.used).toBe(2 * MiB))
    const second = send(2 * MiB, 2 * MiB, ada)
    expect(await second.status()).toBe(503)
    expect(second.message()).toContain(`One body of more than ${MiB} bytes of one viewer may be in progress.`)
    expect(second.message().toLowerCase()).toContain('retry-after: 1')
    expect(await send(MiB, MiB, ada).status()).toBe(200)
    expect(await send(2 * MiB, 2 * MiB, bob).status()).toBe(200)
    // The body counts until its answer is sent.
    first.socket.write(Buffer.alloc(14 * MiB))
    await vi.waitFor(() => expect(gate.used).toBe(16 * MiB))
    expect(await send(2 * MiB, 2 * MiB, ada).status()).toBe(503)
    first.socket.destroy()
    await vi.waitFor(async () => expect(await send(2 * MiB, 2 * MiB, ada).status()).toBe(200))
  })

  test('give their place to another large one of their viewer if they arrive too slowly', async () => {
    const { clock, gate, send } = await serve({ bodyRate: 4096 })
    const headers = { 'x-actor': 'ada' }
    const stalled = send(16 * MiB, 1, headers)
    await vi.waitFor(() => expect(gate.used).toBe(1))
    await clock.advance(999)
    expect(await send(2 * MiB, 2 * MiB, headers).status()).toBe(503)
    await clock.advance(1)
    expect(await send(2 * MiB, 2 * MiB, headers).status()).toBe(200)
    expect(await stalled.status()).toBe(503)
    expect(gate.used).toBe(0)
  })

  test('are refused in place of a smaller one if all arrive fast', async () => {
    const { gate, send } = await serve()
    const large = Array.from({ length: 2 }, () => send(16 * MiB, 16 * MiB - 10_000, { 'x-address': 'shared' }))
    await vi.waitFor(() => expect(gate.used).toBe(ADDRESS_BODY_BYTES - 20_000))
    expect(await send(MiB, MiB, { 'x-address': 'shared' }).status()).toBe(200)
    expect(await Promise.race(large.map((each) => each.status()))).toBe(503)
  })

  test('end with 408 if they arrive too slowly, but not if they arrive at the minimum rate', async () => {
    const { clock, gate, send } = await serve({ bodyTimeoutMs: 4_000, bodyRate: 1_000 })
    const slow = send(MiB, 1)
    const steady = send(3_500, 500)
    for (let arrived = 500; arrived < 3_500; arrived += 500) {
      await vi.waitFor(() => expect(gate.used).toBeGreaterThanOrEqual(arrived), { interval: 1 })
      await clock.advance(500)
      steady.socket.write(Buffer.alloc(500))
    }
    expect(await slow.status()).toBe(408)
    expect(slow.message()).toContain('The body arrives too slowly: send at least 1000 bytes per second.')
    expect(await steady.status()).toBe(200)
  })
})
