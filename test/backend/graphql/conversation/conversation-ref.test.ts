// Inputs name their conversation by id or by key.

import { isInputObjectType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../../src/graphql/schema.ts'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

it('every input with conversationId has conversationKey', () => {
  const inputs = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .filter((type) => type.getFields().conversationId)
  expect(inputs.length).toBeGreaterThan(15)
  for (const type of inputs) expect(Object.keys(type.getFields()), type.name).toContain('conversationKey')
})

describe.each(backends)('a conversation on $name', (backend) => {
  const clients = useClients(backend)
  const { as } = clients
  const mutate = async (verb: string, input: object, actor = 'ada'): Promise<Answer> => {
    const name = verb[0]!.toUpperCase() + verb.slice(1)
    const document = `mutation ($input: ${name}Input!) { ${verb}(input: $input) {
      __typename ... on UserError { code message } ... on InvalidInput { path }
    } }`
    return (await as(actor)(document, { input }))[verb]
  }
  const turn = { role: 'USER', content: 'The gate is open.' }

  it('is found by its key in every input', async () => {
    const key = { conversationKey: 'by key' }
    await clients.newConversation(['ada', 'bob'], { key: 'by key' })
    const writerToken = '0123456789abcdef'
    const facts = [{ subject: 'ada', predicate: 'likes', object: 'gates' }]
    const calls: [string, object][] = [
      ['updateConversation', { title: 'Gate' }],
      ['appendTurn', { turn }],
      ['appendTurns', { turns: [turn] }],
      ['openTurn', { turn: { role: 'ASSISTANT' }, writerToken }],
      ['addParticipant', { participant: { actor: 'cy' } }],
      ['removeParticipant', { actor: 'cy' }],
      ['markRead', { seq: 2 }],
      ['setPresence', { state: 'TYPING' }],
      ['recordFacts', { facts }],
      ['extractFacts', {}],
      ['reconcileFacts', {}],
      ['summarize', {}],
      ['compact', {}],
    ]
    for (const [verb, more] of calls) {
      const { __typename, message } = await mutate(verb, { ...key, ...more })
      expect(__typename, message).toBe(`${verb[0]!.toUpperCase()}${verb.slice(1)}Payload`)
    }
    const {
      recall,
      buildContext,
      facts: listed,
    } = await as('ada')(
      `query ($key: String!) {
        recall(input: { conversationKey: $key, query: "gate" }) { ... on Recall { hits { score } } }
        buildContext(input: { conversationKey: $key, tokenBudget: 500 }) { ... on Context { messages { content } } }
        facts(filter: { conversationKey: $key }) { edges { node { object } } }
      }`,
      { key: 'by key' },
    )
    expect(recall.hits.length).toBeGreaterThan(0)
    expect(JSON.stringify(buildContext)).toContain('The gate is open.')
    expect(JSON.stringify(listed)).toContain('gates')
    expect((await mutate('deleteConversation', key)).__typename).toBe('DeleteConversationPayload')
  })

  it('is named exactly once', async () => {
    const conversationId = await clients.newConversation(['ada'], { key: 'once' })
    expect(await mutate('appendTurn', { turn })).toMatchObject({ code: 'INVALID_INPUT', path: ['conversationId'] })
    expect(await mutate('appendTurn', { conversationId, conversationKey: 'once', turn })).toMatchObject({
      code: 'INVALID_INPUT',
      path: ['conversationKey'],
    })
    expect(await mutate('appendTurn', { conversationKey: 'unknown', turn })).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('is found by its key in the view of `as`, not in the view of the authenticated actor', async () => {
    await clients.newConversation(['ada', 'bob'], { key: 'closed', visibility: 'MEMBERS' })
    const call = (actor: string) => ({ conversationKey: 'closed', turn, as: actor })
    expect((await mutate('appendTurn', call('bob'), 'gateway')).__typename).toBe('AppendTurnPayload')
    expect((await mutate('appendTurn', call('gateway'), 'gateway')).__typename).toBe('NotFound')
  })
})
