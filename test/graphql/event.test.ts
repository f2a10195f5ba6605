// Subscriptions as clients send them, on real databases: what of an event each viewer is shown.

import { describe, expect, it } from 'vitest'
import { backends } from '../support/backend.ts'
import { take, useClients, type Answer } from './client.ts'

const FOLLOW = `subscription ($id: ID!, $after: Int, $as: String) {
  conversationEvents(conversationId: $id, after: $after, as: $as) {
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
  const { as, failure, follow, room: makeRoom, say } = useClients(backend)
  const ada = as('ada')
  const BOTH = ['ada', 'bob']

  const write = async (field: string, selection = '__typename') => {
    const data = await ada(`mutation { ${field} { ${selection} ... on Error { message } } }`)
    const [written] = Object.values(data) as Answer[]
    expect(written.message).toBeUndefined()
    return written
  }
  const replace = ({ id }: { id: string }, text: string) =>
    write(`supersedeTurn(input: { turnId: "${id}", turn: { role: USER, content: "${text}" } })`, '... on Turn { id }')
  const events = async (actor: string, room: string, count: number, more: object = { after: 0 }) => {
    const following = await follow(actor, FOLLOW, { id: room, ...more })
    const taken = (await take(following, count)).map(({ conversationEvents }) => conversationEvents)
    await following.return?.()
    return taken
  }

  it("tell a room's journal from a cursor on, each event with what it names", async () => {
    const room = await makeRoom(BOTH)
    const first = await say(room, 'one')
    await replace(first, 'ONE')
    await write(`updateConversation(input: { id: "${room}", title: "Hall" })`)
    await write(`removeParticipant(input: { conversationId: "${room}", actor: "bob" })`)
    const common = { conversationId: room }
    const by = { text: 'ONE' }
    expect(await events('ada', room, 4, { after: 2 })).toEqual([
      { ...common, type: 'TurnAppended', seq: 3, turn: { text: 'one', conversation: { turnCount: 1 } } },
      { ...common, type: 'TurnSuperseded', seq: 4, turn: { text: 'one', supersededBy: by }, by },
      { ...common, type: 'ConversationUpdated', seq: 5, conversation: { title: 'Hall', turnCount: 1 } },
      { ...common, type: 'ParticipantLeft', seq: 6, participant: { actor: 'bob', leftAt: expect.any(String) } },
    ])
    expect(await events('ada', room, 2)).toMatchObject([
      { type: 'ParticipantJoined', seq: 1, participant: { actor: 'ada', unreadCount: 0 } },
      { type: 'ParticipantJoined', seq: 2, participant: { actor: 'bob', unreadCount: 1 } },
    ])
  })

  it('tell what passes, live and without seq, and end with the room', async () => {
    const room = await makeRoom(BOTH)
    const following = await follow('bob', FOLLOW, { id: room })
    const opening = `openTurn(input: { conversationId: "${room}", turn: { role: ASSISTANT } })`
    const open = await write(opening, '... on Turn { id }')
    await write(`appendDelta(input: { turnId: "${open.id}", text: "Hi" })`)
    const seen = await take(following, 2)
    await write(`abortTurn(input: { turnId: "${open.id}", reason: "enough" })`)
    seen.push(...(await take(following, 1)))
    await write(`markRead(input: { conversationId: "${room}", seq: 3 })`)
    seen.push(...(await take(following, 1)))
    await write(`setPresence(input: { conversationId: "${room}", state: AWAY })`)
    seen.push(...(await take(following, 1)))
    await write(`deleteConversation(id: "${room}")`)
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

  it('show each viewer their own view of what an event names', async () => {
    const room = await makeRoom(BOTH)
    await say(room, 'for bob', { audience: ['bob'] })
    await say(room, 'for all')
    expect(await events('bob', room, 2, { after: 2 })).toMatchObject([
      { turn: { text: 'for bob', conversation: { turnCount: 2 } } },
      { turn: { text: 'for all', conversation: { turnCount: 2 } } },
    ])
    const [only] = await events('carol', room, 1, { after: 2 })
    expect(only).toMatchObject({ seq: 4, turn: { text: 'for all', conversation: { turnCount: 1 } } })
    expect(await events('carol', room, 1, { after: 2, as: 'bob' })).toMatchObject([{ turn: { text: 'for bob' } }])
  })

  it('name as superseded the version that the viewer saw before, not one written while they were away', async () => {
    const room = await makeRoom(BOTH)
    const first = await say(room, 'first')
    await write(`removeParticipant(input: { conversationId: "${room}", actor: "bob" })`)
    const second = await replace(first, 'second')
    await write(`addParticipant(input: {
      conversationId: "${room}", participant: { actor: "bob", history: SINCE_JOINED }
    })`)
    await replace(second, 'third')
    const superseded = async (actor: string) => (await events(actor, room, 1, { after: 6 }))[0]
    const [seq, by] = [7, { text: 'third' }]
    expect(await superseded('ada')).toMatchObject({ seq, turn: { text: 'second' }, by })
    expect(await superseded('bob')).toMatchObject({ seq, turn: { text: 'first', supersededBy: by }, by })
  })

  it('leave out the facts that are known from another room by the time they are shown', async () => {
    const [room, other] = [await makeRoom(BOTH), await makeRoom(BOTH)]
    const following = await follow(
      'bob',
      `subscription ($id: ID!) {
      conversationEvents(conversationId: $id) { seq ... on FactsChanged { facts { object } } }
    }`,
      { id: room },
    )
    const know = (conversationId: string, ...objects: string[]) =>
      write(
        `recordFacts(input: {
      conversationId: "${conversationId}"
      facts: [${objects.map((object) => `{ subject: "Ada", predicate: "likes", object: "${object}" }`).join()}]
    })`,
        '... on FactExtraction { facts { id } }',
      )
    await know(room, 'snow', 'ice')
    // It waits to be taken, and is shown only then.
    await new Promise((resolve) => setTimeout(resolve, 200))
    await know(other, 'snow')
    expect(await take(following, 1)).toEqual([{ conversationEvents: { seq: 3, facts: [{ object: 'ice' }] } }])
    await following.return?.()
  })

  it('refuse an unknown room, and a cursor beyond the newest entry', async () => {
    const room = await makeRoom(BOTH)
    const unknown = `conv_${'0'.repeat(26)}`
    expect(await failure(FOLLOW, { id: unknown })).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    expect(await failure(FOLLOW, { id: room, after: 99 })).toMatchObject([
      { path: ['conversationEvents'], extensions: { code: 'INVALID_INPUT', issues: [{ path: ['after'] }] } },
    ])
  })

  it('tell an inbox what changes in any of its rooms', async () => {
    const inbox = await follow(
      'bob',
      `subscription {
      inbox { conversationId reason unreadCount conversation { title turnCount } at }
    }`,
    )
    const next = async () => (await inbox.next()).value.inbox
    const room = await makeRoom(['bob', 'ada'], { title: 'Room' })
    const about = { conversationId: room, at: expect.any(String), conversation: { title: 'Room', turnCount: 0 } }
    expect(await next()).toEqual({ ...about, reason: 'ADDED', unreadCount: 0 })
    await say(room, 'psst', { audience: ['bob'] })
    const conversation = { title: 'Room', turnCount: 1 }
    expect(await next()).toEqual({ ...about, reason: 'TURN', unreadCount: 1, conversation })
    await write(`deleteConversation(id: "${room}")`)
    expect(await next()).toEqual({ ...about, reason: 'DELETED', unreadCount: 0, conversation: null })
    await inbox.return?.()
  })
})
