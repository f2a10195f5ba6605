// GraphQL over WebSocket with the real client: the same results and masked errors as over HTTP, many subscribers to a
// conversation, and the limits of a socket.

import { once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { recordFacts } from '../../../../src/domain/memory/fact/record.ts'
import { setPresence } from '../../../../src/domain/conversation/presence.ts'
import { backends } from '../../../support/backend.ts'
import { subscribed, take, useServer } from '../../../support/server.ts'

const FOLLOW = `subscription Follow($conversationId: ID!, $afterSeq: Int, $as: String) {
  conversationEvents(conversationId: $conversationId, afterSeq: $afterSeq, as: $as) {
    __typename seq
    ... on TurnAppended { turn { text actor } }
    ... on TurnDelta { turnId start end text }
  }
}`

describe.each(backends)('over WebSocket on $name,', (backend) => {
  const server = useServer(backend, { MAX_FRAME_BYTES: '65536' })
  const follow = (client: ReturnType<typeof server.client>, variables: Record<string, unknown>, query = FOLLOW) =>
    client.iterate({ query, variables })

  test('a subscriber receives the journal after its cursor, then live events, each once and in order', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    await tenant.append(conversationId, 'ada', 'one')
    const client = server.client({ 'x-tenant': tenant.name, 'x-actor': 'ada' })
    const reading = take(follow(client, { conversationId, afterSeq: 1 }), 12)
    for (let i = 0; i < 11; i++) await tenant.append(conversationId, 'ada', `more ${i}`)
    const events = await reading
    expect(events.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    expect(events[0].turn).toEqual({ text: 'one', actor: 'ada' })
  })

  test('connectionParams set the viewer, who does not receive turns for another audience', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'eve')
    const readers = ['bob', 'eve'].map((actor) => ({
      actor,
      events: take(
        follow(server.client({ 'X-Tenant': tenant.name, 'X-Actor': actor }), { conversationId, afterSeq: 3 }),
        2,
      ),
    }))
    await tenant.append(conversationId, 'ada', 'canary', { audience: ['bob'] })
    await tenant.append(conversationId, 'ada', 'for all')
    await tenant.append(conversationId, 'ada', 'and more')
    const [bob, eve] = await Promise.all(readers.map(({ events }) => events))
    expect(bob!.map(({ turn }) => turn.text)).toEqual(['canary', 'for all'])
    expect(eve!.map(({ turn }) => turn.text)).toEqual(['for all', 'and more'])
  })

  test('subscribers with equal views share one execution, even with different actors and cursors', async () => {
    const tenant = server.tenant()
    const actors = Array.from({ length: 20 }, (_, i) => `reader-${i}`)
    const conversationId = await tenant.newConversation('ada', ...actors)
    const query = vi.spyOn(server.deps.pool, 'query')
    const reads = vi.spyOn(server.deps.reads.pool, 'query')
    const client = server.client({ 'x-tenant': tenant.name })
    // turn.conversation is read from the database, so each execution sends a statement.
    const WITH_CONVERSATION = FOLLOW.replace('{ text actor }', '{ text actor conversation { title } }')
    const readings = actors.map((as, i) =>
      take(follow(client, { conversationId, afterSeq: i % 2 ? 21 : null, as }, WITH_CONVERSATION), 1),
    )
    await subscribed(query, actors.length)
    query.mockClear()
    await tenant.append(conversationId, 'ada', 'to all')
    const events = await Promise.all(readings)
    expect(events.flat().every(({ turn }) => turn.text === 'to all')).toBe(true)
    const loads = reads.mock.calls.filter(
      ([each]) => (each as unknown as { name?: string }).name === 'read-conversation',
    )
    expect(loads).toHaveLength(1)
    vi.restoreAllMocks()
  })

  test('subscribers share one execution for facts, and facts reach only the audience of their turn', async () => {
    const tenant = server.tenant()
    const actors = Array.from({ length: 10 }, (_, i) => `reader-${i}`)
    const conversationId = await tenant.newConversation('ada', 'bob', ...actors)
    const { id: sourceTurnId } = await tenant.append(conversationId, 'ada', 'psst', { audience: ['bob'] })
    const query = vi.spyOn(server.deps.pool, 'query')
    const client = server.client({ 'x-tenant': tenant.name })
    const readings = [...actors, 'bob'].map((as) =>
      take(
        follow(
          client,
          { conversationId, as },
          `
      subscription Follow($conversationId: ID!, $as: String) {
        conversationEvents(conversationId: $conversationId, as: $as) { seq ... on FactsChanged { facts { object } } }
      }`,
        ),
        as === 'bob' ? 2 : 1,
      ),
    )
    await subscribed(query, readings.length)
    const statements = () =>
      query.mock.calls.filter(([call]) => (call as { name?: string }).name === 'read-facts').length
    const fact = { subject: 'ada', predicate: 'fears' }
    const record = (facts: { object: string; sourceTurnId?: string }[]) =>
      recordFacts(server.deps, tenant.as('ada'), { conversationId, facts: facts.map((each) => ({ ...fact, ...each })) })
    await record([{ object: 'spiders', sourceTurnId }])
    await expect.poll(statements).toBe(2)
    await record([{ object: 'mice', sourceTurnId }, { object: 'rain' }])
    const seen = await Promise.all(readings)
    // recordFacts reads each list once (2). The events need 3 reads: one per event for bob, and one for the other
    // readers together.
    expect(statements()).toBe(2 + 3)
    const facts = (...objects: string[]) => objects.map((object) => ({ object }))
    expect(seen.pop()).toEqual([
      { seq: 14, facts: facts('spiders') },
      { seq: 15, facts: facts('mice', 'rain') },
    ])
    for (const reading of seen) expect(reading).toEqual([{ seq: 15, facts: facts('rain') }])
    query.mockRestore()
  })

  test('a selection that depends on the view is executed for each viewer', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob', 'eve')
    await tenant.append(conversationId, 'ada', 'secret', { audience: ['bob'] })
    await tenant.newConversation('joiner')
    const COUNT = FOLLOW.replace('{ text actor }', '{ text actor conversation { turnCount } }')
    const client = server.client({ 'x-tenant': tenant.name })
    const readings = ['bob', 'eve', 'joiner'].map((as) =>
      take(follow(client, { conversationId, afterSeq: 4, as }, COUNT), 1),
    )
    await tenant.append(conversationId, 'ada', 'open')
    const counts = (await Promise.all(readings)).map(([event]) => event.turn.conversation.turnCount)
    expect(counts).toEqual([2, 1, 1])
  })

  test('a subscriber that stops reading does not delay other subscribers, and misses no event', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const slow = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(slow, 'open')
    const received: { seq: number | null }[] = []
    slow.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.type === 'next') received.push(message.payload.data.conversationEvents)
    })
    slow.send(JSON.stringify({ type: 'connection_init', payload: { 'x-tenant': tenant.name, 'x-actor': 'ada' } }))
    await once(slow, 'message')
    slow.send(
      JSON.stringify({
        id: '1',
        type: 'subscribe',
        payload: { query: FOLLOW, variables: { conversationId, afterSeq: 0 } },
      }),
    )
    await once(slow, 'message')
    expect(received).toHaveLength(1)
    slow.pause()
    const quick = take(follow(server.client({ 'x-tenant': tenant.name }), { conversationId, afterSeq: 1 }), 60)
    for (let i = 0; i < 60; i++) await tenant.append(conversationId, 'ada', `${i} ${'x'.repeat(100_000)}`)
    expect((await quick).map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, i) => i + 2))
    slow.resume()
    while (received.length < 61) await once(slow, 'message')
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: 61 }, (_, i) => i + 1))
    slow.terminate()
  })

  test('deleting a conversation completes its subscriptions', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const events: string[] = []
    const done = (async () => {
      const client = server.client({ 'x-tenant': tenant.name })
      for await (const { data } of follow(client, { conversationId, afterSeq: 0 })) {
        events.push((data as { conversationEvents: { __typename: string } }).conversationEvents.__typename)
      }
    })()
    await expect.poll(() => events.length).toBe(1)
    const { body } = await server.post(
      {
        query: `mutation { deleteConversation(input: { conversationId: "${conversationId}" }) { ... on DeleteConversationPayload { receipt { conversations } } } }`,
      },
      { 'x-tenant': tenant.name },
    )
    expect(body.data.deleteConversation.receipt).toEqual({ conversations: 1 })
    await done
    expect(events).toEqual(['ParticipantJoined', 'ConversationDeleted'])
  })

  test.each([
    ['an unknown conversation', { conversationId: 'conv_01M7Y5XZZZZZZZZZZZZZZZZZZZ' }, 'NOT_FOUND'],
    ['an invalid id', { conversationId: 'x' }, 'INVALID_INPUT'],
  ])('a subscription to %s fails with its code', async (_, variables, code) => {
    const result = await follow(server.client(), variables).next()
    expect(result.value.errors[0].extensions.code).toBe(code)
  })

  test('a cursor beyond the newest entry fails with the seq of that entry', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada')
    const result = await follow(server.client({ 'x-tenant': tenant.name }), { conversationId, afterSeq: 99 }).next()
    expect(result.value.errors[0].message).toContain('the newest entry of the conversation is 1')
  })

  test('queries and mutations work over the socket, with errors masked as over HTTP', async () => {
    const client = server.client({ 'x-tenant': server.tenant().name, 'x-actor': 'ada' })
    const ask = async (query: string) => (await client.iterate({ query }).next()).value
    expect((await ask('{ viewer { actor } }')).data).toEqual({ viewer: { actor: 'ada' } })
    const { query } = server.deps.reads.pool
    server.deps.reads.pool.query = () => Promise.reject(new Error('secret: postgres://u:p@h'))
    const { errors } = await ask('{ conversations { edges { cursor } } }').finally(
      () => (server.deps.reads.pool.query = query),
    )
    expect(errors[0]).toMatchObject({ message: 'Unexpected error.', extensions: { code: 'INTERNAL_SERVER_ERROR' } })
    expect(JSON.stringify(errors)).not.toContain('secret')
  })

  test('an invalid document is rejected without closing the socket', async () => {
    const client = server.client()
    await expect(client.iterate({ query: '{ nonsense' }).next()).rejects.toMatchObject([{ message: /Syntax Error/ }])
    await expect(client.iterate({ query: '{ nonsense }' }).next()).rejects.toMatchObject([{ message: /Cannot query/ }])
    expect((await client.iterate({ query: '{ __typename }' }).next()).value.data).toEqual({ __typename: 'Query' })
  })

  test.each([
    ['from a page of another origin', '/graphql', { origin: 'https://evil.example' }, 403],
    ['on another path', '/elsewhere', {}, 404],
  ])('an upgrade %s is rejected', async (_, path, headers, status) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, 'graphql-transport-ws', { headers })
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
    expect(response.statusCode).toBe(status)
  })

  test('a frame over the limit closes the socket with code 1009', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    socket.send('x'.repeat(65_537))
    expect((await once(socket, 'close'))[0]).toBe(1009)
  })

  test('presence set over a socket becomes OFFLINE when the socket closes', async () => {
    const tenant = server.tenant()
    const conversationId = await tenant.newConversation('ada', 'bob')
    const client = server.client({ 'x-tenant': tenant.name, 'x-actor': 'ada' })
    const PRESENCE = `subscription($conversationId: ID!) {
      conversationEvents(conversationId: $conversationId) { ... on PresenceChanged { state participant { actor } } }
    }`
    const query = vi.spyOn(server.deps.pool, 'query')
    const reading = take(
      follow(server.client({ 'x-tenant': tenant.name, 'x-actor': 'bob' }), { conversationId }, PRESENCE),
      3,
    )
    await subscribed(query, 1)
    query.mockRestore()
    await client
      .iterate({
        query: `mutation { setPresence(input: { conversationId: "${conversationId}", state: TYPING }) { __typename } }`,
      })
      .next()
    await client.dispose()
    const present = async () => (await server.deps.presence.states([conversationId])).get(conversationId)?.size ?? 0
    await expect.poll(present).toBe(0)
    await setPresence(server.deps, tenant.as('bob'), { conversationId, state: 'AWAY' }, null)
    expect(await reading).toEqual([
      { state: 'TYPING', participant: { actor: 'ada' } },
      { state: 'OFFLINE', participant: { actor: 'ada' } },
      { state: 'AWAY', participant: { actor: 'bob' } },
    ])
  })
})

describe.each(backends)('a stopping server, on $name,', (backend) => {
  const server = useServer(backend)

  test('closes its sockets with code 1001, and refuses new connections', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    const closing = once(socket, 'close')
    await server.close()
    expect((await closing)[0]).toBe(1001)
    await expect(fetch(`${server.url}/health`)).rejects.toThrow()
  })
})
