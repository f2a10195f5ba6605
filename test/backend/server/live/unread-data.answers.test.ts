// Answers that nobody reads: the memory for them is limited, clients that read are served, and requests that are pipelined
// on one connection are executed one after the other.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ANSWER_BYTES } from '../../../../src/domain/kernel/limits/byte-budget.ts'
import { appendTurns } from '../../../../src/domain/turn/append/append.ts'
import { waitingBytes } from '../../../../src/server/live/outbox.ts'
import { STALLED_MS } from '../../../../src/server/live/unread-data.ts'
import { backends } from '../../../support/backend.ts'
import { useRunningClock } from '../../../support/fake-clock.ts'
import { isLong } from '../../../support/long.ts'
import { useServer } from '../../../support/server.ts'

const TURNS = 4
const texts = Array.from({ length: 7 }, (_, n) => `t${n}: text`).join(' ')
const pages = ['p0', 'p1'].map((page) => `${page}: turns(first: ${TURNS}) { edges { node { ${texts} } } }`)
/** A query that reads 2 MB, and whose answer has about 14.5 MB. */
const LARGE = `query ($id: ID!) { conversation(id: $id) { ${pages.join(' ')} } }`
const LARGE_BYTES = 14_000_000
/** Number of bytes that a slow client reads between two checks of the server: all in less than PATIENCE_MS. */
const PIECE_BYTES = 1024 * 1024

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

describe.each(backends)('answers that nobody reads, on $name,', (backend) => {
  const clock = useRunningClock()
  // The clock moves faster than the queries, which are not the subject.
  const server = useServer(backend, { MAX_QUERY_SECONDS: '3600' }, { clock })

  /** A tenant with a conversation from which LARGE reads. */
  async function newTenant() {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const content = 'word '.repeat(51_800)
    const turns = Array.from({ length: TURNS }, () => ({ role: 'USER' as const, content }))
    await appendTurns(server.deps, tenant.as('ada'), { conversationId: id, turns })
    return { name: tenant.name, id }
  }

  async function countTurns(tenant: string, id: string): Promise<number> {
    const query = 'query ($id: ID!) { conversation(id: $id) { turnCount } }'
    return (await server.post({ query, variables: { id } }, { 'x-tenant': tenant })).body.data.conversation.turnCount
  }

  type Sent = { tenant: string; actor: string; query: string; variables?: object; headers?: string }
  function requestOf({ tenant, actor, query, variables, headers = '' }: Sent): string {
    const body = JSON.stringify({ query, variables })
    return (
      `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}x-tenant: ${tenant}\r\n`
      + `x-actor: ${actor}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
  }
  /** Sends the text on a connection of its own, which is not read. */
  function open(text: string): Socket {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname).pause()
    socket.on('error', () => {})
    sockets.push(socket)
    socket.write(text)
    return socket
  }

  const TRANSPORTS = [
    ['the fast path', ''],
    ['yoga', 'origin: http://localhost\r\n'],
    ['an event stream', 'accept: text/event-stream\r\n'],
  ] as const
  test.each(isLong ? TRANSPORTS : TRANSPORTS.slice(0, 1))(
    'by %s use limited memory, and are ended for a neighbour, but not for a client that reads slowly',
    async (_, headers) => {
      const [attacked, neighbour] = [await newTenant(), await newTenant()]
      const warn = vi.spyOn(server.deps.log, 'warn')
      const query = { query: LARGE, variables: { id: neighbour.id } }
      // The document is known from now on, so the fast path answers it.
      await server.post(query, { 'x-tenant': neighbour.name })

      // Other viewers of the tenant read nothing, and one of the neighbour's reads slowly.
      const slow = open(requestOf({ tenant: neighbour.name, actor: 'slow', ...query, headers }))
      let received = 0
      let accepted = 1
      slow.on('data', (data: Buffer) => {
        received += data.length
        if (received >= accepted) slow.pause()
      })
      slow.resume()
      await vi.waitFor(() => expect(received).toBeGreaterThan(0))
      /** Lets the slow client read a piece, lets the server check its connections, and waits for a request. */
      async function pass(): Promise<void> {
        accepted = received + PIECE_BYTES
        slow.resume()
        await vi.waitFor(() => expect(received).toBeGreaterThanOrEqual(Math.min(accepted, LARGE_BYTES)), {
          interval: 1,
        })
        await clock.advance(STALLED_MS / 4)
        await server.post({ query: '{ __typename }' })
      }
      for (let n = 0; n < 8; n++) {
        open(
          requestOf({
            tenant: attacked.name,
            actor: `reader-${n}`,
            query: LARGE,
            variables: { id: attacked.id },
            headers,
          }),
        )
      }
      await vi.waitFor(() => expect(server.deps.answers.waiting).toBeGreaterThan(0))
      expect(server.deps.answers.used).toBeLessThanOrEqual(ANSWER_BYTES)
      let isAnswered = false
      const answer = server.post(query, { 'x-tenant': neighbour.name, 'x-actor': 'quick' })
      void answer.finally(() => (isAnswered = true))
      while (!isAnswered || received <= LARGE_BYTES || server.deps.answers.waiting > 0) await pass()
      const { status, body } = await answer
      expect([status, Object.keys(body.data.conversation)]).toEqual([200, ['p0', 'p1']])
      expect(waitingBytes()).toBeLessThanOrEqual(2 * ANSWER_BYTES)
      expect(warn.mock.calls.map(([details]) => (details as { reason?: string }).reason?.split(',')[0])).toContain(
        'The client reads too slowly',
      )
      for (const socket of sockets.splice(0)) socket.destroy()
      await vi.waitFor(async () => {
        await clock.advance(STALLED_MS)
        expect([server.deps.answers.used, waitingBytes()]).toEqual([0, 0])
      })
      warn.mockRestore()
    },
  )

  test('are one for a connection with pipelined requests, which are executed one after the other', async () => {
    const { name, id } = await newTenant()
    const append = `mutation ($id: ID!) {
      appendTurn(input: { conversationId: $id, turn: { role: USER, content: "x" } }) { __typename }
    }`
    const large = requestOf({ tenant: name, actor: 'ada', query: LARGE, variables: { id } })
    const small = requestOf({ tenant: name, actor: 'bob', query: append, variables: { id } })
    const socket = open(large + small)
    await vi.waitFor(() => expect(server.deps.answers.used).toBeGreaterThan(LARGE_BYTES))
    expect(await countTurns(name, id)).toBe(TURNS)
    socket.resume()
    await vi.waitFor(async () => expect(await countTurns(name, id)).toBe(TURNS + 1))
  })

  test('leave nothing behind if the client pipelines further requests and disconnects', async () => {
    const { name, id } = await newTenant()
    const large = requestOf({ tenant: name, actor: 'ada', query: LARGE, variables: { id } })
    const socket = open(large.repeat(20))
    await vi.waitFor(() => expect(server.deps.answers.used).toBeGreaterThan(LARGE_BYTES))
    socket.destroy()
    await once(socket, 'close')
    await vi.waitFor(() => expect(server.admission.inProgress).toBe(0))
    // A request that arrives later is answered after the pipelined ones would have been started.
    expect(await countTurns(name, id)).toBe(TURNS)
    expect([server.usage().bodies, server.deps.answers.used]).toEqual([0, 0])
  })
})
