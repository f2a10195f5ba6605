// GraphQL over Server-Sent Events: the cases of the protocol "distinct connections" over real sockets, the ids by which
// an EventSource resumes, who may open a stream, and the real clients graphql-sse and EventSource.

import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { EventSource } from 'eventsource'
import { createClient } from 'graphql-sse'
import { describe, expect, test, vi } from 'vitest'
import { counters } from '../../../../src/runtime/counters.ts'
import { createConversation } from '../../../../src/domain/conversation/conversation.ts'
import { deleteConversation } from '../../../../src/domain/trust/erasure/delete-conversation.ts'
import { markRead } from '../../../../src/domain/conversation/participant/participant.ts'
import { appendDelta } from '../../../../src/domain/turn/streaming/append-delta.ts'
import { commitTurn } from '../../../../src/domain/turn/streaming/stream.ts'
import { appendTurns, openTurn } from '../../../../src/domain/turn/append/append.ts'
import { backends, embedded } from '../../../support/backend.ts'
import { useRunningClock } from '../../../support/fake-clock.ts'
import { isLong } from '../../../support/long.ts'
import { createProxy } from '../../../support/proxy.ts'
import { subscribed, take, useServer } from '../../../support/server.ts'
import { WRITER } from '../../../support/writer.ts'

const FOLLOW = `subscription ($id: ID!, $afterSeq: Int, $types: [ConversationEventType!], $as: String) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq, types: $types, as: $as) {
    __typename seq ... on TurnAppended { turn { text } }
  }
}`
const VIEWER = '{ viewer { tenant actor } }'
const APPEND = `mutation ($id: ID!) {
  appendTurn(input: { conversationId: $id, turn: { role: USER, content: "said" } }) { __typename }
}`

type Sent = {
  query?: string
  variables?: Record<string, unknown>
  operationName?: string
  method?: string
  headers?: Record<string, string>
  /** The body in place of the operation. */
  raw?: string
  /** Parameters of the URL in addition to the operation. */
  url?: Record<string, string>
  agent?: Agent
}
/** An event of a stream, or a comment. */
type Message = { event?: string; id?: string; data?: string; comment?: string }

function parseMessage(block: string): Message {
  const message: Message = {}
  for (const line of block.split('\n')) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line)!
    Object.assign(message, { [field || 'comment']: value })
  }
  return message
}

