// A connection is closed if its client accepts no data, but not if the client is slow or idle.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { closeStalled } from '../../src/server/write-timeout.ts'
import { isLong } from '../support/long.ts'

const TIMEOUT_MS = 400
/** More than the kernel buffers between the two ends of a connection. */
const RESPONSE = Buffer.alloc(32 * 1024 * 1024)

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** A server that answers with RESPONSE, and a client of it that has read nothing. */
async function open(): Promise<{ client: Socket; stalled: Socket[] }> {
  const stalled: Socket[] = []
  const http = createServer((_, response) => void response.end(RESPONSE))
  closeStalled(http, TIMEOUT_MS, (socket) => stalled.push(socket))
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
  await expect.poll(() => stalled.length).toBe(1)
  await sleep(2 * TIMEOUT_MS)
  expect(stalled).toHaveLength(1)
  expect(stalled[0]!.destroyed).toBe(true)
})

test.runIf(isLong)('a client that reads slowly gets the whole response', async () => {
  const { client, stalled } = await open()
  let received = 0
  client.on('data', (data: Buffer) => {
    received += data.length
    if (received % 7 > 0) return
    client.pause()
    void sleep(TIMEOUT_MS / 8).then(() => client.resume())
  })
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await expect.poll(() => received, { timeout: 30_000 }).toBeGreaterThan(RESPONSE.length)
  expect(stalled).toEqual([])
})

test('an idle client stays connected', async () => {
  const { client, stalled } = await open()
  await sleep(3 * TIMEOUT_MS)
  expect(stalled).toEqual([])
  expect(client.destroyed).toBe(false)
})
