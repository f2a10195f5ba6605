// Agent settings, mentions and the loop guard as clients send and read them.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { take, useClients } from '../client.ts'

const FIELDS = `actor kind respond agent {
  provider model instructions maxTokens tokenBudget tools { name description schema } }`

describe.each(backends)('agents on $name', (backend) => {
  const { as, follow } = useClients(backend)
  const ada = as('ada')
  const create = async (participants: object[], more: object = {}) => {
    const { createConversation } = await ada(
      `mutation ($input: CreateConversationInput!) { createConversation(input: $input) {
        ... on CreateConversationPayload { conversation {
          id maxAgentTurns participants(first: 9) { nodes { ${FIELDS} } } } }
        ... on InvalidInput { issues { path message } } } }`,
      { input: { participants, ...more } },
    )
    return createConversation
  }
  const update = async (input: object) =>
    (
      await ada(
        `mutation ($input: UpdateParticipantInput!) { updateParticipant(input: $input) {
          ... on UpdateParticipantPayload { participant { ${FIELDS} } }
          ... on InvalidInput { issues { path message } } } }`,
        { input },
      )
    ).updateParticipant

  it('have settings, which can be replaced and cleared', async () => {
    const tool = { name: 'search', description: 'Searches.', schema: { type: 'object' } }
    const all = {
      provider: 'echo',
      model: 'm',
      instructions: 'Be brief.',
      maxTokens: 9,
      tokenBudget: 99,
      tools: [tool],
    }
    const { conversation } = await create([{ actor: 'ada' }, { actor: 'bot', respond: 'ADDRESSED', agent: all }])
    expect(conversation.maxAgentTurns).toBe(6)
    expect(conversation.participants.nodes).toEqual([
      { actor: 'ada', kind: 'HUMAN', respond: 'NEVER', agent: null },
      { actor: 'bot', kind: 'AGENT', respond: 'ADDRESSED', agent: all },
    ])
    const bot = { conversationId: conversation.id, actor: 'bot' }
    const less = { provider: 'echo', model: null, instructions: null, maxTokens: null, tokenBudget: null, tools: null }
    expect((await update({ ...bot, agent: { provider: 'echo' } })).participant).toMatchObject({ agent: less })
    expect((await update({ ...bot, displayName: 'Bot' })).participant).toMatchObject({
      respond: 'ADDRESSED',
      agent: less,
    })
    expect((await update({ ...bot, respond: null, agent: null })).participant).toMatchObject({
      respond: 'NEVER',
      agent: null,
    })
  })

  it('are of the kind AGENT, with valid settings', async () => {
    const agent = { provider: 'echo' }
    const kinds = 'is only for participants of kind AGENT; the participant is of kind HUMAN'
    expect(await create([{ actor: 'ada', kind: 'HUMAN', agent }])).toEqual({
      issues: [{ path: ['participants', '0', 'agent'], message: kinds }],
    })
    const { conversation } = await create([{ actor: 'ada' }, { actor: 'bob', respond: 'ALWAYS' }])
    const of = (actor: string, given: object) => ({ conversationId: conversation.id, actor, agent: given })
    expect(await update(of('ada', agent))).toEqual({ issues: [{ path: ['agent'], message: kinds }] })
    expect((await update(of('bob', agent))).participant).toMatchObject({ kind: 'AGENT' })
    const { issues } = await update(of('bob', { provider: '', maxTokens: 0, tools: [{ name: 'a b' }] }))
    expect(issues.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
      'agent.provider',
      'agent.tools.0.name',
      'agent.maxTokens',
    ])
  })

  it('are mentioned, and stopped with an event that names the limit', async () => {
    const { conversation } = await create(
      [
        { actor: 'ada' },
        { actor: 'a', respond: 'MENTIONED' },
        { actor: 'b', displayName: 'Bo B', respond: 'MENTIONED' },
      ],
      { maxAgentTurns: 0 },
    )
    const { id } = conversation
    const following = await follow(
      'ada',
      `subscription ($id: ID!) { conversationEvents(conversationId: $id, types: [TURN_APPENDED, WAKE_UPS_STOPPED]) {
        __typename seq ... on WakeUpsStopped { limit turn { id mentions { actor displayName } } } } }`,
      { id },
    )
    const events = take(following, 2)
    const { appendTurn } = await as('a')(
      `mutation ($id: ID!) { appendTurn(input: { conversationId: $id, turn: { role: ASSISTANT, content: "Hi @\\"bo b\\" and @ada" } }) {
        ... on AppendTurnPayload { lastSeq turn { id mentions { actor displayName } } } } }`,
      { id },
    )
    expect(appendTurn).toEqual({
      lastSeq: 5,
      turn: {
        id: expect.any(String),
        mentions: [
          { actor: 'b', displayName: 'Bo B' },
          { actor: 'ada', displayName: null },
        ],
      },
    })
    expect((await events).map(({ conversationEvents }) => conversationEvents)).toEqual([
      { __typename: 'TurnAppended', seq: 4 },
      { __typename: 'WakeUpsStopped', seq: 5, limit: 0, turn: appendTurn.turn },
    ])
    await following.return?.()
  })
})
