// The protocol of one socket, message by message, with handlers that the test controls.

import { GraphQLError, type ExecutionResult } from 'graphql'
import { describe, expect, test, vi } from 'vitest'
import { createPushIterator } from '../../../../src/runtime/push-iterator.ts'
import type { Outcome } from '../../../../src/server/live/operation.ts'
import { closeReason, createProtocol, type Acceptance, type Operation } from '../../../../src/server/live/protocol.ts'
import { fakeClock } from '../../../support/fake-clock.ts'

/** A protocol whose operations are started by `run`, by default with the result `{ data: null }`. */
function open(
  run: (operation: Operation) => Promise<Outcome> | Outcome = () => ({ data: null }),
  renew: (token: string) => Promise<Acceptance> = async () => ({ payload: {} }),
) {
  const sent: { id?: string; type: string; payload?: unknown }[] = []
  const closed: [number, string][] = []
  const clock = fakeClock()
  const protocol = createProtocol(
    { send: async (data) => void sent.push(JSON.parse(data)), close: (...reason) => void closed.push(reason) },
    {
      connect: async ({ name }): Promise<Acceptance> =>
        name === 'nobody' ? { code: 4403, reason: 'Name somebody.' } : {},
      renew: ({ token }) => (token ? renew(String(token)) : null),
      run: async (operation) => run(operation),
      mask: () => new GraphQLError('masked', { extensions: { code: 'INTERNAL_SERVER_ERROR' } }),
    },
    clock,
  )
  const receive = (message: object) => protocol.receive(JSON.stringify(message))
  const connected = async () => {
    await receive({ type: 'connection_init' })
    sent.length = 0
  }
  return { protocol, receive, connected, sent, closed, clock }
}

const subscribe = (id: string) => ({ id, type: 'subscribe', payload: { query: '{ x }' } })

describe('the protocol closes the socket for', () => {
  test.each([
    ['text that is not JSON', 'x', /^Invalid message: /],
    ['JSON that is not an object', '7', /expected to be an object/],
    ['an object without a type', '{}', /missing the 'type'/],
    ['an unknown type', '{"type":"start"}', /Invalid message 'type'/],
    ['a message that only servers send', '{"type":"connection_ack"}', /a client must not send connection_ack/],
    ['subscribe without an id', '{"type":"subscribe","payload":{"query":"x"}}', /'id' property to be a string/],
    ['subscribe without a query', '{"type":"subscribe","id":"1","payload":{}}', /'query' property/],
    ['complete without an id', '{"type":"complete"}', /'id' property/],
    ['a payload that is not an object', '{"type":"connection_init","payload":7}', /'payload' property/],
  ])('%s, with 4400', async (_, data, reason) => {
    const { protocol, closed } = open()
    await protocol.receive(data)
    expect(closed).toEqual([[4400, expect.stringMatching(reason)]])
    expect(Buffer.byteLength(closed[0]![1])).toBeLessThanOrEqual(123)
  })

  test('subscribe before the connection is accepted, with 4401', async () => {
    const { receive, closed } = open()
    await receive(subscribe('1'))
    expect(closed).toEqual([[4401, expect.stringContaining('connection_init')]])
  })

  test('a second connection_init, with 4429', async () => {
    const { receive, closed, connected } = open()
    await connected()
    await receive({ type: 'connection_init' })
    expect(closed).toEqual([[4429, expect.any(String)]])
  })

  test('an id that is in use, with 4409, and handles no later message', async () => {
    const { receive, closed, sent, connected } = open(() => createPushIterator<ExecutionResult>(1).iterate(() => {}))
    await connected()
    void receive(subscribe('1'))
    await receive(subscribe('1'))
    expect(closed).toEqual([[4409, 'Subscriber for 1 already exists']])
    await receive({ type: 'ping' })
    expect(sent).toEqual([])
  })

  test('connectionParams that are rejected, with the given code', async () => {
    const { receive, closed } = open()
    await receive({ type: 'connection_init', payload: { name: 'nobody' } })
    expect(closed).toEqual([[4403, 'Name somebody.']])
  })

  test('a client that does not send connection_init within 3 s, with 4408', async () => {
    const { closed, clock } = open()
    await clock.advance(2_999)
    expect(closed).toEqual([])
    await clock.advance(1)
    expect(closed).toEqual([[4408, expect.stringContaining('connection_init')]])
  })
})

