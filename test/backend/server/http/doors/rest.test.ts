// The REST API over real sockets: its routes, headers, pages and event streams, its errors, and the limits that it shares
// with the GraphQL API. test/contract/verbs.test.ts compares the answers of every verb.

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { EventSource } from 'eventsource'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createApiKey } from '../../../../../src/domain/trust/api-key/api-key.ts'
import { deleteConversation } from '../../../../../src/domain/trust/erasure/delete-conversation.ts'
import { DatabaseUnavailable } from '../../../../../src/errors.ts'
import { backends, embedded } from '../../../../support/backend.ts'
import { overload, OVERLOAD, OVERLOADING } from '../../../../support/overload.ts'
import { sendRest, type RestAnswer } from '../../../../support/rest.ts'
import { useServer, type TestServer } from '../../../../support/server.ts'

const ORIGIN = 'https://app.example'

/** Returns functions that send requests of the actor "ada" of a new tenant. */
function client(server: TestServer) {
  const tenant = server.tenant()
  const names = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    return sendRest(server.url, { method, path, body: text }, { ...names, ...headers })
  }
  return { tenant, names, send }
}

/** Returns the problem's properties, and checks that its status is that of the response. */
function problemIn({ status, headers, body }: RestAnswer) {
  expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) })
  return body
}

