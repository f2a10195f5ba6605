// Stored contexts through the API: `contextById`, `Turn.context` and `usedIn`.

import { beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

const FIELDS = `{
  id createdAt asOfSeq goneSourceIds tokenCount tokenBudget truncated stablePrefixTokens
  messages {
    role name content tokenCount sourceIds
    parts { __typename ... on TextPart { text } ... on ToolCallPart { callId name arguments } }
  }
  openai: rendered
  anthropic: rendered(format: ANTHROPIC)
  aiSdk: rendered(format: AI_SDK)
  ui: rendered(format: UI_MESSAGES)
  items { kind sourceIds tokenCount included reason }
}`
const BUILD = `query ($input: BuildContextInput!) {
  buildContext(input: $input) { ... on Context ${FIELDS} ... on UserError { code message } }
}`
const READ = `query ($id: ID!, $as: String) { contextById(id: $id, as: $as) ${FIELDS} }`
const APPEND = `mutation ($input: AppendTurnInput!) {
  appendTurn(input: $input) {
    ... on AppendTurnPayload { turn { id context ${FIELDS} } }
    ... on InvalidInput { message issues { path } }
  }
}`
const TURNS = `query ($ids: [ID!]!, $first: Int, $after: String) {
  nodes(ids: $ids) {
    ... on Turn {
      context { id }
      usedIn(first: $first, after: $after) { edges { cursor node { text } } pageInfo { hasNextPage endCursor } }
    }
  }
}`

describe.each(backends)('stored contexts on $name', (backend) => {
  const { as, newConversation, append } = useClients(backend)
  let conversationId: string
  let source: string
  beforeAll(async () => {
    conversationId = await newConversation(['ada', 'bot'], { systemPrompt: 'Be brief.' })
    source = (await append(conversationId, 'Where are the tulips?')).id
    const parts = [
      { text: 'I look.' },
      { toolCall: { callId: 'c1', name: 'find', arguments: { what: 'tulips', at: 1 } } },
    ]
    await append(conversationId, '', { actor: 'bot', role: 'ASSISTANT', content: undefined, parts })
  })
  const build = async (actor: string): Promise<Answer> =>
    (await as(actor)(BUILD, { input: { conversationId, as: actor, store: true } })).buildContext

  it('are read as they were built, by their actor only', async () => {
    const built = await build('bot')
    expect(built).toMatchObject({ id: expect.stringMatching(/^ctx_/), goneSourceIds: [], tokenBudget: 16_000 })
    const { contextById } = await as('bot')(READ, { id: built.id })
    expect(JSON.stringify(contextById)).toBe(JSON.stringify(built))
    expect((await as('ada')(READ, { id: built.id })).contextById).toBeNull()
    // Without authentication, any client may act as any actor.
    expect((await as('ada')(READ, { id: built.id, as: 'bot' })).contextById).toEqual(built)
    expect((await as('bot')(READ, { id: source })).contextById).toBeNull()
    expect((await as('bot')('query ($id: ID!) { node(id: $id) { id } }', { id: built.id })).node).toBeNull()
  })

  it('are linked with the turns that were generated from them', async () => {
    const replies: string[] = []
    const contexts: string[] = []
    for (const content of ['By the fence.', 'By the pond.', 'In the shed.']) {
      const built = await build('bot')
      const turn = { role: 'ASSISTANT', content, contextId: built.id }
      const { appendTurn } = await as('bot')(APPEND, { input: { conversationId, turn } })
      expect(appendTurn.turn.context).toEqual(built)
      replies.push(appendTurn.turn.id)
      contexts.push(built.id)
    }
    const pageOf = async (actor: string, args: object) =>
      (await as(actor)(TURNS, { ids: [source], ...args })).nodes[0].usedIn
    const textsOf = ({ edges }: Answer) => edges.map(({ node }: Answer) => node.text)
    const first = await pageOf('ada', { first: 2 })
    expect(textsOf(first)).toEqual(['By the fence.', 'By the pond.'])
    expect(first.pageInfo).toEqual({ hasNextPage: true, endCursor: first.edges[1].cursor })
    const second = await pageOf('ada', { first: 2, after: first.pageInfo.endCursor })
    expect(textsOf(second)).toEqual(['In the shed.'])
    expect(second.pageInfo.hasNextPage).toBe(false)
    const contextsFor = async (actor: string) =>
      (await as(actor)(TURNS, { ids: replies })).nodes.map(({ context }: Answer) => context?.id ?? null)
    expect(await contextsFor('bot')).toEqual(contexts)
    expect(await contextsFor('ada')).toEqual([null, null, null])
  })

  it('are named by turns of their actor only', async () => {
    const { id: contextId } = await build('bot')
    const input = { conversationId, turn: { role: 'USER', content: 'Mine.', contextId } }
    expect((await as('ada')(APPEND, { input })).appendTurn).toEqual({
      message: expect.stringContaining('the author has no such stored context in the conversation'),
      issues: [{ path: ['turn', 'contextId'] }],
    })
  })
})
