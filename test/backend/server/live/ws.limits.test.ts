// Clients that do not read, or that send too much: the server's memory for them stays limited, and other clients are
// not affected.

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { appendTurns } from '../../../../src/domain/turn/append/append.ts'
import { MESSAGE_BURST } from '../../../../src/server/live/socket.ts'
import { waitingBytes } from '../../../../src/server/live/outbox.ts'
import { backends } from '../../../support/backend.ts'
import { isLong } from '../../../support/long.ts'
import { take, useServer, type TestServer } from '../../../support/server.ts'

const MiB = 1024 * 1024
const FOLLOW = `subscription Follow($conversationId: ID!, $afterSeq: Int, $as: String) {
  conversationEvents(conversationId: $conversationId, afterSeq: $afterSeq, as: $as) {
    __typename seq ... on TurnAppended { turn { text } }
  }
}`
/** Number of turns of a large conversation, and number of characters of each turn. */
const TURNS = 80
const TURN_LENGTH = 250_000

type Tenant = ReturnType<TestServer['tenant']>

async function newLargeConversation(server: TestServer, tenant: Tenant): Promise<string> {
  const conversationId = await tenant.newConversation('ada')
  const turns = Array.from({ length: TURNS }, (_, n) => ({
    role: 'USER' as const,
    content: `${n} ${'word '.repeat(TURN_LENGTH / 5)}`,
  }))
  await appendTurns(server.deps, tenant.as('ada'), { conversationId, turns })
  return conversationId
}

async function connect(server: TestServer, viewer: Record<string, string>): Promise<WebSocket> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'connection_init', payload: viewer }))
  await once(socket, 'message')
  return socket
}

/**
 * Samples the server's memory for `ms`. Returns the maximums in bytes: growth of the process, catch-up pages, and
 * frames that wait to be sent.
 */
async function watch(server: TestServer, ms: number): Promise<{ rss: number; page: number; waiting: number }> {
  const before = process.memoryUsage().rss
  const greatest = { rss: 0, page: 0, waiting: 0 }
  const end = Date.now() + ms
  while (Date.now() < end) {
    await sleep(50)
    greatest.rss = Math.max(greatest.rss, process.memoryUsage().rss - before)
    greatest.page = Math.max(greatest.page, server.deps.feeds.catchUp.used)
    greatest.waiting = Math.max(greatest.waiting, waitingBytes())
  }
  return greatest
}

