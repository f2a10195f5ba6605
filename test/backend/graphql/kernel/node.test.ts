// Objects by their ids: `node` and `nodes`, for every type that implements Node.

import type { GraphQLInterfaceType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../../../src/graphql/schema.ts'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

describe.each(backends)('an object on $name', (backend) => {
  const clients = useClients(backend)
  const [ada, eve] = [clients.as('ada'), clients.as('eve')]
  const NODES = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }'

  it('is read by its id, whatever its type', async () => {
    const conversationId = await clients.newConversation(['ada', 'bob'], { visibility: 'MEMBERS' })
    await clients.append(conversationId, 'I live in Oslo.')
    const found = await ada(
      `mutation ($id: ID!) {
        extractFacts(input: { conversationId: $id }) { ... on ExtractFactsPayload { facts { __typename id } } }
        summarize(input: { conversationId: $id }) { ... on SummarizePayload { summary { __typename id } } }
        updateSharedState(input: { conversationId: $id, key: "plan/é", value: 1 }) {
          ... on UpdateSharedStatePayload { state { __typename id } }
        }
      }`,
      { id: conversationId },
    )
    const read = await ada(
      `query ($id: ID!) {
        viewer { __typename id }
        conversation(id: $id) {
          __typename id participants { nodes { __typename id } } viewerParticipant { id } lastTurn { __typename id }
        }
      }`,
      { id: conversationId },
    )
    const { participants, viewerParticipant, lastTurn, ...conversation } = read.conversation
    expect(viewerParticipant.id).toBe(participants.nodes[0].id)
    const objects: Answer[] = [
      conversation,
      lastTurn,
      ...participants.nodes,
      ...found.extractFacts.facts,
      found.summarize.summary,
      found.updateSharedState.state,
      read.viewer,
    ]
    const ids = objects.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(await ada(NODES, { ids })).toEqual({ nodes: objects })
    expect(await eve(NODES, { ids })).toEqual({ nodes: ids.map(() => null) })
    for (const object of objects) {
      expect(await ada('query ($id: ID!) { node(id: $id) { __typename id } }', object)).toEqual({ node: object })
    }
    // profile.test.ts, job.test.ts, api-key.test.ts, run.test.ts, approval.test.ts and transfer.test.ts read these.
    const others = ['UserProfile', 'Job', 'ApiKey', 'Run', 'Approval', 'Transfer']
    const types = schema.getPossibleTypes(schema.getType('Node') as GraphQLInterfaceType).map(String)
    expect(new Set([...objects.map(({ __typename }) => __typename), ...others])).toEqual(new Set(types))
  })

  it('is null at its index in the list if it does not exist', async () => {
    const conversationId = await clients.newConversation(['ada'])
    expect(await ada(NODES, { ids: ['nonsense', conversationId, 'view_YQ.YQ'] })).toEqual({
      nodes: [null, { __typename: 'Conversation', id: conversationId }, null],
    })
  })

  it('cannot be requested together with more than 99 other ids', async () => {
    const [error] = await clients.failure(NODES, { ids: Array.from({ length: 101 }, () => 'x') })
    expect(error).toMatchObject({
      extensions: { code: 'INVALID_INPUT' },
      message: expect.stringContaining('at most 100'),
    })
  })
})
