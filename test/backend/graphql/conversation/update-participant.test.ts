// updateParticipant, pinTurn and unpinTurn as clients send them: their payloads, and the events with equal ids.

import { expect, it, describe } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { take, useClients } from '../client.ts'

describe.each(backends)('updates on $name', (backend) => {
  const { as, follow, newConversation, append } = useClients(backend)
  const ada = as('ada')

  it('of a participant return and announce the object with the same id', async () => {
    const id = await newConversation(['ada', 'bob'], { key: `team ${backend.name}` })
    const following = await follow(
      'bob',
      `subscription ($id: ID!) { conversationEvents(conversationId: $id, types: [PARTICIPANT_UPDATED]) {
        __typename seq ... on ParticipantUpdated { participant { id displayName historyVisibility metadata } } } }`,
      { id },
    )
    const next = take(following, 1)
    const { updateParticipant } = await ada(
      `mutation ($key: String!) { updateParticipant(input: { conversationKey: $key, actor: "bob", displayName: "Bob",
        historyVisibility: SINCE_JOINED, metadata: { team: { id: 1 } }, metadataPatch: null }) {
        ... on UpdateParticipantPayload { participant { id displayName historyVisibility metadata } }
        ... on UserError { code message } } }`,
      { key: `team ${backend.name}` },
    )
    const participant = {
      ...{ id: expect.any(String), displayName: 'Bob', historyVisibility: 'SINCE_JOINED' },
      metadata: { team: { id: 1 } },
    }
    expect(updateParticipant).toEqual({ participant })
    expect(await next).toEqual([
      { conversationEvents: { __typename: 'ParticipantUpdated', seq: 3, participant: updateParticipant.participant } },
    ])
    const { node } = await ada('query ($id: ID!) { node(id: $id) { ... on Participant { displayName metadata } } }', {
      id: updateParticipant.participant.id,
    })
    expect(node).toEqual({ displayName: 'Bob', metadata: { team: { id: 1 } } })
    await following.return?.()
  })

  it('of a pin return and announce the turn with the same id', async () => {
    const id = await newConversation(['ada', 'bob'])
    const turn = await append(id, 'pin me')
    const following = await follow(
      'bob',
      `subscription ($id: ID!) { conversationEvents(conversationId: $id, types: [TURN_UPDATED]) {
        __typename ... on TurnUpdated { turn { id pinned } } } }`,
      { id },
    )
    const events = take(following, 2)
    for (const [verb, pinned] of [
      ['Pin', true],
      ['Unpin', false],
    ] as const) {
      const field = `${verb.toLowerCase()}Turn`
      const answer = await ada(
        `mutation ($id: ID!) { ${field}(input: { turnId: $id, as: "bob" }) {
          ... on ${verb}TurnPayload { turn { id pinned } changed } } }`,
        { id: turn.id },
      )
      expect(answer[field]).toMatchObject({ turn: { id: turn.id, pinned }, changed: true })
      const { conversation } = await ada(
        'query ($id: ID!) { conversation(id: $id) { turns(filter: { pinned: true }) { nodes { id } } } }',
        { id },
      )
      expect(conversation.turns.nodes).toEqual(pinned ? [{ id: turn.id }] : [])
    }
    // An event has the state of its objects at delivery, which may already be that after the second call.
    expect((await events).map(({ conversationEvents }) => conversationEvents.turn.id)).toEqual([turn.id, turn.id])
    await following.return?.()
  })
})
