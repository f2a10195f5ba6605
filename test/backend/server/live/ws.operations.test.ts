// Operations of one raw WebSocket: ids that are used again, operations that are completed while they start, and
// operations that never start.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'

type Message = { id?: string; type: string; payload?: unknown }

const FOLLOW = `subscription ($conversationId: ID!) {
  conversationEvents(conversationId: $conversationId, afterSeq: 0) { seq }
}`
const INBOX = 'subscription { inbox { __typename } }'
const VIEWER = '{ viewer { actor } }'

describe.each(backends)('on one WebSocket on $name,', (backend) => {
  const server = useServer(backend)
  const open: WebSocket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate()
  })

  /** Connects, and returns the received messages, and a function that sends messages in one packet. */
  async function connect(tenant: string) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    open.push(socket)
    await once(socket, 'open')
    const received: Message[] = []
    socket.on('message', (data) => void received.push(JSON.parse(String(data))))
    const send = (...messages: Message[]) => {
      const { _socket: stream } = socket as unknown as { _socket: Socket }
      stream.cork()
      for (const message of messages) socket.send(JSON.stringify(message))
      stream.uncork()
    }
    send({ type: 'connection_init', payload: { 'x-tenant': tenant, 'x-actor': 'ada' } })
    await expect.poll(() => received.length).toBe(1)
    received.length = 0
    const seqs = (operation?: string) =>
      received.flatMap(({ id, type, payload }) =>
        type === 'next' && (operation === undefined || id === operation)
          ? [(payload as { data: { conversationEvents: { seq: number } } }).data.conversationEvents.seq]
          : [],
      )
    return { socket, received, send, seqs }
  }

  async function newConversation() {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    await tenant.append(conversationId, 'ada', 'one')
    await tenant.append(conversationId, 'ada', 'two')
    const subscribe = (id: string): Message => ({
      id,
      type: 'subscribe',
      payload: { query: FOLLOW, variables: { conversationId } },
    })
    return { tenant, subscribe, append: () => tenant.append(conversationId, 'ada', 'live') }
  }
  const complete = (id: string): Message => ({ id, type: 'complete' })
  const ask = (id: string, query: string, more = {}): Message => ({
    id,
    type: 'subscribe',
    payload: { query, ...more },
  })

  test('documents from which no operation can be selected do not count against the limit of the socket', async () => {
    const { received, send } = await connect(server.tenant().name)
    for (let n = 0; n < 150; n++) send(ask(`${n}`, `query A ${VIEWER} query B ${VIEWER}`))
    await expect.poll(() => received.length).toBe(150)
    expect(received.every(({ type }) => type === 'error')).toBe(true)
    send(ask('last', VIEWER))
    await expect.poll(() => received.slice(150).map(({ type }) => type)).toEqual(['next', 'complete'])
  })

  test('the 101st operation fails until another operation is completed', async () => {
    const { received, send } = await connect(server.tenant().name)
    for (let n = 0; n < 100; n++) send(ask(`${n}`, INBOX))
    send(ask('x', VIEWER))
    await expect.poll(() => received.length).toBe(1)
    expect(received[0]).toMatchObject({
      id: 'x',
      type: 'error',
      payload: [{ extensions: { code: 'TOO_MANY_OPERATIONS' } }],
    })
    send(complete('7'), ask('x', VIEWER))
    await expect.poll(() => received.slice(1).map(({ type }) => type)).toEqual(['next', 'complete'])
  })

  test('a subscription that is completed at once delivers nothing', async () => {
    const { tenant, subscribe, append } = await newConversation()
    const { received, send, seqs } = await connect(tenant.name)
    send(subscribe('1'), complete('1'), subscribe('2'))
    await expect.poll(() => seqs('2')).toEqual([1, 2, 3])
    await append()
    await expect.poll(() => seqs('2')).toEqual([1, 2, 3, 4])
    expect(received.filter(({ id }) => id !== '2')).toEqual([])
  })

  test('subscribe, complete and subscribe with one id deliver each event once', async () => {
    const { tenant, subscribe, append } = await newConversation()
    const { received, send, seqs } = await connect(tenant.name)
    send(subscribe('1'), complete('1'), subscribe('1'))
    await expect.poll(() => seqs().length).toBeGreaterThanOrEqual(3)
    await append()
    await append()
    await expect.poll(() => seqs().at(-1)).toBe(5)
    expect(seqs()).toEqual([1, 2, 3, 4, 5])
    expect(received.every(({ id, type }) => id === '1' && type === 'next')).toBe(true)
    send(complete('1'), subscribe('2'))
    await expect.poll(() => seqs('2')).toEqual([1, 2, 3, 4, 5])
    await append()
    await expect.poll(() => seqs('2')).toEqual([1, 2, 3, 4, 5, 6])
    expect(seqs('1')).toEqual([1, 2, 3, 4, 5])
  })

  test('the id of a live subscription can be used again as soon as it is completed', async () => {
    const { tenant, subscribe, append } = await newConversation()
    const { received, send, seqs } = await connect(tenant.name)
    send(subscribe('1'))
    await expect.poll(() => seqs()).toEqual([1, 2, 3])
    send(complete('1'), subscribe('1'))
    await expect.poll(() => seqs()).toEqual([1, 2, 3, 1, 2, 3])
    await append()
    await append()
    await expect.poll(() => seqs().at(-1)).toBe(5)
    expect(seqs()).toEqual([1, 2, 3, 1, 2, 3, 4, 5])
    expect(received.filter(({ type }) => type !== 'next')).toEqual([])
  })

  test('subscriptions that are completed while they start do not count against the viewer', async () => {
    const { tenant, subscribe } = await newConversation()
    const { send, seqs } = await connect(tenant.name)
    const { enter } = server.deps.feeds
    let left = 0
    let entered = 0
    server.deps.feeds.enter = (viewer) => {
      const leave = enter(viewer)
      entered += 1
      return () => {
        left += 1
        leave()
      }
    }
    for (let n = 0; n < 50; n++) send(subscribe('1'), complete('1'))
    send(subscribe('2'))
    await expect.poll(() => seqs().length).toBe(3)
    await expect.poll(() => entered - left).toBe(1)
    server.deps.feeds.enter = enter
  })
})