describe('a ping', () => {
  const renewed = (token: string): Promise<Acceptance> =>
    Promise.resolve(token === 'bad' ? { code: 4403, reason: 'No.' } : { payload: { expiresAt: null } })

  test('with a new token is answered when the token is accepted, without the token', async () => {
    const { receive, sent, connected } = open(undefined, renewed)
    await connected()
    await receive({ type: 'ping', payload: { token: 'good' } })
    expect(sent).toEqual([{ type: 'pong', payload: { expiresAt: null } }])
  })

  test('with a token that is refused closes the socket', async () => {
    const { receive, sent, closed, connected } = open(undefined, renewed)
    await connected()
    await receive({ type: 'ping', payload: { token: 'bad' } })
    expect([sent, closed]).toEqual([[], [[4403, 'No.']]])
  })

  test('renews nothing before the connection is accepted', async () => {
    const { receive, sent } = open(undefined, renewed)
    await receive({ type: 'ping', payload: { token: 'bad' } })
    expect(sent).toEqual([{ type: 'pong', payload: { token: 'bad' } }])
  })
})

describe('an operation', () => {
  test('ends with complete after its result, and its id can be used again', async () => {
    const { receive, sent, connected } = open()
    await connected()
    for (let n = 0; n < 2; n++) await receive(subscribe('1'))
    const once = [
      { id: '1', type: 'next', payload: { data: null } },
      { id: '1', type: 'complete' },
    ]
    expect(sent).toEqual([...once, ...once])
  })

  test.each([
    ['errors', () => [new GraphQLError('no', { extensions: { code: 'NO', http: { status: 400 } } })], 'NO'],
    ['an unexpected error', () => Promise.reject(new Error('secret')), 'INTERNAL_SERVER_ERROR'],
  ])('ends with error if it returns %s, without internal details', async (_, run, code) => {
    const { receive, sent, connected } = open(run)
    await connected()
    await receive(subscribe('1'))
    expect(sent).toMatchObject([{ id: '1', type: 'error', payload: [{ extensions: { code } }] }])
    expect(JSON.stringify(sent)).not.toMatch(/http|secret/)
  })

  test('that fails while it delivers ends with a masked error', async () => {
    const results = createPushIterator<ExecutionResult>(1)
    const { receive, sent, connected } = open(() => results.iterate(() => {}))
    await connected()
    const done = receive(subscribe('1'))
    results.push({ data: { n: 1 } })
    results.end(new Error('secret'))
    await done
    expect(sent.map(({ type }) => type)).toEqual(['next', 'error'])
    expect(JSON.stringify(sent)).not.toContain('secret')
  })

  test('that the client completes stops its source, sends no more, and frees its id', async () => {
    const stop = vi.fn()
    const results = createPushIterator<ExecutionResult>(1)
    const { receive, sent, connected } = open(() => results.iterate(stop))
    await connected()
    const done = receive(subscribe('1'))
    await Promise.resolve()
    await receive({ id: '1', type: 'complete' })
    await done
    expect(stop).toHaveBeenCalledOnce()
    expect(sent).toEqual([])
  })

  test('that is completed while it starts is stopped, and does not affect the next operation with its id', async () => {
    const started: { operation: Operation; resolve(outcome: Outcome): void }[] = []
    const { receive, sent, connected } = open(
      (operation) => new Promise((resolve) => void started.push({ operation, resolve })),
    )
    await connected()
    const first = receive(subscribe('1'))
    await receive({ id: '1', type: 'complete' })
    const second = receive(subscribe('1'))
    expect(started.map(({ operation }) => operation.isLive)).toEqual([false, true])
    const stop = vi.fn()
    started[0]!.resolve(createPushIterator<ExecutionResult>(1).iterate(stop))
    await first
    expect(stop).toHaveBeenCalledOnce()
    started[1]!.resolve({ data: { n: 2 } })
    await second
    expect(sent).toEqual([
      { id: '1', type: 'next', payload: { data: { n: 2 } } },
      { id: '1', type: 'complete' },
    ])
  })

  test('ends when the socket is closed', async () => {
    const stop = vi.fn()
    const { protocol, receive, sent, connected } = open(() => createPushIterator<ExecutionResult>(1).iterate(stop))
    await connected()
    const done = receive(subscribe('1'))
    await Promise.resolve()
    protocol.closed()
    await done
    expect(stop).toHaveBeenCalledOnce()
    expect(sent).toEqual([])
  })
})

test('ping is answered with its payload, before and after connecting', async () => {
  const { receive, sent } = open()
  await receive({ type: 'ping', payload: { n: 1 } })
  await receive({ type: 'ping' })
  await receive({ type: 'pong' })
  expect(sent).toEqual([{ type: 'pong', payload: { n: 1 } }, { type: 'pong' }])
})

test.each([
  ['short', 'short'],
  ['x'.repeat(123), 'x'.repeat(123)],
  ['x'.repeat(124), `${'x'.repeat(120)}…`],
  ['李'.repeat(50), `${'李'.repeat(40)}…`],
])('the reason of a close frame is cut between characters: %s', (text, reason) => {
  expect(closeReason(text)).toBe(reason)
})
