// The protocol graphql-transport-ws, case by case, over real sockets with raw messages and frames:
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md. test/unit/server/live/protocol.test.ts has the cases that need
// control over time and over the results.

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { backends } from '../../../support/backend.ts'
import { useServer } from '../../../support/server.ts'
import { isLong } from '../../../support/long.ts'

const PROTOCOL = 'graphql-transport-ws'
const FRAME_BYTES = 65_536
const VIEWER = '{ viewer { actor } }'
const CREATE = 'mutation { createConversation(input: {}) { __typename } }'
const FOLLOW = 'subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { seq } }'
const INBOX = 'subscription { inbox { __typename } }'
const INIT = { type: 'connection_init', payload: { 'x-actor': 'ada' } }
const PING = { type: 'ping', payload: { last: true } }
const PONG = { type: 'pong', payload: { last: true } }

type Message = { id?: unknown; type?: unknown; payload?: unknown }

const subscribe = (id: string, query: string, more: object = {}): Message => ({
  id,
  type: 'subscribe',
  payload: { query, ...more },
})
const next = (id: string, payload: object = { data: { viewer: { actor: 'ada' } } }): Message => ({
  id,
  type: 'next',
  payload,
})
const complete = (id: string): Message => ({ id, type: 'complete' })
const withCode = (code: string) =>
  expect.objectContaining({ message: expect.any(String), extensions: expect.objectContaining({ code }) })
/** The only message of an operation that fails before its execution. */
const error = (id: string, code: string): Message => ({ id, type: 'error', payload: [withCode(code)] })
/** The result of an execution that fails as a whole. The server of the package graphql-ws sends the same. */
const failed = (id: string, code: string) => next(id, { errors: [withCode(code)] })

/** Returns the bytes of a masked frame of a client (RFC 6455 §5.2) with a mask of zeros and at most 125 bytes. */
function frame(opcode: number, payload: Buffer, { isFinal = true, isMasked = true } = {}): Buffer {
  const head = [(isFinal ? 0x80 : 0) | opcode, (isMasked ? 0x80 : 0) | payload.length]
  return Buffer.concat([Buffer.from(isMasked ? [...head, 0, 0, 0, 0] : head), payload])
}
const OPCODE = { continuation: 0, text: 1, binary: 2, ping: 9 }

