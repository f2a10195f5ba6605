// `asOf` through the API: what each field answers about the past, and what it refuses.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { momentAfter } from '../../../support/moment.ts'
import { useClients } from '../client.ts'

const CONVERSATION = `query ($id: ID, $key: String, $asOf: AsOf) { conversation(id: $id, key: $key, asOf: $asOf) {
  lastSeq turnCount systemPrompt
  turns(first: 50) { nodes { text supersededBy { text } } }
  history { ... on Turn { text pinned } }
  facts { nodes { object supersededBy { object } } }
} }`
const ONLY_TURNS = 'query ($id: ID, $asOf: AsOf) { conversation(id: $id, asOf: $asOf) { turns { nodes { text } } } }'
const FACTS = 'query ($filter: FactFilter, $asOf: AsOf) { facts(filter: $filter, asOf: $asOf) { nodes { object } } }'
const PROFILE = 'query ($asOf: AsOf) { userProfile(userId: "ada", asOf: $asOf) { content } }'
const ERRORS = '... on UserError { code message } ... on InvalidInput { issues { path message } }'
const RECALL = `query ($input: RecallInput!) { recall(input: $input) {
  ... on Recall { hits { memory { ... on Turn { text supersededBy { text } } } } pageInfo { endCursor } } ${ERRORS} } }`
const CONTEXT = `query ($input: BuildContextInput!) { buildContext(input: $input) {
  ... on Context { asOfSeq messages { content } } ${ERRORS} } }`
const mutation = (field: string, payload: string) => {
  const type = `${field[0]!.toUpperCase()}${field.slice(1)}`
  return `mutation ($input: ${type}Input!) { ${field}(input: $input) {
    ... on ${type}Payload { ${payload} } ... on UserError { code message } } }`
}

