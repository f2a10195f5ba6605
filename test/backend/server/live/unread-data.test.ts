// A connection is closed if its client accepts no data, but not if the client is slow or idle. If too much data waits for
// all clients, connections are closed earlier, in the order that is tested here.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createByteBudget } from '../../../../src/domain/kernel/limits/byte-budget.ts'
import {
  connectionsToEnd,
  endUnread,
  PATIENCE_MS,
  STALLED_MS,
  type Unread,
} from '../../../../src/server/live/unread-data.ts'
import { fakeClock } from '../../../support/fake-clock.ts'

const TIMEOUT_MS = 400
const clock = fakeClock()
/** More than the kernel buffers between the two ends of a connection. */
const RESPONSE = Buffer.alloc(32 * 1024 * 1024)

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** A server that answers with RESPONSE, and a client of it that has read nothing. */
async function open(): Promise<{ client: Socket; stalled: Socket[] }> {
  const stalled: Socket[] = []
  const http = createServer((_, response) => void response.end(RESPONSE))
  endUnread(http, TIMEOUT_MS, { clock, answers: createByteBudget(1) }, (socket) => stalled.push(socket))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const client = connect((http.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  await once(client, 'connect')
  closing.push(() => {
    client.destroy()
    http.close()
  })
  return { client, stalled }
}

test('a client that reads nothing is disconnected and reported once', async () => {
  const { client, stalled } = await open()
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await vi.waitFor(async () => {
    await clock.advance(TIMEOUT_MS)
    expect(stalled).toHaveLength(1)
  })
  await clock.advance(2 * TIMEOUT_MS)
  expect(stalled).toHaveLength(1)
  expect(stalled[0]!.destroyed).toBe(true)
})

test('a client that reads slowly gets the whole response', async () => {
  const { client, stalled } = await open()
  let received = 0
  client.on('data', (data: Buffer) => {
    received += data.length
    if (received % 7 > 0) return
    client.pause()
    void clock.advance(TIMEOUT_MS / 8).then(() => client.resume())
  })
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await expect.poll(() => received).toBeGreaterThan(RESPONSE.length)
  expect(stalled).toEqual([])
})

test('an idle client stays connected', async () => {
  const { client, stalled } = await open()
  await clock.advance(3 * TIMEOUT_MS)
  expect(stalled).toEqual([])
  expect(client.destroyed).toBe(false)
})

describe('of the connections with unread data', () => {
  /** A connection whose name says its state. */
  const connection = (name: string, more: Partial<Unread>) => ({
    name,
    bytes: 10,
    stalledMs: 0,
    waitingMs: 2 * PATIENCE_MS,
    acceptedBytes: 0,
    hasOutbox: false,
    isBlocking: false,
    ...more,
  })
  const longStalled = connection('long stalled', { stalledMs: 9 * STALLED_MS })
  const stalled = connection('stalled', { stalledMs: STALLED_MS, acceptedBytes: 1_000_000 })
  const slow = connection('slow', { acceptedBytes: 100 })
  const quick = connection('quick', { acceptedBytes: 10_000_000 })
  const events = connection('events', { acceptedBytes: 1, hasOutbox: true })
  const blocking = (each: typeof slow, more: Partial<Unread> = {}) => ({ ...each, isBlocking: true, ...more })
  const all = [quick, events, slow, stalled, longStalled]

  test.each<[string, ReturnType<typeof connection>[], number, string[]]>([
    ['none is ended within the budget', all, 0, []],
    ['the longest stalled one is ended first', all, 10, ['long stalled']],
    ['as many are ended as contain the excess', all, 11, ['long stalled', 'stalled']],
    ['the slowest is ended after the stalled ones', all, 25, ['long stalled', 'stalled', 'slow']],
    [
      'one with an outbox is ended only if it stalls',
      [...all, connection('stalled events', { hasOutbox: true, stalledMs: 2 * STALLED_MS })],
      1_000,
      ['long stalled', 'stalled events', 'stalled', 'slow', 'quick'],
    ],
    ['one that blocks others is ended if it stalls', [longStalled, slow, blocking(stalled)], 0, ['stalled']],
    [
      'the longest stalled one that blocks others is ended',
      [blocking(stalled), blocking(longStalled)],
      0,
      ['long stalled'],
    ],
    ['one that reads is ended if it has blocked others for long', [quick, blocking(slow)], 0, ['slow']],
    ['one that reads is not ended at once', [longStalled, blocking(slow, { waitingMs: PATIENCE_MS - 1 })], 0, []],
    [
      'no further one is ended if one of them blocks others',
      [blocking(longStalled), blocking(stalled)],
      5,
      ['long stalled'],
    ],
  ])('%s', (_, unread, excess, expected) => {
    expect(connectionsToEnd(unread, excess).map(({ name }) => name)).toEqual(expected)
  })
})
