// Edge cases of HTTP: bodies that are too large, too many or too slow, unusual targets, and unexpected errors.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ADDRESS_BODY_BYTES } from '../../../../src/server/http/body-gate.ts'
import { backends, embedded } from '../../../support/backend.ts'
import { useRunningClock } from '../../../support/fake-clock.ts'
import { useServer } from '../../../support/server.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

type Answer = { status: number; head: string; body: string }

/** Sends the text over its own connection. Returns the response when the server has closed the connection. */
async function send(url: string, text: string): Promise<Answer> {
  const socket = open(url, text)
  let received = ''
  socket.on('data', (data) => (received += String(data)))
  await once(socket, 'close')
  const [head = '', body = ''] = received.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body }
}

function open(url: string, text: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => {})
  socket.write(text)
  return socket
}

const post = (length: number, body = '', headers = '') =>
  `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${headers}\r\n${body}`

const MiB = 1024 * 1024

describe.each(backends)('HTTP, on $name:', (backend) => {
  const clock = useRunningClock()
  const server = useServer(backend, { BODY_TIMEOUT_SECONDS: '60', MIN_BODY_BYTES_PER_SECOND: '0' }, { clock })

  test('a body over 1 MiB is rejected with the limit and the header that raises it', async () => {
    const { status, head, body } = await send(server.url, post(MiB + 1))
    expect(status).toBe(413)
    expect(head).toContain('application/json')
    expect(JSON.parse(body)).toEqual({
      errors: [
        {
          message:
            'The body has 1048577 bytes; at most 1048576 are accepted. To append a batch of turns of at most 16777216 '
            + 'bytes, send the header "x-batch: 1".',
          extensions: { code: 'BODY_TOO_LARGE' },
        },
      ],
    })
    expect(JSON.parse((await send(server.url, post(16 * MiB + 1, '', 'x-batch: 1\r\n'))).body).errors[0].message).toBe(
      'The body has 16777217 bytes; at most 16777216 are accepted.',
    )
  })

  test('a batch of more than 1 MiB is appended with the header', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const turns = Array.from({ length: 10 }, () => ({ role: 'USER', content: 'x'.repeat(125_000) }))
    const query = `mutation($input: AppendTurnsInput!) { appendTurns(input: $input) { __typename } }`
    const operation = { query, variables: { input: { conversationId, turns } } }
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    expect((await server.post(operation, headers)).status).toBe(413)
    const { status, body } = await server.post(operation, { ...headers, 'x-batch': '1' })
    expect(status).toBe(200)
    expect(body.errors).toBeUndefined()
  })

  test('a body of more than 1 MiB is rejected unless its operation only appends batches', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const turn = { role: 'USER', content: 'word '.repeat(10) }
    const padding = 'x'.repeat(MiB)
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada', 'x-batch': '1' }
    const append = 'appendTurn(input: { conversationId: $id, turn: $turn }) { __typename }'
    const turns = '[{ role: USER, content: "word" }]'
    const batch = `appendTurns(input: { conversationId: $id, turns: ${turns} }) { __typename }`
    const send = (selection: string) => {
      const definitions = selection.includes('$turn') ? '$id: ID!, $turn: TurnInput!' : '$id: ID!'
      const query = `mutation (${definitions}) { ${selection} }`
      return server.post({ query, variables: { id: conversationId, turn, padding } }, headers)
    }
    // The second request with a document takes the fast path.
    for (const selection of [append, append, `${batch} ${append}`, `... on Mutation { ${batch} }`]) {
      const { status, body } = await send(selection)
      expect(status).toBe(413)
      expect(body.errors[0]).toMatchObject({
        message: expect.stringContaining(
          'only operations that select nothing but appendTurns, recordFacts, continueImport',
        ),
        extensions: { code: 'BODY_TOO_LARGE', limit: 'bodyBytes', maximum: MiB },
      })
    }
    for (const selection of [batch, batch]) expect((await send(selection)).status).toBe(200)
    expect(await tenant.lastSeq(conversationId)).toBe(3)
  })

  test('two bodies of the maximum size that do not arrive delay no neighbour, and end with 408', async () => {
    const headersOf = (actor: string) => `x-batch: 1\r\nx-actor: ${actor}\r\n`
    const stalled = ['ada', 'bob'].map((actor) => send(server.url, post(16 * MiB, '{', headersOf(actor))))
    // A second one of the same viewer is refused as soon as both are counted.
    await vi.waitFor(async () => {
      const rejected = await send(server.url, post(16 * MiB, '{', headersOf('bob')))
      expect(rejected.status).toBe(503)
      expect(rejected.head).toContain('retry-after: 1')
      expect(JSON.parse(rejected.body).errors[0]).toEqual({
        message: 'One body of more than 1048576 bytes of one viewer may be in progress. Try again later.',
        extensions: { code: 'SERVER_BUSY', retryAfterSeconds: 1 },
      })
    })
    expect((await server.post({ query: `{ __typename } # ${'x'.repeat(MiB - 100)}` })).status).toBe(200)
    // The large body of a neighbour is read as a whole, and its operation is then refused because it is no batch.
    const large = { query: '{ __typename }', variables: { padding: 'x'.repeat(2 * MiB) } }
    const { status: statusOfLarge, body: refusal } = await server.post(large, { 'x-batch': '1', 'x-actor': 'cyd' })
    expect([statusOfLarge, refusal.errors[0].extensions.actual]).toEqual([413, JSON.stringify(large).length])
    await clock.advance(60_000)
    for (const { status, body } of await Promise.all(stalled)) {
      expect(status).toBe(408)
      expect(JSON.parse(body).errors[0].extensions).toEqual({ code: 'BODY_TIMEOUT' })
    }
    const { status } = await server.post({ query: '{ __typename }' }, { 'x-batch': '1' })
    expect(status).toBe(200)
  })

  test('OPTIONS * is answered without a body, and another method on * is rejected', async () => {
    const options = await send(server.url, 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect([options.status, options.body]).toEqual([204, ''])
    expect(options.head).toContain('allow: get, post, options')
    const other = await send(server.url, 'GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(other.status).toBe(400)
    expect(JSON.parse(other.body).errors[0].extensions.code).toBe('BAD_REQUEST')
  })

  test('an absolute target is served by its path, and its host replaces the Host header', async () => {
    const query = encodeURIComponent('{ __typename }')
    const get = (target: string) =>
      send(server.url, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nx-actor: ada\r\nConnection: close\r\n\r\n`)
    const served = await get(`http://localhost/graphql?query=${query}`)
    expect(served.status).toBe(200)
    expect(served.body).toContain('{"data":{"__typename":"Query"}}')
    expect((await get(`http://evil.example/graphql?query=${query}`)).status).toBe(403)
    expect((await get('http://localhost/health')).status).toBe(200)
    expect((await get('ftp://localhost/health')).status).toBe(400)
  })

  const CONNECTING =
    'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
    + 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n'
  test.each([
    ['a query', 'GET /graphql?query=%7B__typename%7D', 'x-actor: ada\r\n'],
    ['a mutation', 'POST /graphql', 'Content-Type: application/json\r\nContent-Length: 2\r\n'],
    ['a health check', 'GET /health', ''],
    ['an absolute target', 'GET http://localhost/health', ''],
    ['a WebSocket', 'GET /graphql', CONNECTING],
  ])('%s with two Host headers, or without one in HTTP/1.1, is rejected', async (_, line, headers) => {
    const codeOf = ({ status, body }: Answer) => [status, JSON.parse(body).errors[0].extensions.code]
    const request = (hosts: string) => send(server.url, `${line} HTTP/1.1\r\n${hosts}${headers}\r\n`)
    for (const hosts of ['', 'Host: localhost\r\nHost: localhost\r\n', 'Host: localhost\r\nhOST: evil.example\r\n']) {
      expect(codeOf(await request(hosts)), hosts).toEqual([400, 'BAD_REQUEST'])
    }
    expect((await request('')).body).toContain('The request has no Host header. Send exactly one.')
  })

  test('a request of HTTP/1.0 needs no Host header for a health check', async () => {
    expect((await send(server.url, 'GET /health HTTP/1.0\r\n\r\n')).status).toBe(200)
  })

  test.each(['gzip', 'br', 'identity, gzip', 'x-unknown'])(
    'a body with the content encoding %s is rejected, with the accepted encoding',
    async (encoding) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
      for (const accept of ['application/json', 'text/event-stream']) {
        const options = { method: 'POST', headers: { ...headers, accept }, body: '{"query":"{ __typename }"}' }
        const response = await fetch(`${server.url}/graphql`, options)
        expect(response.status).toBe(415)
        expect(response.headers.get('accept-encoding')).toBe('identity')
        expect(await response.json()).toEqual({
          errors: [
            {
              message: expect.stringContaining(`"${encoding}" is not`),
              extensions: { code: 'UNSUPPORTED_MEDIA_TYPE' },
            },
          ],
        })
      }
    },
  )

  test('a body with the content encoding identity is accepted', async () => {
    const { status } = await server.post({ query: '{ __typename }' }, { 'content-encoding': 'Identity' })
    expect(status).toBe(200)
  })

  test('every other path answers 404 in the format of GraphQL errors', async () => {
    for (const path of ['/elsewhere', '/index.html', '/graphql/x', '//graphql']) {
      const response = await fetch(`${server.url}${path}`)
      expect(response.status, path).toBe(404)
      expect(((await response.json()) as { errors: [{ extensions: object }] }).errors[0].extensions).toEqual({
        code: 'NOT_FOUND',
      })
    }
  })
})

