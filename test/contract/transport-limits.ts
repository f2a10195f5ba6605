// The contract of every transport: it refuses the same operations over a limit, with the same error.

import { expect, test, vi } from 'vitest'
import { LimitReached } from '../../src/errors.ts'
import { OVERLOADING } from '../support/overload.ts'
import type { TestServer } from '../support/server.ts'
import { sendOver, type Answer, type Sent, type Transport } from '../support/transports.ts'

/** Environment variables of a server under test. */
export const LIMITS = { MAX_ANSWER_BYTES: '1048576' }

/** `how` an operation is refused that is not executed: it exceeds a limit of documents, or another limit. */
const REFUSED: Record<Transport, { document: Answer['how']; operation: Answer['how'] }> = {
  json: { document: 400, operation: 400 },
  graphql: { document: 400, operation: 400 },
  get: { document: 400, operation: 400 },
  events: { document: 400, operation: 400 },
  socket: { document: 'error', operation: 'next' },
}

const hasSubscriptions = (transport: Transport) => transport === 'events' || transport === 'socket'

const lists = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at)).join(' ')
const nested = (depth: number, open: string, inner: string, close: string) =>
  `${open.repeat(depth)} ${inner} ${close.repeat(depth)}`

/** Documents that exceed a limit: a name for the test, the document, and the limit. */
const DOCUMENTS: [string, string, string][] = [
  ['tokens', `{ ${'viewer { actor } '.repeat(600)} }`, 'tokens'],
  ['nested levels', `{ ${nested(7, 'conversation(id: "c") { turns { edges { node {', 'id', '} } } }')} }`, 'depth'],
  ['levels (600)', `{ ${nested(600, 'a {', 'a', '}')} }`, 'depth'],
  ['aliases', `{ ${lists(51, (at) => `a${at}: viewer { actor }`)} }`, 'aliases'],
  ['directives', `{ viewer { actor ${'@skip(if: false) '.repeat(51)} } }`, 'directives'],
  ['repeated fields', `{ viewer { ${'actor '.repeat(102)} } }`, 'repeats'],
  [
    'fields of fragments',
    `{ ...F0 }
    ${lists(12, (at) => `fragment F${at} on Query { a: viewer { ...G } b: viewer { ...G } ...F${at + 1} }`)}
    fragment F12 on Query { viewer { ...G } } fragment G on Viewer { ${lists(45, (at) => `...G${at}`)} }
    ${lists(45, (at) => `fragment G${at} on Viewer { actor }`)}`,
    'fields',
  ],
]

const NESTED = nested(3, 'history(limit: $n) { ... on Turn { conversation {', 'id', '} } }')
const EVENTS = `subscription ($id: ID!, $n: Int) {
  conversationEvents(conversationId: $id, afterSeq: 0) {
    ... on ParticipantJoined { seq } ... on ConversationUpdated { conversation { ${NESTED} } }
  }
}`
const INBOX = `subscription ($n: Int) { inbox { conversation { ${NESTED} } } }`

