// Subscriptions as clients send them, on real databases: the events, and the view of each viewer on their objects.

import { parse, type GraphQLEnumType, type GraphQLInterfaceType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { counters } from '../../../../../src/runtime/counters.ts'
import { schema } from '../../../../../src/graphql/schema.ts'
import { selectsOnlyShareable } from '../../../../../src/graphql/kernel/rights/sharing.ts'
import { backends } from '../../../../support/backend.ts'
import { take, useClients, type Answer } from '../../client.ts'
import { WRITER } from '../../../../support/writer.ts'

const FOLLOW = `subscription ($id: ID!, $afterSeq: Int, $as: String) {
  conversationEvents(conversationId: $id, afterSeq: $afterSeq, as: $as) {
    type: __typename conversationId seq
    ... on TurnAppended { turn { text conversation { turnCount } } }
    ... on TurnOpened { turn { status } }
    ... on TurnDelta { turnId start end text }
    ... on TurnCommitted { turn { text parts { __typename } } }
    ... on TurnAborted { turn { text abortReason } }
    ... on TurnSuperseded { turn { text supersededBy { text } } by { text } }
    ... on ParticipantJoined { participant { actor unreadCount } }
    ... on ParticipantLeft { participant { actor leftAt } }
    ... on ParticipantRead { participant { actor lastReadSeq } }
    ... on PresenceChanged { participant { actor } state }
    ... on ConversationUpdated { conversation { title turnCount } }
  }
}`

describe.each(backends)('subscriptions on $name', (backend) => {
  const clients = useClients(backend)
  const { as, failure, follow, newConversation: makeConversation, append } = clients
  const ada = as('ada')
  const BOTH = ['ada', 'bob']

  const write = async (field: string, selection = '__typename') => {
    const data = await ada(`mutation { ${field} { ${selection} ... on UserError { message } } }`)
    const [written] = Object.values(data) as Answer[]
    expect(written.message).toBeUndefined()
    return written
  }
  const replace = async ({ id }: { id: string }, text: string): Promise<{ id: string }> => {
    const edit = `supersedeTurn(input: { turnId: "${id}", turn: { role: USER, content: "${text}" } })`
    return (await write(edit, '... on SupersedeTurnPayload { turn { id } }')).turn
  }
  const events = async (actor: string, conversationId: string, count: number, more: object = { afterSeq: 0 }) => {
    const following = await follow(actor, FOLLOW, { id: conversationId, ...more })
    const taken = (await take(following, count)).map(({ conversationEvents }) => conversationEvents)
    await following.return?.()
    return taken
  }

  it('deliver the journal after a cursor, each event with the objects it refers to', async () => {
    const conversationId = await makeConversation(BOTH)
    const first = await append(conversationId, 'one')
    await replace(first, 'ONE')
    await write(`updateConversation(input: { conversationId: "${conversationId}", title: "Hall" })`)
    await write(`removeParticipant(input: { conversationId: "${conversationId}", actor: "bob" })`)
    const base = { conversationId }
    const by = { text: 'ONE' }
    expect(await events('ada', conversationId, 4, { afterSeq: 2 })).toEqual([
      { ...base, type: 'TurnAppended', seq: 3, turn: { text: 'one', conversation: { turnCount: 1 } } },
      { ...base, type: 'TurnSuperseded', seq: 4, turn: { text: 'one', supersededBy: by }, by },
      { ...base, type: 'ConversationUpdated', seq: 5, conversation: { title: 'Hall', turnCount: 1 } },
      { ...base, type: 'ParticipantLeft', seq: 6, participant: { actor: 'bob', leftAt: expect.any(String) } },
    ])
    expect(await events('ada', conversationId, 2)).toMatchObject([
      { type: 'ParticipantJoined', seq: 1, participant: { actor: 'ada', unreadCount: 0 } },
      { type: 'ParticipantJoined', seq: 2, participant: { actor: 'bob', unreadCount: 1 } },
    ])
  })

  it('deliver ephemeral events without seq, and complete when the conversation is deleted', async () => {
    const conversationId = await makeConversation(BOTH)
    const following = await follow('bob', FOLLOW, { id: conversationId })
    const token = `writerToken: "${WRITER}"`
    const opening = `openTurn(input: { ${token}, conversationId: "${conversationId}", turn: { role: ASSISTANT } })`
    const { turn: open } = await write(opening, '... on OpenTurnPayload { turn { id } }')
    await write(`appendDelta(input: { ${token}, turnId: "${open.id}", text: "Hi" })`)
    const seen = await take(following, 2)
    await write(`abortTurn(input: { ${token}, turnId: "${open.id}", reason: "enough" })`)
    seen.push(...(await take(following, 1)))
    await write(`markRead(input: { conversationId: "${conversationId}", seq: 3 })`)
    seen.push(...(await take(following, 1)))
    await write(`setPresence(input: { conversationId: "${conversationId}", state: AWAY })`)
    seen.push(...(await take(following, 1)))
    await write(`deleteConversation(input: { conversationId: "${conversationId}" })`)
    for await (const event of following) seen.push(event)
    expect(seen.map(({ conversationEvents: { conversationId, ...event } }) => event)).toEqual([
      { type: 'TurnOpened', seq: 3, turn: { status: 'STREAMING' } },
      { type: 'TurnDelta', seq: null, turnId: open.id, start: 0, end: 2, text: 'Hi' },
      { type: 'TurnAborted', seq: 4, turn: { text: 'Hi', abortReason: 'enough' } },
      { type: 'ParticipantRead', seq: null, participant: { actor: 'ada', lastReadSeq: 3 } },
      { type: 'PresenceChanged', seq: null, participant: { actor: 'ada' }, state: 'AWAY' },
      { type: 'ConversationDeleted', seq: null },
    ])
  })

  it('show each viewer their own view of the objects in an event', async () => {
    const conversationId = await makeConversation(BOTH)
    await append(conversationId, 'for bob', { audience: ['bob'] })
    await append(conversationId, 'for all')
    expect(await events('bob', conversationId, 2, { afterSeq: 2 })).toMatchObject([
      { turn: { text: 'for bob', conversation: { turnCount: 2 } } },
      { turn: { text: 'for all', conversation: { turnCount: 2 } } },
    ])
    const [only] = await events('carol', conversationId, 1, { afterSeq: 2 })
    expect(only).toMatchObject({ seq: 4, turn: { text: 'for all', conversation: { turnCount: 1 } } })
  })

  it('resolve the objects of an event in the view of `as`, also for two subscribers to the same event', async () => {
    const conversationId = await makeConversation(BOTH)
    await makeConversation(['eve'])
    await append(conversationId, 'for bob', { audience: ['bob'] })
    const followers = await Promise.all(
      ['bob', 'eve'].map((as) => follow('carol', FOLLOW, { id: conversationId, afterSeq: 3, as })),
    )
    await append(conversationId, 'for all')
    const received = await Promise.all(followers.map((following) => take(following, 1)))
    expect(received.map(([event]) => event.conversationEvents.turn.conversation.turnCount)).toEqual([2, 1])
    for (const following of followers) await following.return?.()
  })

  it('return the superseded version that the viewer saw last, not a version written in their absence', async () => {
    const conversationId = await makeConversation(BOTH)
    const first = await append(conversationId, 'first')
    await write(`removeParticipant(input: { conversationId: "${conversationId}", actor: "bob" })`)
    const second = await replace(first, 'second')
    await write(`addParticipant(input: {
      conversationId: "${conversationId}", participant: { actor: "bob", historyVisibility: SINCE_JOINED }
    })`)
    await replace(second, 'third')
    const superseded = async (actor: string) => (await events(actor, conversationId, 1, { afterSeq: 6 }))[0]
    const [seq, by] = [7, { text: 'third' }]
    expect(await superseded('ada')).toMatchObject({ seq, turn: { text: 'second' }, by })
    expect(await superseded('bob')).toMatchObject({ seq, turn: { text: 'first', supersededBy: by }, by })
  })

  it('deliver a fact even if it is recorded again in another conversation before the delivery', async () => {
    const [conversationId, other] = [await makeConversation(BOTH), await makeConversation(BOTH)]
    const following = await follow(
      'bob',
      `subscription ($id: ID!) {
      conversationEvents(conversationId: $id) { seq ... on FactsChanged { facts { object } } }
    }`,
      { id: conversationId },
    )
    const recordFacts = (conversationId: string, ...objects: string[]) =>
      write(
        `recordFacts(input: {
      conversationId: "${conversationId}"
      facts: [${objects.map((object) => `{ subject: "Ada", predicate: "likes", object: "${object}" }`).join()}]
    })`,
        '... on RecordFactsPayload { facts { id } }',
      )
    const emitted = () => counters.lag.counts.reduce((sum, count) => sum + count, 0)
    const before = emitted()
    await recordFacts(conversationId, 'snow', 'ice')
    // The event is resolved only when the subscriber takes it.
    await expect.poll(emitted).toBe(before + 1)
    await recordFacts(other, 'snow')
    expect(await take(following, 1)).toEqual([
      { conversationEvents: { seq: 3, facts: [{ object: 'snow' }, { object: 'ice' }] } },
    ])
    await following.return?.()
  })

  it('are limited to the selected types, which have the names of the event types', async () => {
    const conversationId = await makeConversation(BOTH)
    await append(conversationId, 'one')
    await write(`updateConversation(input: { conversationId: "${conversationId}", title: "Hall" })`)
    const selecting = `subscription ($id: ID!, $types: [ConversationEventType!]) {
      conversationEvents(conversationId: $id, afterSeq: 0, types: $types) { __typename seq }
    }`
    const following = await follow('ada', selecting, { id: conversationId, types: ['CONVERSATION_UPDATED'] })
    expect(await take(following, 1)).toEqual([{ conversationEvents: { __typename: 'ConversationUpdated', seq: 4 } }])
    await following.return?.()
    expect(await failure(selecting, { id: conversationId, types: [] })).toMatchObject([
      { extensions: { code: 'INVALID_INPUT', issues: [{ path: ['types'] }] } },
    ])
    const values = (schema.getType('ConversationEventType') as GraphQLEnumType).getValues()
    const nameOf = (value: string) => value.toUpperCase().replaceAll('_', '')
    const eventTypes = schema.getPossibleTypes(schema.getType('ConversationEvent') as GraphQLInterfaceType)
    expect([...values.map(({ name }) => nameOf(name)), 'CONVERSATIONDELETED', 'GAP'].sort()).toEqual(
      eventTypes.map(({ name }) => nameOf(name)).sort(),
    )
  })

  it('return the current text in the turn of a delta, with one read, and only if the turn is selected', async () => {
    const conversationId = await makeConversation(BOTH)
    const token = `writerToken: "${WRITER}"`
    const opening = `openTurn(input: { ${token}, conversationId: "${conversationId}", turn: { role: ASSISTANT } })`
    const { turn: open } = await write(opening, '... on OpenTurnPayload { turn { id } }')
    const say = (text: string) => write(`appendDelta(input: { ${token}, turnId: "${open.id}", text: "${text}" })`)
    await say('Hi')
    const query = (selected: string) => `subscription ($id: ID!, $as: String) {
      conversationEvents(conversationId: $id, as: $as, types: [TURN_DELTA]) { ... on TurnDelta { text ${selected} } }
    }`
    const following = await follow('bob', query('turn { id status text actor }'), { id: conversationId })
    const turn = { id: open.id, status: 'STREAMING', actor: 'ada' }
    expect(await take(following, 1)).toEqual([{ conversationEvents: { text: 'Hi', turn: { ...turn, text: 'Hi' } } }])
    await say(', Bob')
    expect(await take(following, 1)).toEqual([
      { conversationEvents: { text: ', Bob', turn: { ...turn, text: 'Hi, Bob' } } },
    ])
    await following.return?.()
    expect(selectsOnlyShareable(schema, parse(query('turn { text }')))).toBe(true)

    const reads = async (selected: string) => {
      const reading = await follow('bob', query(selected), { id: conversationId })
      const statements = await clients.statementsOf(() => take(reading, 1))
      await reading.return?.()
      return statements.filter((name) => name === 'read-turns').length
    }
    expect([await reads('turn { text }'), await reads('')]).toEqual([1, 0])
  })

  it('follow a conversation by its key instead of its id, in the view of `as`', async () => {
    const conversationId = await makeConversation(BOTH, { key: 'followed', visibility: 'MEMBERS' })
    const byKey = `subscription ($id: ID, $key: String, $as: String) {
      conversationEvents(conversationId: $id, conversationKey: $key, as: $as, afterSeq: 0) { conversationId seq }
    }`
    const following = await follow('ada', byKey, { key: 'followed', as: 'bob' })
    expect(await take(following, 1)).toEqual([{ conversationEvents: { conversationId, seq: 1 } }])
    await following.return?.()
    await makeConversation(['outsider'])
    const codes = await Promise.all(
      [{}, { id: conversationId, key: 'followed' }, { key: 'unknown' }, { key: 'followed', as: 'outsider' }].map(
        async (variables) => (await failure(byKey, variables))[0].extensions.code,
      ),
    )
    expect(codes).toEqual(['INVALID_INPUT', 'INVALID_INPUT', 'NOT_FOUND', 'NOT_FOUND'])
  })

  it('reject an unknown conversation, and a cursor beyond the newest entry', async () => {
    const conversationId = await makeConversation(BOTH)
    const unknown = `conv_${'0'.repeat(26)}`
    expect(await failure(FOLLOW, { id: unknown })).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    expect(await failure(FOLLOW, { id: conversationId, afterSeq: 99 })).toMatchObject([
      { path: ['conversationEvents'], extensions: { code: 'INVALID_INPUT', issues: [{ path: ['afterSeq'] }] } },
    ])
  })

  it('deliver the unread conversations of the viewer to the inbox, then the changes of all conversations', async () => {
    const unreadId = await makeConversation(['dora', 'ada'], { title: 'Unread' })
    await append(unreadId, 'not read yet')
    const inbox = await follow(
      'dora',
      `subscription {
      inbox { conversationId reason unreadCount conversation { title turnCount } at }
    }`,
    )
    const next = async () => (await inbox.next()).value.inbox
    expect(await next()).toEqual({
      conversationId: unreadId,
      reason: 'UNREAD',
      unreadCount: 1,
      conversation: { title: 'Unread', turnCount: 1 },
      at: expect.any(String),
    })
    const conversationId = await makeConversation(['dora', 'ada'], { title: 'Conversation' })
    const base = { conversationId, at: expect.any(String), conversation: { title: 'Conversation', turnCount: 0 } }
    expect(await next()).toEqual({ ...base, reason: 'ADDED', unreadCount: 0 })
    await append(conversationId, 'psst', { audience: ['dora'] })
    const conversation = { title: 'Conversation', turnCount: 1 }
    expect(await next()).toEqual({ ...base, reason: 'APPENDED', unreadCount: 1, conversation })
    await write(`deleteConversation(input: { conversationId: "${conversationId}" })`)
    expect(await next()).toEqual({ ...base, reason: 'DELETED', unreadCount: 0, conversation: null })
    await inbox.return?.()
  })
})