describe.each(backends)('the REST API on $name', (backend) => {
  const server = useServer(backend, { ALLOWED_ORIGINS: ORIGIN, MAX_BODY_BYTES: '16384' })

  it('creates one conversation for a repeated Idempotency-Key, and finds it by id and by any key', async () => {
    const { send } = client(server)
    const key = 'a/b?ü%25'
    const [first, second] = [
      await send('POST', '/conversations', { title: 'Trip' }, { 'idempotency-key': 'k1' }),
      await send('POST', '/conversations', { title: 'Trip' }, { 'idempotency-key': 'k1' }),
    ]
    expect([first.body.created, second.body.created]).toEqual([true, false])
    expect(second.body.conversation).toEqual(first.body.conversation)
    const { body: other } = await send('POST', '/conversations', { key })
    const byId = await send('GET', `/conversations/${other.conversation.id}`)
    const byKey = await send('GET', `/conversations/key:${encodeURIComponent(key)}`)
    expect(byKey.body).toMatchObject({ id: other.conversation.id, key, turnCount: 0 })
    expect(byId.body).toEqual(byKey.body)
  })

  it('appends one turn for a repeated Idempotency-Key, and refuses another turn with it', async () => {
    const { send } = client(server)
    await send('POST', '/conversations', { key: 'k' })
    const append = (content: string, more: object = {}) =>
      send(
        'POST',
        '/conversations/key:k/turns',
        { turn: { role: 'USER', content, ...more } },
        { 'idempotency-key': 't' },
      )
    const [first, again, other, both] = [
      await append('Hi.'),
      await append('Hi.'),
      await append('Ho.'),
      await append('Hi.', { clientId: 'u' }),
    ]
    expect([first.body.deduplicated, again.body.deduplicated]).toEqual([false, true])
    expect(again.body.turn.id).toBe(first.body.turn.id)
    expect(problemIn(other)).toMatchObject({ status: 409, code: 'CONFLICT' })
    expect(problemIn(both)).toMatchObject({ status: 400, code: 'INVALID_INPUT', issues: [{ path: ['clientId'] }] })
  })

  it('updates a conversation only in the version of If-Match', async () => {
    const { send } = client(server)
    const { headers } = await send('POST', '/conversations', { key: 'k' })
    expect(headers.get('etag')).toBe('"1"')
    const rename = (title: string, tag: string) => send('PATCH', '/conversations/key:k', { title }, { 'if-match': tag })
    const renamed = await rename('One', '"1"')
    expect([renamed.status, renamed.headers.get('etag')]).toEqual([200, '"2"'])
    expect(problemIn(await rename('Two', '"1"'))).toMatchObject({ status: 412, code: 'CONFLICT' })
    expect(problemIn(await rename('Two', 'W/"2"'))).toMatchObject({ status: 400, code: 'INVALID_INPUT' })
    const { body, headers: read } = await send('GET', '/conversations/key:k')
    expect([body.title, read.get('etag')]).toEqual(['One', '"2"'])
    const withoutVersion = await send('GET', '/conversations/key:k', undefined, { 'if-match': '"2"' })
    expect(problemIn(withoutVersion).detail).toContain('does not accept the header If-Match')
  })

  it('links the pages of a list, forwards and backwards', async () => {
    const { tenant, send } = client(server)
    const conversationId = await tenant.newConversation('ada')
    for (let i = 0; i < 5; i++) await tenant.append(conversationId, 'ada', `turn ${i}`)
    const relations = ({ headers }: RestAnswer) =>
      Object.fromEntries(
        [...(headers.get('link') ?? '').matchAll(/<\/api\/v1([^>]*)>; rel="(\w+)"/g)].map(([, url, rel]) => [
          rel,
          url!,
        ]),
      )
    const textsFrom = async (path: string | undefined, rel: string) => {
      const pages: string[][] = []
      for (let next = path; next;) {
        const page = await send('GET', next)
        pages.push(page.body.nodes.map(({ text }: { text: string }) => text))
        next = relations(page)[rel]
      }
      return pages
    }
    const list = `/conversations/${conversationId}/turns`
    expect(await textsFrom(`${list}?first=2`, 'next')).toEqual([['turn 0', 'turn 1'], ['turn 2', 'turn 3'], ['turn 4']])
    expect(await textsFrom(`${list}?last=2`, 'prev')).toEqual([['turn 3', 'turn 4'], ['turn 1', 'turn 2'], ['turn 0']])
    const filter = encodeURIComponent(JSON.stringify({ actors: ['nobody'] }))
    const empty = await send('GET', `${list}?first=2&filter=${filter}`)
    expect([empty.body.nodes, empty.headers.get('link')]).toEqual([[], null])
  })

  it.each<[string, string, string, unknown, object]>([
    [
      'a misspelt input',
      'POST',
      '/conversations',
      { titel: 'x' },
      { issues: [{ path: ['titel'] }], detail: /Did you mean title\?/ },
    ],
    ['a misspelt parameter', 'GET', '/conversations?frist=1', undefined, { detail: /Did you mean first\?/ }],
    ['a text as a number', 'GET', '/conversations?first=ten', undefined, { detail: /^first: is not a number/ }],
    ['a repeated parameter', 'GET', '/conversations?first=1&first=2', undefined, { detail: /more than once/ }],
    ['a parameter that is not JSON', 'GET', '/conversations?filter=x', undefined, { detail: /^filter: is not JSON/ }],
    ['an unknown enum value', 'GET', '/conversations?orderBy=NAME', undefined, { issues: [{ path: ['orderBy'] }] }],
    [
      'several problems',
      'POST',
      '/conversations',
      { title: 1, key: 2 },
      { issues: [{ path: ['key'] }, { path: ['title'] }] },
    ],
    ['a body that is not JSON', 'POST', '/conversations', '{', { detail: 'The body is not JSON.' }],
    ['a body that is a list', 'POST', '/conversations', [], { detail: /must be a JSON object/ }],
    ['a parameter beside a body', 'POST', '/conversations?title=x', {}, { detail: /in the body, not in the URL/ }],
    [
      'an input that is in the path',
      'PATCH',
      '/conversations/key:k',
      { conversationId: 'x' },
      { detail: /is given in the path/ },
    ],
    ['an id of another kind', 'GET', '/conversations/key:/turns', undefined, { status: 404, code: 'NOT_FOUND' }],
    [
      'an unknown conversation',
      'GET',
      '/conversations/conv_x',
      undefined,
      { status: 404, detail: /no conversation "conv_x"/ },
    ],
    [
      'an unknown path',
      'GET',
      '/conversation',
      undefined,
      { status: 404, detail: /Did you mean \/api\/v1\/conversations\?/ },
    ],
    ['a path unlike any other', 'GET', '/zzz', undefined, { status: 404, detail: /openapi\.json lists all paths/ }],
    ['another method', 'PATCH', '/conversations', {}, { status: 405, allowed: ['POST', 'GET'] }],
    ['a wrong percent-encoding', 'GET', '/conversations/%ff', undefined, { status: 400, code: 'BAD_REQUEST' }],
    ['an unknown actor', 'GET', '/conversations?as=nobody', undefined, { status: 400, code: 'UNKNOWN_ACTOR' }],
    ['a large body', 'POST', '/conversations', { title: 'x'.repeat(20_000) }, { status: 413, code: 'BODY_TOO_LARGE' }],
  ])('answers %s with a problem', async (_, method, path, body, expected) => {
    const { send } = client(server)
    await send('POST', '/conversations', { key: 'k' })
    const { detail, ...rest } = { detail: /./, ...expected }
    const problem = problemIn(await send(method, path, body))
    expect(problem).toMatchObject({ status: 400, ...(rest as { status?: number }) })
    expect(problem.detail).toMatch(detail)
  })

  it('masks an unexpected error, and says that a busy database may answer later', async () => {
    const { tenant, send } = client(server)
    const path = `/conversations/${await tenant.newConversation('ada')}/participants`
    const { pool } = server.deps.reads
    const spy = vi.spyOn(pool, 'query')
    onTestFinished(() => spy.mockRestore())
    spy.mockImplementation(() => Promise.reject(new Error('secret')))
    const defect = problemIn(await send('GET', path))
    expect(defect).toMatchObject({ status: 500, code: 'INTERNAL_SERVER_ERROR', detail: 'Unexpected error.' })
    spy.mockImplementation(() => Promise.reject(new DatabaseUnavailable()))
    const answer = await send('GET', path)
    expect(problemIn(answer)).toMatchObject({ status: 503, code: 'SERVER_BUSY', retryAfterSeconds: 1 })
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  it('names the state of a turn that is closed', async () => {
    const { tenant, send } = client(server)
    const conversationId = await tenant.newConversation('ada')
    const writerToken = 'w'.repeat(32)
    const opened = await send('POST', `/conversations/${conversationId}/streaming-turns`, {
      turn: { role: 'ASSISTANT' },
      writerToken,
    })
    const turn = `/turns/${opened.body.turn.id}`
    await send('POST', `${turn}/deltas`, { writerToken, text: 'Hello' })
    const committed = await send('POST', `${turn}/commit`, { writerToken })
    expect(committed.body.turn).toMatchObject({ text: 'Hello', status: 'COMMITTED' })
    const late = problemIn(await send('POST', `${turn}/deltas`, { writerToken, text: '!' }))
    expect(late).toMatchObject({ status: 409, code: 'STREAM_CLOSED', turnStatus: 'COMMITTED' })
  })

  it('refuses what a page of another site could send, other media types and encodings', async () => {
    const { names, send } = client(server)
    const post = (headers: Record<string, string>, body?: string) =>
      fetch(`${server.url}/api/v1/conversations`, { method: 'POST', headers, body }).then(async (response) => ({
        status: response.status,
        headers: response.headers,
        body: await response.json(),
      }))
    expect(problemIn(await post({ 'content-type': 'text/plain' }, '{}')).code).toBe('UNSUPPORTED_MEDIA_TYPE')
    expect(problemIn(await post({})).code).toBe('CSRF_HEADER_REQUIRED')
    expect(
      problemIn(await post({ ...names, 'content-encoding': 'br', 'content-type': 'application/json' }, '{}')).code,
    ).toBe('UNSUPPORTED_MEDIA_TYPE')
    const fromSite = (site: string) =>
      fetch(`${server.url}/api/v1/conversations`, { headers: { 'sec-fetch-site': site } }).then(({ status }) => status)
    expect([await fromSite('cross-site'), await fromSite('none'), await fromSite('same-origin')]).toEqual([
      403, 200, 200,
    ])
    expect(problemIn(await send('GET', '/conversations', undefined, { origin: 'https://evil.example' })).code).toBe(
      'ORIGIN_NOT_ALLOWED',
    )
  })

  it('lets a page of an allowed origin send every method, and read the answer', async () => {
    const { send } = client(server)
    for (const method of ['PATCH', 'DELETE']) {
      const preflight = await fetch(`${server.url}/api/v1/conversations/key:k`, {
        method: 'OPTIONS',
        headers: {
          origin: ORIGIN,
          'access-control-request-method': method,
          'access-control-request-headers': 'content-type, if-match',
        },
      })
      expect(preflight.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      expect(preflight.headers.get('access-control-allow-methods')).toContain(method)
      expect(preflight.headers.get('access-control-allow-headers')).toContain('if-match')
    }
    const { status, headers } = await send('GET', '/conversations', undefined, { origin: ORIGIN })
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN])
    const missing = await send('GET', '/conversations/key:none', undefined, { origin: ORIGIN })
    expect([missing.status, missing.headers.get('access-control-allow-origin')]).toEqual([404, ORIGIN])
    expect(headers.get('access-control-expose-headers')).toBe('ETag, Link, Mcp-Session-Id, Retry-After')
  })
})

type StreamEvent = { id: string | undefined; data: any }

/** Opens an event stream. Returns the response, and a function that reads the next event. */
async function openStream(url: string, headers: Record<string, string>) {
  const request = httpRequest(url, { headers }).end()
  onTestFinished(() => void request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const lines = response.setEncoding('utf8')[Symbol.asyncIterator]()
  let text = ''
  const next = async (): Promise<StreamEvent | null> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const event = text.slice(0, end)
        text = text.slice(end + 2)
        const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(event)?.[1]
        if (field('event') === 'complete') return { id: field('id'), data: null }
        if (field('data')) return { id: field('id'), data: JSON.parse(field('data')!) }
        continue
      }
      const { value, done } = await lines.next()
      if (done) return null
      text += value
    }
  }
  return { response, next }
}