export function transportLimitsContract(transport: Transport, server: TestServer): void {
  const refused = REFUSED[transport]

  function newTenant() {
    const tenant = server.tenant()
    const headers = { 'x-tenant': tenant.name, 'x-actor': 'ada' }
    return { tenant, send: (sent: Sent) => sendOver(server.url, transport, { headers, ...sent }) }
  }
  /** Repeats an operation: the server parses the document, then finds it parsed, then may use a plan. */
  async function sendAgain(send: (sent: Sent) => Promise<Answer>, sent: Sent): Promise<Answer[]> {
    return [await send(sent), await send(sent), await send(sent)]
  }

  test.each(DOCUMENTS)('refuses a document with too many %s', async (_, query, limit) => {
    const { send } = newTenant()
    for (const answer of await sendAgain(send, { query })) {
      expect(answer).toMatchObject({
        how: refused.document,
        extensions: { code: 'QUERY_TOO_COSTLY', limit, maximum: expect.any(Number) },
        message: expect.stringMatching(/ allowed\. Request less data/),
      })
    }
  })

  test('refuses nested pages by their possible number of values, before it reads anything', async () => {
    const { send } = newTenant()
    const query = `query ($n: Int) { conversation(id: "conv_x") { ${NESTED} } }`
    const literal = { query: query.replace('($n: Int)', '').replaceAll('$n', '200').replaceAll(/\s+/g, ' ') }
    // Smaller pages are allowed, so the server knows the document, and may have a plan for it.
    const answers = await sendAgain(send, { query, variables: { n: 1 } })
    expect(answers.map(({ data }) => data)).toEqual(answers.map(() => ({ conversation: null })))
    const read = vi.spyOn(server.deps.reads.pool, 'query')
    for (const sent of [literal, { query, variables: { n: 200 } }]) {
      for (const answer of await sendAgain(send, sent)) {
        expect(answer).toMatchObject({
          how: refused.operation,
          extensions: { code: 'QUERY_TOO_COSTLY', limit: 'values', maximum: 100_000, actual: expect.any(Number) },
          message: expect.stringMatching(/at most 100000 are allowed\. Request less data/),
        })
      }
    }
    expect(read.mock.calls.filter((call) => JSON.stringify(call).includes('conv_x'))).toEqual([])
    read.mockRestore()
  })

  test.each([
    ['different', (at: number) => 5 + at],
    ['equal', () => 2],
  ])('stops a query with %s large pages after the first reads', async (_, size) => {
    const { tenant, send } = newTenant()
    const id = await tenant.newConversation('ada')
    for (let at = 0; at < 5; at++) await tenant.append(id, 'ada', `${at}${'x'.repeat(250_000)}`)
    const ask = (count: number) => ({
      query: `query ($id: ID!) {
        conversation(id: $id) { ${lists(count, (at) => `a${at}: turns(first: ${size(at)}) { edges { node { text } } }`)} }
      }`,
      variables: { id },
    })
    const read = vi.spyOn(server.deps.reads.pool, 'query')
    for (const { extensions } of await sendAgain(send, ask(40))) {
      expect(extensions).toEqual({ code: 'QUERY_TOO_COSTLY', limit: 'answerBytes', maximum: 1_048_576 })
    }
    expect(read.mock.calls.length).toBeLessThanOrEqual(3 * 12)
    read.mockRestore()
    if (size(0) === 2) expect((await send(ask(1))).data).toBeTruthy()
  })

  if (!hasSubscriptions(transport)) return

  test('refuses a subscription whose events may have too many values', async () => {
    const { tenant, send } = newTenant()
    const id = await tenant.newConversation('ada')
    const error = { how: refused.operation, extensions: { code: 'QUERY_TOO_COSTLY', limit: 'values' } }
    expect(await send({ query: EVENTS, variables: { id, n: 200 } })).toMatchObject(error)
    expect(await send({ query: INBOX, variables: { n: 200 } })).toMatchObject(error)
    expect(await send({ query: EVENTS, variables: { id, n: 2 } })).toMatchObject({ data: { conversationEvents: {} } })
  })

  test('replaces an event with too many bytes by an error', async () => {
    const { tenant, send } = newTenant()
    const id = await tenant.newConversation('ada')
    await tenant.append(id, 'ada', 'x'.repeat(250_000))
    const query = `subscription ($id: ID!) {
      conversationEvents(conversationId: $id, afterSeq: 1) {
        ... on TurnAppended { turn { ${lists(6, (at) => `a${at}: text`)} } }
      }
    }`
    const answer = await send({ query, variables: { id } })
    expect(answer.extensions).toMatchObject({ code: 'QUERY_TOO_COSTLY', limit: 'answerBytes' })
  })

  test('refuses a subscription of a viewer who has too many', async () => {
    const { tenant, send } = newTenant()
    const id = await tenant.newConversation('ada')
    const enter = vi.spyOn(server.deps.feeds, 'enter').mockImplementation(() => {
      throw new LimitReached('You have 1000 subscriptions: end one.', 1_000)
    })
    const answer = await send({ query: EVENTS, variables: { id, n: 1 } })
    enter.mockRestore()
    expect(answer).toMatchObject({ how: transport === 'events' ? 429 : 'next', code: 'LIMIT_REACHED' })
  })
}

/** Number of points of a server for `pointsContract`. */
export const POINTS = 5

/** The contract of every transport of a server with POINTS points per viewer and minute. */
export function pointsContract(transport: Transport, server: TestServer): void {
  test('refuses a viewer without points left, and says when to try again', async () => {
    const tenant = server.tenant().name
    const send = (actor: string, query: string, variables?: Sent['variables']) =>
      sendOver(server.url, transport, { query, variables, headers: { 'x-tenant': tenant, 'x-actor': actor } })
    const cheap = '{ viewer { actor } }'
    const costly =
      '{ conversations(first: 200) { edges { node { id title key owner lastSeq createdAt updatedAt } cursor } } }'
    expect((await send('ada', costly)).data).toBeTruthy()
    expect((await send('ada', '{ viewer { actor } again: viewer { actor } }')).data).toBeTruthy()

    const { how, extensions, type, retryAfter } = await send('ada', cheap)
    const retryAfterSeconds = Number(extensions?.retryAfterSeconds)
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(extensions).toEqual({ code: 'RATE_LIMITED', limit: 'points', maximum: POINTS, retryAfterSeconds })
    expect([how, type, retryAfter]).toEqual(
      transport === 'socket'
        ? ['next', undefined, undefined]
        : [
            429,
            `application/${transport === 'graphql' ? 'graphql-response+' : ''}json; charset=utf-8`,
            String(retryAfterSeconds),
          ],
    )
    if (hasSubscriptions(transport)) {
      expect((await send('ada', EVENTS, { id: 'conv_x', n: 1 })).code).toBe('RATE_LIMITED')
    }
    // The points are those of the actor of the request, not of the actor in `as`.
    expect((await send('ada', '{ viewer(as: "bob") { actor } }')).code).toBe('RATE_LIMITED')
    expect((await send('bob', cheap)).data).toBeTruthy()
  })
}

/** The contract of every transport of a server that `overload` overloads with requests of the tenant OVERLOADING. */
export function overloadContract(transport: Transport, server: TestServer, overload: () => Promise<void>): void {
  test('refuses operations of an overloaded server before they start', async () => {
    await overload()
    const query = hasSubscriptions(transport) ? EVENTS : '{ viewer { actor } }'
    const answer = await sendOver(server.url, transport, { query, headers: { 'x-tenant': OVERLOADING } })
    expect(answer).toMatchObject(
      transport === 'socket'
        ? { how: 1013 }
        : { how: 503, extensions: { code: 'SERVER_BUSY', retryAfterSeconds: 1 }, retryAfter: '1' },
    )
  })
}