describe.each(backends)('an event stream on $name', (backend) => {
  // A test leaves a stream unread for as long as the machine takes for 11,000 entries.
  const settings = { ALLOWED_ORIGINS: 'https://app.example', WRITE_TIMEOUT_SECONDS: '600' }
  const clock = useRunningClock()
  const server = useServer(backend, settings, { clock })

  /** Sends a request, and reads the response as it arrives. */
  async function open({ method = 'POST', headers, raw, url = {}, agent, ...operation }: Sent) {
    const body = method === 'POST' ? (raw ?? JSON.stringify(operation)) : ''
    const search = new URLSearchParams(url)
    if (method === 'GET') {
      for (const [name, value] of Object.entries(operation)) {
        if (value !== undefined) search.set(name, typeof value === 'string' ? value : JSON.stringify(value))
      }
    }
    const request = httpRequest(`${server.url}/graphql?${search}`, {
      method,
      agent: agent ?? false,
      headers: {
        accept: 'text/event-stream',
        'x-actor': 'ada',
        ...(body && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    })
    for (const [name, value] of Object.entries(headers ?? {})) if (value === '') request.removeHeader(name)
    request.on('error', () => {})
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    response.setEncoding('utf8').on('data', (part: string) => (text += part))
    response.on('error', () => {})
    const messages = () => text.split('\n\n').slice(0, -1).map(parseMessage)
    const events = () => messages().filter(({ comment }) => comment === undefined)
    return {
      response,
      status: response.statusCode,
      messages,
      events,
      /** The values of the events' only field. */
      values: () =>
        events().flatMap(({ data }) => (data ? Object.values((JSON.parse(data) as { data?: object }).data ?? {}) : [])),
      text: () => text,
      async until(count: number): Promise<Message[]> {
        await vi.waitFor(() => expect(events().length).toBeGreaterThanOrEqual(count))
        return events()
      },
      /** Resolves with the whole text when the response has ended. */
      async ended(): Promise<string> {
        if (!response.readableEnded && !response.destroyed) await once(response, 'close')
        return text
      },
      close: () => request.destroy(),
    }
  }

  /** A new conversation with its entry 1, the joining of ada, and further turns. */
  async function newConversation(...turns: string[]) {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    for (const turn of turns) await tenant.append(id, 'ada', turn)
    return { tenant, id, headers: { 'x-tenant': tenant.name } }
  }
  const remove = ({ tenant, id }: Awaited<ReturnType<typeof newConversation>>) =>
    deleteConversation(server.deps, tenant.as('ada'), id)
  const errorIn = (text: string) => JSON.parse(/\{.*\}/.exec(text)![0]).errors[0]

  describe('by the protocol', () => {
    test('has the media type and headers of a stream that no proxy keeps, and begins with a comment', async () => {
      const { id, headers } = await newConversation()
      const stream = await open({ query: FOLLOW, variables: { id }, headers })
      expect(stream.status).toBe(200)
      expect(stream.response.headers).toMatchObject({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      })
      await vi.waitFor(() => expect(stream.messages()).toEqual([{ comment: '' }]))
      stream.close()
    })

    test.each(['POST', 'GET'])('sends each result of a subscription by %s as an event next', async (method) => {
      const { tenant, id, headers } = await newConversation('one')
      const stream = await open({ method, query: FOLLOW, variables: { id, afterSeq: 0 }, headers })
      await stream.until(2)
      await tenant.append(id, 'ada', 'two')
      const events = await stream.until(3)
      expect(events.map(({ event }) => event)).toEqual(['next', 'next', 'next'])
      expect(stream.values()).toEqual([
        { __typename: 'ParticipantJoined', seq: 1 },
        { __typename: 'TurnAppended', seq: 2, turn: { text: 'one' } },
        { __typename: 'TurnAppended', seq: 3, turn: { text: 'two' } },
      ])
      stream.close()
    })

    test.each([
      ['a query by POST', { query: VIEWER }],
      ['a query by GET', { query: VIEWER, method: 'GET' }],
      ['a mutation', { query: 'mutation { createConversation(input: {}) { __typename } }' }],
      ['an operation of several', { query: `query A ${VIEWER} query B ${VIEWER}`, operationName: 'B' }],
    ])('sends the result of %s, then complete with an empty data field, and ends', async (_, sent) => {
      const stream = await open(sent)
      expect(stream.status).toBe(200)
      const text = await stream.ended()
      expect(text).toMatch(/^:\n\nevent: next\ndata: \{"data":\{.*\}\}\n\nevent: complete\nid: complete\ndata:\n\n$/)
    })

    test('refuses a mutation by GET, before the stream', async () => {
      const stream = await open({ query: 'mutation { createConversation(input: {}) { __typename } }', method: 'GET' })
      expect([stream.status, stream.response.headers.allow]).toEqual([405, 'POST'])
      expect(errorIn(await stream.ended()).message).toMatch(/Can only perform a mutation operation from a POST/)
    })

    test.each([
      ['a syntax error', { query: '{' }, 'GRAPHQL_PARSE_FAILED'],
      ['an invalid document', { query: '{ nothing }' }, 'GRAPHQL_VALIDATION_FAILED'],
      ['an unknown operation name', { query: VIEWER, operationName: 'B' }, 'OPERATION_RESOLUTION_FAILURE'],
      ['a missing operation name', { query: `query A ${VIEWER} query B ${VIEWER}` }, 'OPERATION_RESOLUTION_FAILURE'],
      ['an invalid variable', { query: FOLLOW, variables: { id: {} } }, 'INVALID_INPUT'],
      ['an unknown conversation', { query: FOLLOW, variables: { id: `conv_${'0'.repeat(26)}` } }, 'NOT_FOUND'],
      [
        'an empty list of types',
        { query: FOLLOW, variables: { id: `conv_${'0'.repeat(26)}`, types: [] } },
        'INVALID_INPUT',
      ],
    ])('reports %s in an event, then completes', async (_, sent, code) => {
      for (const method of ['POST', 'GET']) {
        const stream = await open({ ...sent, method })
        expect(stream.status).toBe(200)
        const text = await stream.ended()
        expect(errorIn(text).extensions.code).toBe(code)
        expect(stream.events().map(({ event }) => event)).toEqual(['next', 'complete'])
      }
    })

    test.each([
      ['a body that is not JSON', { raw: '{' }, 400, 'BAD_REQUEST'],
      ['a body that is no object', { raw: '[]' }, 400, 'BAD_REQUEST'],
      ['a request without a document', { raw: '{}' }, 400, 'BAD_REQUEST'],
      ['variables that are no object', { raw: JSON.stringify({ query: VIEWER, variables: 1 }) }, 400, 'BAD_REQUEST'],
      [
        'variables in a URL that are not JSON',
        { method: 'GET', query: VIEWER, url: { variables: 'x' } },
        400,
        'BAD_REQUEST',
      ],
      ['a URL without a document', { method: 'GET' }, 400, 'BAD_REQUEST'],
      [
        'a body in another language',
        { query: VIEWER, headers: { 'content-type': 'application/graphql' } },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      ['a reservation for a single connection', { method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
    ])('refuses %s before the stream', async (_, sent, status, code) => {
      const stream = await open(sent)
      expect(stream.status).toBe(status)
      expect(stream.response.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(errorIn(await stream.ended()).extensions).toEqual({ code })
    })

    test('keeps every text in one line of data', async () => {
      const text = 'one\ntwo\r\nthree\u2028 ‘李’ 🗼\n\nevent: complete\n\n'
      const { id, headers } = await newConversation(text)
      const stream = await open({ query: FOLLOW, variables: { id, afterSeq: 1 }, headers })
      await stream.until(1)
      expect(stream.values()).toEqual([{ __typename: 'TurnAppended', seq: 2, turn: { text } }])
      stream.close()
    })

    test('stops the subscription when the client closes the connection', async () => {
      const release = vi.spyOn(server.deps.feeds, 'release')
      const { id, headers } = await newConversation()
      for (const query of [FOLLOW, FOLLOW.replace('seq', '... on PresenceChanged { state }')]) {
        const stream = await open({ query, variables: { id, afterSeq: 0 }, headers })
        await stream.until(1)
        stream.close()
      }
      await vi.waitFor(() => expect(release).toHaveBeenCalledTimes(2))
      release.mockRestore()
    })

    test('runs any number of operations next to each other, one on each connection, and keeps a connection alive', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const { id, headers } = await newConversation('one')
      const following = await open({ query: FOLLOW, variables: { id, afterSeq: 1 }, headers })
      const first = await open({ query: VIEWER, agent })
      const port = first.response.socket.localPort
      await first.ended()
      const second = await open({ query: APPEND, variables: { id }, headers, agent })
      expect(second.response.socket.localPort).toBe(port)
      await second.ended()
      await following.until(2)
      expect(following.values().map(({ seq }) => seq)).toEqual([2, 3])
      following.close()
      agent.destroy()
    })

    test('is chosen for a subscription, not for a query, if the client accepts JSON as well', async () => {
      const { id, headers } = await newConversation('one')
      const accept = 'application/graphql-response+json, application/json, text/event-stream, multipart/mixed'
      for (const method of ['POST', 'GET']) {
        const json = await open({ query: VIEWER, method, headers: { accept } })
        expect(JSON.parse(await json.ended())).toHaveProperty('data.viewer')
        const sent = { query: FOLLOW, variables: { id, afterSeq: 1 }, method, headers: { ...headers, accept } }
        const stream = await open(sent)
        await stream.until(1)
        stream.close()
      }
      const none = await open({ query: FOLLOW, variables: { id }, headers: { ...headers, accept: '*/*' } })
      expect(none.status).toBe(406)
      expect(errorIn(await none.ended()).message).toMatch(/send "Accept: text\/event-stream"/)
    })

    test('sends a comment every 12 s while nothing happens', async () => {
      const { id, headers } = await newConversation()
      const stream = await open({ query: FOLLOW, variables: { id }, headers })
      for (const count of [1, 2, 3]) {
        await vi.waitFor(() =>
          expect(stream.messages()).toEqual(Array.from({ length: count }, () => ({ comment: '' }))),
        )
        await clock.advance(12_000)
      }
      stream.close()
    })
  })

  describe('of a conversation', () => {
    test('has the seq as the id of each event of the journal, and no id for ephemeral events', async () => {
      const { tenant, id, headers } = await newConversation()
      const stream = await open({ query: FOLLOW, variables: { id, afterSeq: 0 }, headers })
      const viewer = tenant.as('ada')
      const turn = { role: 'ASSISTANT' as const }
      const opened = await openTurn(server.deps, viewer, { conversationId: id, writerToken: WRITER, turn })
      const turnId = opened.turn.id
      await appendDelta(server.deps, viewer, { turnId, writerToken: WRITER, text: 'Hi' })
      await stream.until(3)
      await markRead(server.deps, viewer, { conversationId: id, seq: 2 })
      await stream.until(4)
      await commitTurn(server.deps, viewer, { turnId, writerToken: WRITER })
      const events = await stream.until(5)
      expect(events.map((event, n) => [stream.values()[n].__typename, event.id])).toEqual([
        ['ParticipantJoined', '1'],
        ['TurnOpened', '2'],
        ['TurnDelta', undefined],
        ['ParticipantRead', undefined],
        ['TurnCommitted', '3'],
      ])
      stream.close()
    })

    test.runIf(isLong)(
      'keeps a slow client from delaying the others, and has the last skipped entry as the id of its gap',
      async () => {
        const { tenant, id, headers } = await newConversation()
        const append = (count: number, content: string) => {
          const turns = Array.from({ length: count }, () => ({ role: 'USER' as const, content }))
          return appendTurns(server.deps, tenant.as('ada'), { conversationId: id, turns })
        }
        const sent = { query: FOLLOW, variables: { id, afterSeq: 0 }, headers }
        const [slow, quick] = [await open(sent), await open({ ...sent, query: FOLLOW.replace('{ text }', '{ seq }') })]
        await slow.until(1)
        slow.response.pause()
        await append(80, 'word '.repeat(50_000))
        for (let n = 0; n < 11; n++) await append(1_000, 'short')
        const head = 1 + 80 + 11_000
        await vi.waitFor(() => expect(quick.text().slice(-500)).toContain(`\nid: ${head}\n`))
        slow.response.resume()
        const gap = new RegExp(`event: next\nid: ${head}\ndata: .*"Gap","seq":null`)
        await vi.waitFor(() => expect(slow.text().slice(-500)).toMatch(gap))
        await tenant.append(id, 'ada', 'live again')
        await vi.waitFor(() => expect(slow.text().slice(-500)).toContain(`\nid: ${head + 1}\n`))
        for (const stream of [slow, quick]) stream.close()
      },
    )

    test('finds the conversation by its key', async () => {
      const tenant = server.tenant()
      const { conversation } = await createConversation(server.deps, tenant.as('ada'), { key: 'garden' })
      await tenant.append(conversation.id, 'ada', 'one')
      const query = FOLLOW.replace('$id: ID!', '$key: String').replace('conversationId: $id', 'conversationKey: $key')
      const headers = { 'x-tenant': tenant.name }
      const stream = await open({ query, variables: { key: 'garden', afterSeq: 1 }, headers })
      await stream.until(1)
      expect(stream.values()).toEqual([{ __typename: 'TurnAppended', seq: 2, turn: { text: 'one' } }])
      stream.close()
      const unknown = await open({ query, variables: { key: 'none' }, headers })
      expect(errorIn(await unknown.ended()).extensions.code).toBe('NOT_FOUND')
    })

    test.each(['GET', 'POST'])('resumes after Last-Event-ID by %s, which replaces afterSeq', async (method) => {
      const { id, headers } = await newConversation('one', 'two', 'three')
      const sent = { method, query: FOLLOW, variables: { id, afterSeq: 0 } }
      const stream = await open({ ...sent, headers: { ...headers, 'last-event-id': '3' } })
      await stream.until(1)
      expect(stream.values()).toEqual([{ __typename: 'TurnAppended', seq: 4, turn: { text: 'three' } }])
      stream.close()
    })

    test.each(['x', '-1', '1.5', '12345678901'])('refuses the Last-Event-ID %s', async (lastId) => {
      const { id, headers } = await newConversation()
      const stream = await open({ query: FOLLOW, variables: { id }, headers: { ...headers, 'last-event-id': lastId } })
      expect(stream.status).toBe(400)
      expect(errorIn(await stream.ended()).message).toMatch(/Last-Event-ID/)
    })

    test('completes when the conversation is deleted, and answers 204 to the client that connects again', async () => {
      const conversation = await newConversation()
      const { id, headers } = conversation
      const sent = { method: 'GET', query: FOLLOW, variables: { id, afterSeq: 0 } }
      const stream = await open({ ...sent, headers })
      await stream.until(1)
      await remove(conversation)
      await stream.ended()
      expect(stream.events().map(({ event, id }) => [event, id])).toEqual([
        ['next', '1'],
        ['next', undefined],
        ['complete', 'complete'],
      ])
      expect(stream.values().at(-1)).toMatchObject({ __typename: 'ConversationDeleted' })
      const again = await open({ ...sent, headers: { ...headers, 'last-event-id': 'complete' } })
      expect([again.status, await again.ended()]).toEqual([204, ''])
    })

    test('shares one execution with WebSockets and other streams of the same document and view', async () => {
      const { tenant, id, headers } = await newConversation()
      await tenant.newConversation('eve')
      const query = FOLLOW.replace('{ text }', '{ text conversation { title } }')
      const starting = vi.spyOn(server.deps.pool, 'query')
      const { deliveries } = counters
      const sockets = [1, 2].map(() => {
        const client = server.client({ 'x-tenant': tenant.name, 'x-actor': 'ada' })
        return take(client.iterate({ query, variables: { id, afterSeq: 0 } }) as never, 2)
      })
      const streams = await Promise.all(
        [{ types: ['TURN_APPENDED'] }, { afterSeq: 1 }, { as: 'eve', afterSeq: 1 }].map((more) =>
          open({ query, variables: { id, ...more }, headers }),
        ),
      )
      // Once the sockets have received entry 1, all readers follow the feed.
      await subscribed(starting, 5)
      await expect.poll(() => counters.deliveries - deliveries).toBe(2)
      starting.mockRestore()
      const reads = vi.spyOn(server.deps.reads.pool, 'query')
      await tenant.append(id, 'ada', 'to all')
      for (const stream of streams) await stream.until(1)
      const received = [
        ...(await Promise.all(sockets)).map(([, event]) => event),
        ...streams.flatMap((each) => each.values()),
      ]
      expect(received).toEqual(
        received.map(() => ({
          __typename: 'TurnAppended',
          seq: 2,
          turn: { text: 'to all', conversation: { title: null } },
        })),
      )
      expect(received).toHaveLength(5)
      const loads = reads.mock.calls.filter(
        ([call]) => (call as unknown as { name?: string }).name === 'read-conversation',
      )
      expect(loads).toHaveLength(1)
      reads.mockRestore()
      for (const stream of streams) stream.close()
    })

    test('has no id in an inbox, which starts with the unread conversations', async () => {
      const { tenant, id, headers } = await newConversation()
      await tenant.append(id, 'bob', 'not read yet')
      const stream = await open({ query: 'subscription { inbox { conversationId reason } }', headers })
      await stream.until(1)
      await tenant.append(id, 'bob', 'live')
      const events = await stream.until(2)
      expect(events.map((event) => event.id)).toEqual([undefined, undefined])
      expect(stream.values()).toEqual([
        { conversationId: id, reason: 'UNREAD' },
        { conversationId: id, reason: 'APPENDED' },
      ])
      stream.close()
    })
  })

  describe('by a web page', () => {
    const page = { 'x-actor': '', 'sec-fetch-site': 'same-origin' }
    const viewerOf = async (sent: Sent) => {
      const stream = await open({ method: 'GET', query: VIEWER, ...sent })
      const text = await stream.ended()
      return stream.status === 200 ? stream.values()[0] : errorIn(text).extensions.code
    }

    test.each([
      ['of the same origin', page, { tenant: 'default', actor: 'anonymous' }],
      [
        'of an allowed origin',
        { 'x-actor': '', origin: 'https://app.example' },
        { tenant: 'default', actor: 'anonymous' },
      ],
      ['of another origin', { 'x-actor': '', origin: 'https://evil.example' }, 'ORIGIN_NOT_ALLOWED'],
      [
        'of another site, without its origin',
        { 'x-actor': '', 'sec-fetch-site': 'cross-site' },
        'CSRF_HEADER_REQUIRED',
      ],
      ['of another port', { 'x-actor': '', 'sec-fetch-site': 'same-site' }, 'CSRF_HEADER_REQUIRED'],
      ['typed by a person', { 'x-actor': '', 'sec-fetch-site': 'none' }, 'CSRF_HEADER_REQUIRED'],
    ])('%s is answered accordingly', async (_, headers, expected) => {
      expect(await viewerOf({ headers })).toEqual(expected)
    })

    test.each(['ada', 'Zoë', '李', '100% a+b/c'])('names the viewer %s in the URL', async (actor) => {
      const url = { 'x-actor': actor, 'x-tenant': `of ${actor}` }
      expect(await viewerOf({ headers: page, url })).toEqual({ tenant: `of ${actor}`, actor })
    })

    test('cannot replace the headers that a proxy sets, name an invalid viewer, or name one outside a stream', async () => {
      const url = { 'x-actor': 'eve' }
      expect(await viewerOf({ headers: { 'x-actor': 'ada' }, url })).toMatchObject({ actor: 'ada' })
      expect(await viewerOf({ headers: page, url: { 'x-actor': 'x'.repeat(201) } })).toBe('INVALID_INPUT')
      const json = await open({ method: 'GET', query: VIEWER, headers: { ...page, accept: 'application/json' }, url })
      expect(JSON.parse(await json.ended()).data.viewer.actor).toBe('anonymous')
    })
  })

  describe('read by an EventSource', () => {
    /** A native EventSource of a page of the same origin: it sets no headers but those of a browser. */
    const connect = (base: string, variables: object, tenant: string) => {
      const search = new URLSearchParams({
        query: FOLLOW,
        variables: JSON.stringify(variables),
        'x-actor': 'ada',
        'x-tenant': tenant,
      })
      const source = new EventSource(`${base}/graphql?${search}`, {
        fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, 'sec-fetch-site': 'same-origin' } }),
      })
      const events: { __typename: string; seq: number | null }[] = []
      source.addEventListener('next', ({ data }) => void events.push(JSON.parse(data).data.conversationEvents))
      return { source, events, seqs: () => events.flatMap(({ seq }) => seq ?? []) }
    }

    test.runIf(isLong)(
      'resumes after lost connections without a gap or repeat, and stops when the conversation is deleted',
      async () => {
        const conversation = await newConversation('one')
        const { tenant, id } = conversation
        const proxy = await createProxy(server.url)
        const { source, events, seqs } = connect(proxy.url.replace(/\/$/, ''), { id, afterSeq: 0 }, tenant.name)
        await vi.waitFor(() => expect(seqs()).toEqual([1, 2]))
        proxy.drop()
        await tenant.append(id, 'ada', 'while the client is away')
        await vi.waitFor(() => expect(seqs()).toEqual([1, 2, 3]))
        await tenant.append(id, 'ada', 'live again')
        await vi.waitFor(() => expect(seqs()).toEqual([1, 2, 3, 4]))
        await remove(conversation)
        await vi.waitFor(() => expect(source.readyState).toBe(EventSource.CLOSED))
        expect(events.at(-1)!.__typename).toBe('ConversationDeleted')
        expect(seqs()).toEqual([1, 2, 3, 4])
        await proxy.close()
      },
    )
  })

  describe('read by graphql-sse', () => {
    test('resumes after lost connections with a getter as the variable afterSeq', async () => {
      const conversation = await newConversation('one')
      const { tenant, id, headers } = conversation
      const proxy = await createProxy(server.url)
      const client = createClient({
        url: `${proxy.url.replace(/\/$/, '')}/graphql`,
        headers: { ...headers, 'x-actor': 'ada' },
        retry: () => reachable,
        retryAttempts: 50,
      })
      let reachable = Promise.resolve()
      let last = 0
      const seqs: number[] = []
      const variables = {
        id,
        get afterSeq() {
          return last
        },
      }
      const completed = new Promise<void>((resolve, reject) => {
        client.subscribe<{ conversationEvents: { seq: number | null } }>(
          { query: FOLLOW, variables },
          {
            next({ data }) {
              const { seq } = data!.conversationEvents
              if (seq !== null) seqs.push((last = seq))
            },
            error: reject,
            complete: resolve,
          },
        )
      })
      for (let seq = 2; seq < 8; seq += 2) {
        await vi.waitFor(() => expect(last).toBe(seq))
        let retry = () => {}
        reachable = new Promise((resolve) => (retry = resolve))
        await proxy.cut()
        await tenant.append(id, 'ada', 'while the client is away')
        await proxy.restore()
        retry()
        await tenant.append(id, 'ada', 'live')
      }
      await vi.waitFor(() => expect(last).toBe(8))
      expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      await remove(conversation)
      await completed
      await proxy.close()
    })
  })
})

describe.each([embedded])('a server that stops', (backend) => {
  const server = useServer(backend)

  test('ends its streams without completing them, so that clients connect to another server', async () => {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada')
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json', 'x-tenant': tenant.name }
    const body = JSON.stringify({ query: FOLLOW, variables: { id, afterSeq: 0 } })
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })
    let text = ''
    const reading = (async () => {
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part
    })()
    await expect.poll(() => text).toContain('id: 1')
    await server.close()
    await reading
    expect(text).toMatch(/^:\n\nevent: next\nid: 1\ndata: .*\n\n$/)
  })
})