describe.each(backends)('graphql-transport-ws on $name:', (backend) => {
  const server = useServer(backend, { MAX_FRAME_BYTES: `${FRAME_BYTES}` })
  const open: WebSocket[] = []
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate()
  })

  /** Opens a socket that records the received messages and how it was closed. */
  async function connect(protocols: string[] = [PROTOCOL], path = '/graphql') {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocols)
    open.push(socket)
    const received: Message[] = []
    socket.on('message', (data) => void received.push(JSON.parse(String(data))))
    const closed = new Promise<[number, string]>((resolve) => {
      socket.once('close', (code, reason) => resolve([code, String(reason)]))
    })
    await once(socket, 'open')
    const send = (...messages: (Message | string)[]) => {
      for (const message of messages) socket.send(typeof message === 'string' ? message : JSON.stringify(message))
    }
    const write = (...frames: Buffer[]) =>
      (socket as unknown as { _socket: Socket })._socket.write(Buffer.concat(frames))
    return { socket, received, closed, send, write }
  }

  async function connected(tenant?: string) {
    const connection = await connect()
    connection.send({ type: 'connection_init', payload: { 'x-actor': 'ada', ...(tenant && { 'x-tenant': tenant }) } })
    await expect.poll(() => connection.received).toEqual([{ type: 'connection_ack' }])
    connection.received.length = 0
    return connection
  }

  async function newConversation() {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    await tenant.append(id, 'ada', 'one')
    return { tenant, id, follow: (operation: string) => subscribe(operation, FOLLOW, { variables: { id } }) }
  }
  const entry = (id: string, seq: number) => next(id, { data: { conversationEvents: { seq } } })

  describe('the handshake', () => {
    test.each([
      ['the only protocol', [PROTOCOL]],
      ['the protocol among others', ['graphql-ws', PROTOCOL, 'chat']],
    ])('selects %s', async (_, protocols) => {
      const { socket } = await connect(protocols)
      expect(socket.protocol).toBe(PROTOCOL)
    })

    test('accepts a path with parameters', async () => {
      const { socket } = await connect([PROTOCOL], '/graphql?source=test')
      expect(socket.protocol).toBe(PROTOCOL)
    })

    /** Sends an upgrade with these headers, and returns the response that refuses it. */
    async function upgrade(headers: Record<string, string>, path = '/graphql'): Promise<IncomingMessage> {
      const request = httpRequest(`${server.url}${path}`, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'sec-websocket-version': '13',
          'sec-websocket-protocol': PROTOCOL,
          ...headers,
        },
      }).end()
      request.on('upgrade', (_, socket) => socket.destroy())
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      response.resume()
      return response
    }

    test.each([
      ['an unknown path', {}, '/other', 404],
      ['a foreign origin', { origin: 'https://elsewhere.example' }, '/graphql', 403],
      ['an unsupported version', { 'sec-websocket-version': '12' }, '/graphql', 400],
      ['an invalid key', { 'sec-websocket-key': 'short' }, '/graphql', 400],
    ])('refuses %s', async (_, headers, path, status) => {
      expect((await upgrade(headers, path)).statusCode).toBe(status)
    })

    test.each([
      ['the protocol of subscriptions-transport-ws', ['graphql-ws']],
      ['no protocol', []],
    ])('closes a socket that offers %s, with 4406', async (_, protocols) => {
      // The client of ws requires one of its protocols in the response, so this client sends the bytes itself.
      const request = httpRequest(`${server.url}/graphql`, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'sec-websocket-version': '13',
          ...(protocols.length && { 'sec-websocket-protocol': protocols.join(', ') }),
        },
      }).end()
      const [response, socket, head] = (await once(request, 'upgrade')) as [IncomingMessage, Socket, Buffer]
      expect(response.headers['sec-websocket-protocol']).toBeUndefined()
      const bytes = head.length ? head : ((await once(socket, 'data'))[0] as Buffer)
      socket.destroy()
      expect(bytes[0]! & 0x0f).toBe(8)
      expect([bytes.readUInt16BE(2), bytes.subarray(4).toString()]).toEqual([4406, expect.stringContaining(PROTOCOL)])
    })
  })

  describe('before the connection is accepted', () => {
    test.each<[string, (Message | string)[], Message[]]>([
      ['connection_init without a payload', [{ type: 'connection_init' }], [{ type: 'connection_ack' }]],
      ['connection_init with null', [{ type: 'connection_init', payload: null }], [{ type: 'connection_ack' }]],
      ['connection_init with an object', [INIT], [{ type: 'connection_ack' }]],
      ['a message with unknown fields', [{ ...INIT, id: '1', more: [] } as Message], [{ type: 'connection_ack' }]],
      ['ping', [{ type: 'ping' }], [{ type: 'pong' }]],
      ['ping with a payload', [{ type: 'ping', payload: { n: [1] } }], [{ type: 'pong', payload: { n: [1] } }]],
      ['pong, which is ignored', [{ type: 'pong' }, { type: 'pong', payload: {} }], []],
      ['complete, which is ignored', [complete('1')], []],
    ])('%s', async (_, messages, answers) => {
      const { received, send } = await connect()
      send(...messages, PING)
      await expect.poll(() => received).toEqual([...answers, PONG])
    })

    test.each<[string, (Message | string)[], number, RegExp]>([
      ['subscribe', [subscribe('1', VIEWER)], 4401, /connection_init/],
      ['a second connection_init in one tick', [INIT, INIT], 4429, /once/],
      [
        'an invalid name',
        [{ type: 'connection_init', payload: { 'x-actor': '%E0' } }],
        4400,
        /x-actor.*percent-encode/,
      ],
      ['a list as the payload', [{ type: 'connection_init', payload: [] }], 4400, /payload/],
      ['a number as the payload', [{ type: 'connection_init', payload: 7 }], 4400, /payload/],
    ])('closes the socket after %s', async (_, messages, code, reason) => {
      const { closed, send } = await connect()
      send(...messages)
      expect(await closed).toEqual([code, expect.stringMatching(reason)])
    })

    test.runIf(isLong)('closes the socket 5 s after it was opened without connection_init', async () => {
      const { closed, received } = await connect()
      expect(await closed).toEqual([4408, expect.stringContaining('connection_init')])
      expect(received).toEqual([])
    })
  })

  describe('an invalid message closes the socket with 4400 and the reason:', () => {
    test.each<[string, string | Message, RegExp]>([
      ['an empty text', '', /^Invalid message: /],
      ['text that is not JSON', 'subscribe', /^Invalid message: /],
      ['null', 'null', /object/],
      ['a list', '[]', /object/],
      ['a string', '"ping"', /object/],
      ['an object without a type', {}, /'type'/],
      ['a type that is a number', { type: 1 }, /'type'/],
      ['an unknown type', { type: 'data' }, /'type'/],
      ['the type of the old protocol', { id: '1', type: 'start', payload: { query: VIEWER } }, /'type'/],
      ['connection_ack', { type: 'connection_ack' }, /connection_ack/],
      ['next', next('1'), /next/],
      ['error', { id: '1', type: 'error', payload: [{ message: 'no' }] }, /error/],
      ['subscribe without an id', { type: 'subscribe', payload: { query: VIEWER } }, /'id'/],
      ['subscribe with an empty id', subscribe('', VIEWER), /'id'/],
      ['subscribe with a number as the id', { ...subscribe('1', VIEWER), id: 1 }, /'id'/],
      ['subscribe without a payload', { id: '1', type: 'subscribe' }, /'payload'/],
      ['subscribe without a query', { id: '1', type: 'subscribe', payload: {} }, /'query'/],
      ['subscribe with a list of variables', subscribe('1', VIEWER, { variables: [] }), /'variables'/],
      ['subscribe with a number as the operationName', subscribe('1', VIEWER, { operationName: 1 }), /'operationName'/],
      ['subscribe with a string as extensions', subscribe('1', VIEWER, { extensions: 'x' }), /'extensions'/],
      ['complete without an id', { type: 'complete' }, /'id'/],
      ['complete with an empty id', complete(''), /'id'/],
      ['ping with a string as the payload', { type: 'ping', payload: 'x' }, /'payload'/],
    ])('%s', async (_, message, reason) => {
      const { closed, received, send } = await connected()
      send(message, subscribe('2', VIEWER), PING)
      expect(await closed).toEqual([4400, expect.stringMatching(reason)])
      expect(received).toEqual([])
    })
  })

  describe('a frame', () => {
    test('of several fragments is one message', async () => {
      const { received, write } = await connected()
      const [first, second] = [Buffer.from('{"type":'), Buffer.from('"ping"}')]
      write(frame(OPCODE.text, first, { isFinal: false }), frame(OPCODE.continuation, second))
      await expect.poll(() => received).toEqual([{ type: 'pong' }])
    })

    test('of the type ping, also between fragments, is answered by a frame of the type pong', async () => {
      const { socket, received, write } = await connected()
      const pong = once(socket, 'pong')
      write(
        frame(OPCODE.text, Buffer.from('{"type":'), { isFinal: false }),
        frame(OPCODE.ping, Buffer.from('beat')),
        frame(OPCODE.continuation, Buffer.from('"ping"}')),
      )
      expect(String((await pong)[0])).toBe('beat')
      await expect.poll(() => received).toEqual([{ type: 'pong' }])
    })

    test('of binary data with JSON is read like text', async () => {
      const { received, write } = await connected()
      write(frame(OPCODE.binary, Buffer.from('{"type":"ping"}')))
      await expect.poll(() => received).toEqual([{ type: 'pong' }])
    })

    test.each<[string, Buffer, number]>([
      ['of text that is not UTF-8', frame(OPCODE.text, Buffer.from([0xc3, 0x28])), 1007],
      ['with an unknown opcode', frame(3, Buffer.from('x')), 1002],
      ['without a mask', frame(OPCODE.text, Buffer.from('{"type":"ping"}'), { isMasked: false }), 1002],
    ])('%s closes the socket', async (_, bytes, code) => {
      const { closed, received, write } = await connected()
      write(bytes)
      expect((await closed)[0]).toBe(code)
      expect(received).toEqual([])
    })

    test('over the limit closes the socket, and one at the limit does not', async () => {
      const { closed, received, send } = await connected()
      const padded = JSON.stringify({ type: 'ping' })
      send(padded.padEnd(FRAME_BYTES))
      await expect.poll(() => received).toEqual([{ type: 'pong' }])
      send(padded.padEnd(FRAME_BYTES + 1))
      expect((await closed)[0]).toBe(1009)
    })
  })

  describe('an operation', () => {
    const named = `query A ${VIEWER} query B { me: viewer { actor } }`
    test.each<[string, Message, Message[]]>([
      ['that is a query sends next, then complete', subscribe('1', VIEWER), [next('1'), complete('1')]],
      [
        'that is a mutation sends next, then complete',
        subscribe('1', CREATE),
        [next('1', { data: { createConversation: { __typename: 'CreateConversationPayload' } } }), complete('1')],
      ],
      [
        'is selected by its name',
        subscribe('1', named, { operationName: 'B' }),
        [next('1', { data: { me: { actor: 'ada' } } }), complete('1')],
      ],
      [
        'may have null for variables, operationName and extensions',
        subscribe('1', VIEWER, { variables: null, operationName: null, extensions: null }),
        [next('1'), complete('1')],
      ],
      [
        'receives its variables',
        subscribe('1', 'query ($with: Boolean!) { viewer { actor @include(if: $with) __typename } }', {
          variables: { with: false },
          extensions: { ignored: true },
        }),
        [next('1', { data: { viewer: { __typename: 'Viewer' } } }), complete('1')],
      ],
      [
        'whose field fails sends next with data and errors, then complete',
        subscribe('1', '{ viewer { actor } conversation { id } }'),
        [
          next('1', { data: { viewer: { actor: 'ada' }, conversation: null }, errors: [withCode('INVALID_INPUT')] }),
          complete('1'),
        ],
      ],
      ['with a syntax error sends error only', subscribe('1', '{'), [error('1', 'GRAPHQL_PARSE_FAILED')]],
      ['with an empty query sends error only', subscribe('1', ''), [error('1', 'GRAPHQL_PARSE_FAILED')]],
      ['that is invalid sends error only', subscribe('1', '{ no }'), [error('1', 'GRAPHQL_VALIDATION_FAILED')]],
      [
        'with an unknown name sends error only',
        subscribe('1', named, { operationName: 'C' }),
        [error('1', 'OPERATION_RESOLUTION_FAILURE')],
      ],
      [
        'of several, without a name, sends error only',
        subscribe('1', named),
        [error('1', 'OPERATION_RESOLUTION_FAILURE')],
      ],
      [
        'with an invalid variable sends next without data, then complete',
        subscribe('1', FOLLOW, { variables: { id: {} } }),
        [failed('1', 'INVALID_INPUT'), complete('1')],
      ],
      [
        'that cannot subscribe sends next without data, then complete',
        subscribe('1', FOLLOW, { variables: { id: `conv_${'0'.repeat(26)}` } }),
        [failed('1', 'NOT_FOUND'), complete('1')],
      ],
      ...['__proto__', 'constructor', '李🗼', ' ', 'x'.repeat(5_000)].map((id): [string, Message, Message[]] => [
        `may have the id ${JSON.stringify(id.slice(0, 20))}`,
        subscribe(id, VIEWER),
        [next(id), complete(id)],
      ]),
    ])('%s', async (_, message, answers) => {
      const { received, send } = await connected()
      send(message)
      await expect.poll(() => received).toEqual(answers)
      send(PING)
      await expect.poll(() => received).toEqual([...answers, PONG])
    })

    test.each([
      ['a result', VIEWER, 2],
      ['an error', '{ no }', 1],
    ])('can reuse an id after %s', async (_, query, answers) => {
      const { received, send } = await connected()
      for (let n = 1; n <= 3; n++) {
        send(subscribe('1', query))
        await expect.poll(() => received.length).toBe(n * answers)
      }
    })

    test('with the id of a running operation closes the socket with 4409 and the id', async () => {
      const { follow, tenant } = await newConversation()
      const { closed, received, send } = await connected(tenant.name)
      send(follow('1'))
      await expect.poll(() => received.length).toBe(2)
      send(subscribe('1', VIEWER))
      expect(await closed).toEqual([4409, 'Subscriber for 1 already exists'])
    })

    test('delivers its events until the client completes it, and other operations continue', async () => {
      const { tenant, id, follow } = await newConversation()
      const { received, send } = await connected(tenant.name)
      send(follow('a'), follow('b'))
      await expect.poll(() => received.length).toBe(4)
      send(complete('a'), complete('a'), complete('unknown'), PING)
      await expect.poll(() => received.at(-1)).toEqual(PONG)
      received.length = 0
      await tenant.append(id, 'ada', 'two')
      await expect.poll(() => received).toEqual([entry('b', 3)])
      send(PING)
      await expect.poll(() => received).toEqual([entry('b', 3), PONG])
    })

    test('that is a subscription ends with complete when its source ends', async () => {
      const { tenant, id, follow } = await newConversation()
      const { received, send } = await connected(tenant.name)
      send(follow('1'))
      await expect.poll(() => received).toEqual([entry('1', 1), entry('1', 2)])
      await deleteConversation(server.deps, tenant.as('ada'), id)
      await expect.poll(() => received.at(-1)).toEqual(complete('1'))
      expect(received.filter(({ type }) => type === 'complete')).toHaveLength(1)
    })

    test('does not wait for the others on its socket', async () => {
      const { tenant, id, follow } = await newConversation()
      const { received, send } = await connected(tenant.name)
      send(follow('events'), subscribe('inbox', INBOX), subscribe('query', VIEWER))
      await expect.poll(() => received).toEqual(expect.arrayContaining([next('query'), complete('query')]))
      await tenant.append(id, 'ada', 'two')
      await expect.poll(() => received).toEqual(expect.arrayContaining([entry('events', 3)]))
    })

    test('leaves no subscription behind when its socket is closed by the client', async () => {
      const { tenant, follow } = await newConversation()
      const { socket, received, send, closed } = await connected(tenant.name)
      const { enter } = server.deps.feeds
      let running = 0
      server.deps.feeds.enter = (viewer) => {
        const leave = enter(viewer)
        running += 1
        return () => {
          running -= 1
          leave()
        }
      }
      send(follow('1'), follow('2'))
      await expect.poll(() => received.length).toBe(4)
      expect(running).toBe(2)
      socket.close(1000)
      expect((await closed)[0]).toBe(1000)
      await expect.poll(() => running).toBe(0)
      server.deps.feeds.enter = enter
    })
  })
})