describe('an unexpected error', () => {
  const health = vi.fn(async (): Promise<unknown> => 1)
  const server = useServer(embedded, {}, { health: { database: health, bus: async () => {}, durability: 'as tested' } })

  test('outside GraphQL is masked, and logged once', async () => {
    const error = vi.spyOn(server.deps.log, 'error')
    health.mockImplementationOnce(() => {
      throw new Error('secret: postgres://u:p@h')
    })
    const response = await fetch(`${server.url}/ready`)
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({
      errors: [{ message: 'Unexpected error.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
    })
    expect(error).toHaveBeenCalledTimes(1)
    error.mockRestore()
  })

  test('of a health check is logged once until it recovers', async () => {
    const warn = vi.spyOn(server.deps.log, 'warn')
    const info = vi.spyOn(server.deps.log, 'info')
    const ready = async () => (await fetch(`${server.url}/ready`)).status
    health.mockRejectedValueOnce(new Error('down')).mockRejectedValueOnce(new Error('down'))
    expect([await ready(), await ready(), await ready(), await ready()]).toEqual([503, 503, 200, 200])
    expect(warn.mock.calls).toEqual([
      [{ err: new Error('down'), dependency: 'database' }, 'a dependency does not respond'],
    ])
    expect(info.mock.calls).toEqual([[{ dependency: 'database' }, 'a dependency responds again']])
    vi.restoreAllMocks()
  })
})

describe('bodies of several addresses', () => {
  const direct = useServer(embedded)
  const behindProxy = useServer(embedded, { TRUSTED_PROXIES: '127.0.0.0/8' })
  const BODIES = ADDRESS_BODY_BYTES / MiB + 4
  /** Sends bodies that lack one byte, the n-th with the header X-Forwarded-For that `forwarded` returns. */
  const sendUnfinished = (url: string, forwarded: (n: number) => string) =>
    Array.from({ length: BODIES }, (_, n) =>
      send(url, post(MiB, 'x'.repeat(MiB - 1), `x-forwarded-for: ${forwarded(n)}\r\n`)),
    )

  test.each([
    ['no proxy is trusted, whatever X-Forwarded-For says', direct, (n: number) => `192.0.2.${n}`],
    [
      'a trusted proxy says so, whatever the client says',
      behindProxy,
      (n: number) => `192.0.2.${n}, 198.51.100.7, 127.0.0.2`,
    ],
  ])('are those of one client if %s', async (_, server, forwarded) => {
    const { status, body } = await Promise.race(sendUnfinished(server.url, forwarded))
    expect(status).toBe(503)
    expect(JSON.parse(body).errors[0].message).toContain(`from your address exceed ${ADDRESS_BODY_BYTES} bytes`)
    expect(server.usage().bodies).toBeLessThanOrEqual(ADDRESS_BODY_BYTES)
  })

  test('are counted separately if a trusted proxy names several clients', async () => {
    void sendUnfinished(behindProxy.url, (n) => `203.0.113.${n}`)
    await vi.waitFor(() => expect(behindProxy.usage().bodies).toBe(BODIES * (MiB - 1)))
  })
})