describe.each(backends)('asOf on $name', (backend) => {
  const clients = useClients(backend)
  const ada = clients.as('ada')

  const now = async () => (await momentAfter(clients.deps)).toISOString()

  /** Writes a conversation, and changes all of it after `then`, which is the entry `seq`. */
  async function changed() {
    const conversationId = await clients.newConversation(['ada', 'bob'], { systemPrompt: 'Be brief.' })
    const { id: turnId } = await clients.append(conversationId, 'I live in Rome, near the harbour.')
    await ada(mutation('recordFacts', 'facts { id }'), {
      input: { conversationId, facts: [{ subject: 'ada', predicate: 'lives in', object: 'Rome' }] },
    })
    await ada(mutation('refreshUserProfile', 'userProfile { content }'), { input: { userId: 'ada' } })
    const { seq } = await clients.append(conversationId, 'The harbour is small.')
    const then = await now()
    const edit = { turnId, turn: { role: 'USER', content: 'I live in Oslo, far from the harbour.' } }
    await ada(mutation('supersedeTurn', 'turn { id }'), { input: edit })
    await ada(mutation('pinTurn', 'turn { id }'), { input: { turnId } })
    await clients.append(conversationId, 'A ferry comes to the harbour.')
    await ada(mutation('updateConversation', 'conversation { id }'), {
      input: { conversationId, systemPrompt: 'Be verbose.' },
    })
    await ada(mutation('recordFacts', 'facts { id }'), {
      input: { conversationId, facts: [{ subject: 'ada', predicate: 'lives in', object: 'Oslo' }] },
    })
    await ada(mutation('reconcileFacts', 'kept'), { input: { userId: 'ada' } })
    await ada(mutation('refreshUserProfile', 'userProfile { content }'), { input: { userId: 'ada' } })
    return { conversationId, then, seq }
  }

  it('answers all fields of a conversation, by time and by journal number', async () => {
    const { conversationId: id, then, seq } = await changed()
    const expected = {
      conversation: {
        lastSeq: seq,
        turnCount: 2,
        systemPrompt: 'Be brief.',
        turns: {
          nodes: [
            { text: 'I live in Rome, near the harbour.', supersededBy: null },
            { text: 'The harbour is small.', supersededBy: null },
          ],
        },
        history: [
          { text: 'I live in Rome, near the harbour.', pinned: false },
          { text: 'The harbour is small.', pinned: false },
        ],
        facts: { nodes: [{ object: 'Rome', supersededBy: null }] },
      },
    }
    expect(await ada(CONVERSATION, { id, asOf: { time: then } })).toEqual(expected)
    expect(await ada(CONVERSATION, { id, asOf: { seq } })).toEqual(expected)
    expect(await ada(ONLY_TURNS, { id, asOf: { seq } })).toEqual({
      conversation: { turns: { nodes: expected.conversation.turns.nodes.map(({ text }) => ({ text })) } },
    })
    expect((await ada(CONVERSATION, { id })).conversation).toMatchObject({ turnCount: 3, systemPrompt: 'Be verbose.' })
  })

  it('answers facts, profiles, recalls and contexts', async () => {
    const { conversationId, then, seq } = await changed()
    const asOf = { time: then }
    const filter = { conversationId }
    expect((await ada(FACTS, { filter, asOf })).facts.nodes).toEqual([{ object: 'Rome' }])
    expect((await ada(FACTS, { filter, asOf: { seq } })).facts.nodes).toEqual([{ object: 'Rome' }])
    expect((await ada(FACTS, { filter })).facts.nodes).toEqual([{ object: 'Oslo' }])
    expect((await ada(PROFILE, { asOf })).userProfile.content).toContain('Rome')
    expect((await ada(PROFILE)).userProfile.content).toContain('Oslo')
    const search = { conversationId, query: 'the harbour', kinds: ['TURN'] }
    const { recall } = await ada(RECALL, { input: { ...search, asOf } })
    expect(recall.hits.map(({ memory }: any) => memory)).toEqual(
      expect.arrayContaining([
        { text: 'I live in Rome, near the harbour.', supersededBy: null },
        { text: 'The harbour is small.', supersededBy: null },
      ]),
    )
    expect(recall.hits).toHaveLength(2)
    const { buildContext } = await ada(CONTEXT, {
      input: { conversationId, tokenBudget: 1000, includeFacts: true, includeProfile: true, asOf: { seq } },
    })
    expect(buildContext.asOfSeq).toBe(seq)
    const text = buildContext.messages.map(({ content }: any) => content).join('\n')
    expect(text).toContain('Be brief.')
    expect(text).toContain('Rome')
    expect(text).not.toMatch(/Oslo|ferry|verbose/)
  })

  it('is null before the conversation was created', async () => {
    const before = await now()
    const { conversationId: id } = await changed()
    expect(await ada(CONVERSATION, { id, asOf: { time: before } })).toEqual({ conversation: null })
    expect((await ada(FACTS, { filter: { conversationId: id }, asOf: { time: before } })).facts.nodes).toEqual([])
    const input = { conversationId: id, tokenBudget: 500, asOf: { time: before } }
    expect((await ada(CONTEXT, { input })).buildContext).toMatchObject({ code: 'NOT_FOUND' })
    expect((await ada(CONVERSATION, { id, asOf: { seq: 0 } })).conversation.turns.nodes).toEqual([])
  })

  it('refuses a moment in the future, both or neither of its fields, and a number without its conversation', async () => {
    const { conversationId } = await changed()
    const issues = async (asOf: object, more: object = { conversationId }) =>
      (await ada(RECALL, { input: { query: 'harbour', ...more, asOf } })).recall.issues
    const path = ['asOf', 'time']
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    expect(await issues({ time: tomorrow })).toEqual([
      { path, message: expect.stringMatching(/^is in the future; .* at most 20/) },
    ])
    expect(await issues({ seq: 1_000 })).toEqual([
      {
        path: ['asOf', 'seq'],
        message: expect.stringMatching(/^is 1000; the newest entry of the conversation is \d+$/),
      },
    ])
    expect(await issues({ seq: 1, time: tomorrow })).toEqual([{ path: ['asOf'], message: 'give either time or seq' }])
    expect(await issues({})).toEqual([{ path: ['asOf'], message: 'give either time or seq' }])
    expect(await issues({ seq: 1 }, { scope: 'TENANT' })).toEqual([
      { path: ['asOf', 'seq'], message: expect.stringContaining('requires a conversation') },
    ])
    await expect(ada(PROFILE, { asOf: { seq: 1 } })).rejects.toThrow('requires a conversation')
    await expect(ada(FACTS, { asOf: { time: tomorrow } })).rejects.toThrow('is in the future')
  })

  it('finds no conversation that the viewer does not see, by its journal', async () => {
    const conversationId = await clients.newConversation(['ada'], { visibility: 'MEMBERS' })
    const { seq } = await clients.append(conversationId, 'For members only.')
    const asOf = { seq }
    const bob = clients.as('bob')
    expect(await bob(CONVERSATION, { id: conversationId, asOf })).toEqual({ conversation: null })
    const input = { conversationId, query: 'members', asOf }
    expect((await bob(RECALL, { input })).recall).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('stores no context, and refuses a cursor of another moment', async () => {
    const { conversationId, then } = await changed()
    const context = { conversationId, tokenBudget: 500, store: true, asOf: { time: then } }
    expect((await ada(CONTEXT, { input: context })).buildContext.issues).toEqual([
      { path: ['store'], message: expect.stringContaining('must be false') },
    ])
    const search = { conversationId, query: 'the harbour', k: 1 }
    const { endCursor } = (await ada(RECALL, { input: search })).recall.pageInfo
    const input = { ...search, after: endCursor, asOf: { time: then } }
    expect((await ada(RECALL, { input })).recall.issues).toEqual([{ path: ['after'], message: expect.any(String) }])
    const first = (await ada(RECALL, { input: { ...search, asOf: { time: then } } })).recall
    const second = { ...search, after: first.pageInfo.endCursor, asOf: { time: then } }
    expect((await ada(RECALL, { input: second })).recall.hits).toHaveLength(1)
  })

  it('must be the only root field of its operation', async () => {
    const { conversationId, then } = await changed()
    const two = `query ($id: ID, $asOf: AsOf) {
      conversation(id: $id, asOf: $asOf) { lastSeq } facts { nodes { object } } }`
    await expect(ada(two, { id: conversationId, asOf: { time: then } })).rejects.toThrow('no other root field')
    const typed =
      'query ($id: ID, $asOf: AsOf) { __typename ... on Query { conversation(id: $id, asOf: $asOf) { lastSeq } } }'
    expect((await ada(typed, { id: conversationId, asOf: { time: then } })).conversation.lastSeq).toBeGreaterThan(0)
  })
})