describe.each(backends)('a client that does not read, on $name,', (backend) => {
  const server = useServer(backend, { WRITE_TIMEOUT_SECONDS: '4' })

  test.runIf(isLong)(
    'uses limited memory with 100 subscriptions to a large conversation on one socket, and is closed',
    async () => {
      const tenant = server.tenant()
      const conversationId = await newLargeConversation(server, tenant)
      const readers = Array.from({ length: 100 }, (_, n) => `reader-${n}`)
      await tenant.newConversation(...readers)
      const warn = vi.spyOn(server.deps.log, 'warn')
      const socket = await connect(server, { 'x-tenant': tenant.name, 'x-actor': 'ada' })
      // The client reads nothing more, so its kernel buffers are filled first.
      socket.pause()
      const closed = once(socket, 'close')
      for (const as of readers) {
        const payload = { query: FOLLOW, variables: { conversationId, afterSeq: 0, as } }
        socket.send(JSON.stringify({ id: as, type: 'subscribe', payload }))
      }
      const { rss, page, waiting } = await watch(server, 4_000)
      // At most an eighth of the budget for one viewer, plus one entry for each of its 8 pages.
      expect(page).toBeLessThanOrEqual(4 * MiB + 8 * TURN_LENGTH)
      expect(page).toBeGreaterThan(0)
      expect(waiting).toBeLessThan(4 * MiB)
      expect(rss).toBeLessThan(400 * MiB)
      const another = await take(
        server
          .client({ 'x-tenant': tenant.name, 'x-actor': 'bob' })
          .iterate({ query: FOLLOW, variables: { conversationId, afterSeq: 0 } }) as never,
        TURNS,
      )
      expect(another).toHaveLength(TURNS)
      await vi.waitFor(() => expect(warn.mock.calls.map(([, text]) => text)).toContain('closed a connection'))
      socket.resume()
      await closed
      await vi.waitFor(() => expect(server.deps.feeds.catchUp).toMatchObject({ used: 0, waiting: 0 }))
      expect(waitingBytes()).toBe(0)
      warn.mockRestore()
    },
  )

  test.runIf(isLong)(
    'uses limited memory with 40 streams of Server-Sent Events, and all of them are closed',
    async () => {
      const tenant = server.tenant()
      const conversationId = await newLargeConversation(server, tenant)
      const release = vi.spyOn(server.deps.feeds, 'release')
      const responses: IncomingMessage[] = []
      const closed: Promise<unknown>[] = []
      for (let n = 0; n < 40; n++) {
        const body = JSON.stringify({ query: FOLLOW, variables: { conversationId, afterSeq: 0 } })
        const headers = {
          'content-type': 'application/json',
          'content-length': String(body.length),
          accept: 'text/event-stream',
          'x-tenant': tenant.name,
          'x-actor': `reader-${n}`,
        }
        const request = httpRequest(`${server.url}/graphql`, { method: 'POST', headers, agent: false })
        request.on('error', () => {})
        request.end(body)
        closed.push(
          once(request, 'response').then(([response]: IncomingMessage[]) => {
            response!.pause()
            response!.on('error', () => {})
            responses.push(response!)
          }),
        )
      }
      const { rss, page } = await watch(server, 4_000)
      await Promise.all(closed)
      expect(responses).toHaveLength(40)
      expect(page).toBeGreaterThan(0)
      // At most half of the budget for one tenant, plus one entry for each of its 32 pages.
      expect(page).toBeLessThanOrEqual(16 * MiB + 32 * TURN_LENGTH)
      expect(rss).toBeLessThan(400 * MiB)
      await vi.waitFor(() => expect(server.deps.feeds.catchUp).toMatchObject({ used: 0, waiting: 0 }))
      await vi.waitFor(() => expect(release).toHaveBeenCalledTimes(40))
      release.mockRestore()
      for (const response of responses) response.destroy()
    },
  )

  test.runIf(isLong)(
    'uses limited memory if it sends pings without pause: the server stops reading them while its pongs are queued',
    async () => {
      const error = vi.spyOn(server.deps.log, 'error')
      const warn = vi.spyOn(server.deps.log, 'warn')
      const socket = await connect(server, { 'x-tenant': server.tenant().name })
      socket.pause()
      const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(50_000) } })
      for (let n = 0; n < 2_000; n++) socket.send(ping)
      const { rss, waiting } = await watch(server, 2_000)
      expect(waiting).toBeLessThan(8 * MiB)
      expect(rss).toBeLessThan(300 * MiB)
      await vi.waitFor(() => expect(waitingBytes()).toBe(0))
      expect(error).not.toHaveBeenCalled()
      expect(warn.mock.calls.length).toBeLessThanOrEqual(1)
      socket.terminate()
      vi.restoreAllMocks()
    },
  )
})

describe.each(backends)('a socket over a limit, on $name,', (backend) => {
  const server = useServer(backend, { MAX_SOCKETS_PER_VIEWER: '3' })

  test(`is closed with 4429 and one line in the log after ${MESSAGE_BURST} messages at once`, async () => {
    const warn = vi.spyOn(server.deps.log, 'warn')
    const socket = await connect(server, { 'x-tenant': server.tenant().name })
    for (let n = 0; n < 3 * MESSAGE_BURST; n++) socket.send('{"type":"pong"}')
    const [code, reason] = await once(socket, 'close')
    expect([code, String(reason)]).toEqual([4429, 'Too many messages: at most 500 per second.'])
    expect(warn).toHaveBeenCalledTimes(1)
    warn.mockRestore()
  })

  test('is closed with 4429 if its viewer has too many sockets; another viewer can still connect', async () => {
    const viewer = { 'x-tenant': server.tenant().name, 'x-actor': 'ada' }
    const open = await Promise.all([1, 2, 3].map(() => connect(server, viewer)))
    const rejected = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(rejected, 'open')
    rejected.send(JSON.stringify({ type: 'connection_init', payload: viewer }))
    const [code, reason] = await once(rejected, 'close')
    expect([code, String(reason)]).toEqual([4429, 'Too many sockets: at most 3 per viewer.'])
    open.push(await connect(server, { ...viewer, 'x-actor': 'bob' }))
    open[0]!.close()
    await once(open[0]!, 'close')
    await vi.waitFor(async () => void open.push(await connect(server, viewer)))
    for (const socket of open) socket.terminate()
  })
})