describe.each(backends)('event streams of the REST API on $name', (backend) => {
  const server = useServer(backend)

  it('deliver the entries after a seq, then live events; a reader resumes after the id of the last one', async () => {
    const { tenant, names } = client(server)
    const conversationId = await tenant.newConversation('ada')
    for (const text of ['one', 'two']) await tenant.append(conversationId, 'ada', text)
    const url = `${server.url}/api/v1/conversations/${conversationId}/events`
    const first = await openStream(`${url}?afterSeq=1`, names)
    expect(first.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    const events = [await first.next(), await first.next()]
    await tenant.append(conversationId, 'ada', 'three')
    events.push(await first.next())
    expect(events.map((event) => [event!.data.__typename, event!.data.turn.text])).toEqual([
      ['TurnAppended', 'one'],
      ['TurnAppended', 'two'],
      ['TurnAppended', 'three'],
    ])
    expect(events.map((event) => Number(event!.id))).toEqual(events.map((event) => event!.data.seq))
    const second = await openStream(`${url}?afterSeq=1`, { ...names, 'last-event-id': events[1]!.id! })
    expect((await second.next())!.data.turn.text).toBe('three')
  })

  it('serve an EventSource, whose names are in the URL, until the conversation is deleted', async () => {
    const { tenant, names } = client(server)
    const conversationId = await tenant.newConversation('ada')
    const query = new URLSearchParams({ ...names, afterSeq: '0', types: 'TURN_APPENDED' })
    const source = new EventSource(`${server.url}/api/v1/conversations/${conversationId}/events?${query}`)
    onTestFinished(() => source.close())
    const received: any[] = []
    const next = () =>
      new Promise<void>((resolve) => (source.onmessage = ({ data }) => (received.push(JSON.parse(data)), resolve())))
    await new Promise((resolve) => (source.onopen = resolve))
    const appended = next()
    await tenant.append(conversationId, 'ada', 'hello')
    await appended
    const deleted = next()
    const ended = new Promise<void>((resolve) => {
      source.onerror = () => void (source.readyState === EventSource.CLOSED && resolve())
    })
    await deleteConversation(server.deps, tenant.as('owner'), conversationId)
    await deleted
    expect(received.map(({ __typename }) => __typename)).toEqual(['TurnAppended', 'ConversationDeleted'])
    // The server answers the reconnection with 204.
    await ended
  })

  it('are not opened again for a client that has received the end of a stream', async () => {
    const { tenant, names } = client(server)
    const conversationId = await tenant.newConversation('ada')
    const headers = { ...names, 'last-event-id': 'complete' }
    const { status } = await fetch(`${server.url}/api/v1/conversations/${conversationId}/events`, { headers })
    expect(status).toBe(204)
  })

  it('deliver the inbox', async () => {
    const { tenant, names } = client(server)
    const conversationId = await tenant.newConversation('ada', { actor: 'bob', respond: 'ALWAYS' })
    await tenant.append(conversationId, 'bob', 'unread')
    const { next } = await openStream(`${server.url}/api/v1/inbox?reasons=UNREAD`, names)
    expect((await next())!.data).toMatchObject({ reason: 'UNREAD', conversationId, unreadCount: 1 })
  })

  it.each<[string, string, Record<string, string>, object]>([
    ['an unknown conversation', '/conversations/key:none/events', {}, { status: 404, code: 'NOT_FOUND' }],
    ['an unknown type', '/conversations/key:none/events?types=X', {}, { status: 400, code: 'INVALID_INPUT' }],
    ['a wrong id', '/conversations/key:none/events', { 'last-event-id': 'x' }, { status: 400, code: 'BAD_REQUEST' }],
  ])('are refused with a problem for %s', async (_, path, headers, expected) => {
    const { send } = client(server)
    expect(problemIn(await send('GET', path, undefined, headers))).toMatchObject(expected)
  })
})

describe('the REST API with authentication', () => {
  const server = useServer(embedded, { AUTH_MODE: 'keys' })

  it('refuses a request without a token or with a wrong one, and one without the right', async () => {
    const tenant = server.tenant()
    const { token } = await createApiKey(server.deps, tenant.as('operator'), {
      name: 'reader',
      actor: 'ada',
      rights: ['read'],
    })
    const send = (method: string, path: string, body?: string, authorization?: string) =>
      sendRest(server.url, { method, path, body }, authorization ? { authorization } : {})
    const anonymous = await send('GET', '/conversations')
    expect(problemIn(anonymous)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect(anonymous.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(problemIn(await send('GET', '/conversations', undefined, 'Bearer x')).status).toBe(401)
    expect((await send('GET', '/conversations', undefined, `Bearer ${token}`)).status).toBe(200)
    const refused = problemIn(await send('POST', '/conversations', '{}', `Bearer ${token}`))
    expect(refused).toMatchObject({ status: 403, code: 'NOT_ALLOWED', right: 'write' })
  })

  it('a key that is limited to one conversation sees no other through any verb', async () => {
    const tenant = server.tenant()
    const [own, other] = [await tenant.newConversation('ada'), await tenant.newConversation('ada')]
    const foreign = await tenant.append(other, 'ada', 'secret')
    const { token } = await createApiKey(server.deps, tenant.as('operator'), {
      name: 'limited',
      actor: 'ada',
      rights: ['read', 'write'],
      conversations: [own],
    })
    const send = (method: string, path: string, body?: object) =>
      sendRest(server.url, { method, path, body: body && JSON.stringify(body) }, { authorization: `Bearer ${token}` })
    expect((await send('GET', '/conversations')).body.nodes.map(({ id }: { id: string }) => id)).toEqual([own])
    const answers = [
      await send('GET', `/conversations/${other}`),
      await send('GET', `/conversations/${other}/turns`),
      await send('POST', `/conversations/${other}/turns`, { turn: { role: 'USER', content: 'x' } }),
      await send('POST', '/recall', { conversationId: other, query: 'secret' }),
      await send('POST', `/turns/${foreign.id}/versions`, { turn: { role: 'USER', content: 'x' } }),
    ]
    for (const answer of answers) {
      const problem = problemIn(answer)
      expect([403, 404]).toContain(problem.status)
      expect(JSON.stringify(problem)).not.toContain('secret')
    }
  })
})

describe('the REST API with few points', () => {
  const server = useServer(embedded, {}, { settings: { rateLimitPoints: 200 } })

  it('refuses a viewer that has used them, and says when to try again', async () => {
    const { send } = client(server)
    let answer: RestAnswer
    do answer = await send('GET', '/conversations')
    while (answer.status === 200)
    const { retryAfterSeconds } = problemIn(answer)
    expect(answer).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect(answer.headers.get('retry-after')).toBe(String(retryAfterSeconds))
  })
})

describe('the REST API of an overloaded server', () => {
  const server = useServer(embedded, OVERLOAD)
  let stop = async () => {}
  afterEach(() => stop())

  it('refuses with 503 before it executes anything', async () => {
    stop = await overload(server)
    const answer = await sendRest(server.url, { method: 'GET', path: '/conversations' }, { 'x-tenant': OVERLOADING })
    expect(problemIn(answer)).toMatchObject({ status: 503, code: 'SERVER_BUSY', retryAfterSeconds: 1 })
    expect(answer.headers.get('retry-after')).toBe('1')
  })
})
