// Summaries through the API, on real databases: policy, compaction, history, events, and views.

import { describe, expect, it } from 'vitest'
import { backends, embedded } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

const FIELDS = 'id level fromPosition toPosition content tokenCount model createdAt conversation { id }'
const SUMMARIZE = `mutation ($input: SummarizeInput!) { summarize(input: $input) {
  __typename ... on SummarizePayload { summary { ${FIELDS} } } ... on UserError { code message } ... on InvalidInput { issues { path } }
} }`
const COMPACT = `mutation ($input: CompactInput!) { compact(input: $input) {
  __typename ... on CompactPayload { summaries { id toPosition } turnsCovered tokensBefore tokensAfter }
  ... on UserError { code message }
} }`
const HISTORY = `query ($id: ID!, $limit: Int, $before: Int, $with: Boolean, $as: String) { conversation(id: $id, as: $as) {
  history(limit: $limit, beforePosition: $before, includeSummaries: $with) {
    __typename ... on Turn { seq text } ... on Summary { fromPosition toPosition }
  }
} }`
const SUMMARIES = `query ($id: ID!) { conversation(id: $id) {
  summary { id toPosition } summarizedThrough { id text } summaries { nodes { id } } lastSeq
} }`

describe.each(backends)('summaries on $name', (backend) => {
  const clients = useClients(backend)
  const { append } = clients
  const [ada, bob] = [clients.as('ada'), clients.as('bob')]

  /**
   * Creates a conversation with `count` turns by ada, from seq 3 on; entries 1 and 2 record that ada and bob joined.
   */
  async function conversationOf(count: number, more: object = {}) {
    const conversationId = await clients.newConversation(['ada', 'bob'], more)
    const turns: Answer[] = []
    for (let n = 1; n <= count; n++) turns.push(await append(conversationId, `This is turn ${n}, about the harbour.`))
    return { conversationId, turns }
  }
  const seqsOf = (entries: { __typename: string; seq?: number; fromPosition?: number; toPosition?: number }[]) =>
    entries.map(({ seq, fromPosition, toPosition }) => seq ?? `${fromPosition}-${toPosition}`)

  it('are readable by node(id) after they are superseded, and null after an edit makes them stale', async () => {
    const { conversationId, turns } = await conversationOf(6)
    const summarize = async (turn: Answer) =>
      (await ada(SUMMARIZE, { input: { conversationId, through: turn.id } })).summarize.summary.id
    const readable = async (id: string) =>
      (await bob(`query ($id: ID!) { node(id: $id) { id ... on Summary { content } } }`, { id })).node !== null
    const [first, second] = [await summarize(turns[1]), await summarize(turns[4])]
    expect([await readable(first), await readable(second)]).toEqual([true, true])
    const edit = `mutation ($id: ID!) {
      supersedeTurn(input: { turnId: $id, turn: { role: USER, content: "edited" } }) { __typename }
    }`
    expect(await ada(edit, { id: turns[3].id })).toEqual({ supersedeTurn: { __typename: 'SupersedeTurnPayload' } })
    expect([await readable(first), await readable(second)]).toEqual([true, false])
  })

  it('are written on demand, and read by id, in the conversation and in its history', async () => {
    const { conversationId, turns } = await conversationOf(6)
    const { summary } = (await ada(SUMMARIZE, { input: { conversationId, through: turns[3].id } })).summarize
    expect(summary).toMatchObject({
      level: 0,
      fromPosition: 3,
      toPosition: 6,
      model: 'extractive',
      conversation: { id: conversationId },
    })
    expect(summary.id).toMatch(/^sum_\w{26}$/)
    expect(summary.content).toContain('ada: This is turn 1, about the harbour.')
    const { conversation } = await bob(SUMMARIES, { id: conversationId })
    expect(conversation).toEqual({
      summary: { id: summary.id, toPosition: 6 },
      summaries: { nodes: [{ id: summary.id }] },
      lastSeq: 9,
      summarizedThrough: { id: turns[3].id, text: 'This is turn 4, about the harbour.' },
    })
    const { node } = await bob(`query ($id: ID!) { node(id: $id) { __typename id ... on Summary { content } } }`, {
      id: summary.id,
    })
    expect(node).toEqual({ __typename: 'Summary', id: summary.id, content: summary.content })
    const history = async (variables: object) =>
      seqsOf((await ada(HISTORY, { id: conversationId, ...variables })).conversation.history)
    expect(await history({})).toEqual([3, 4, 5, 6, 7, 8])
    expect(await history({ with: true })).toEqual(['3-6', 7, 8])
    expect(await history({ with: true, limit: 2 })).toEqual([7, 8])
    expect(await history({ with: true, before: 7 })).toEqual(['3-6'])
    expect(await history({ with: true, before: 3 })).toEqual([])
    // After an edit of the last turn, the seq of the first item on a page is not its position.
    const editLast = `mutation ($id: ID!) {
      supersedeTurn(input: { turnId: $id, turn: { role: USER, content: "edited" } }) {
        ... on SupersedeTurnPayload { turn { seq position } }
      }
    }`
    const { seq, position } = (await ada(editLast, { id: turns[5].id })).supersedeTurn.turn
    expect(seq).toBeGreaterThan(position)
    expect(await history({ with: true, limit: 1 })).toEqual([seq])
    expect(await history({ with: true, limit: 1, before: position })).toEqual([7])
    expect(await history({ with: true, limit: 1, before: 7 })).toEqual(['3-6'])
  })

  it('appear in the history before the turns that they do not cover', async () => {
    const { conversationId } = await conversationOf(2)
    await append(conversationId, 'a secret', { audience: ['bob'] })
    await clients.newConversation(['cy'])
    await append(conversationId, 'The harbour is closed.')
    await ada(SUMMARIZE, { input: { conversationId } })
    const history = async (as: string) =>
      seqsOf((await ada(HISTORY, { id: conversationId, with: true, as })).conversation.history)
    expect(await history('bob')).toEqual(['3-6', 5])
    expect(await history('cy')).toEqual(['3-6'])
  })

  it('are delivered when written, only to viewers who can see all covered turns', async () => {
    const { conversationId } = await conversationOf(3)
    await ada(`mutation ($input: AddParticipantInput!) { addParticipant(input: $input) { __typename } }`, {
      input: { conversationId, participant: { actor: 'late', historyVisibility: 'SINCE_JOINED' } },
    })
    const follow = (actor: string) =>
      clients.follow(
        actor,
        `subscription ($id: ID!, $afterSeq: Int) {
      conversationEvents(conversationId: $id, afterSeq: $afterSeq) {
        __typename seq ... on SummaryWritten { summary { id content conversation { id } } }
        ... on TurnAppended { turn { text } }
      } }`,
        { id: conversationId, afterSeq: 6 },
      )
    const [present, late] = [await follow('bob'), await follow('late')]
    const { summary } = (await ada(SUMMARIZE, { input: { conversationId } })).summarize
    await append(conversationId, 'Next.')
    expect((await present.next()).value.conversationEvents).toEqual({
      __typename: 'SummaryWritten',
      seq: 7,
      summary: { id: summary.id, content: summary.content, conversation: { id: conversationId } },
    })
    expect((await late.next()).value.conversationEvents).toMatchObject({ seq: 8, __typename: 'TurnAppended' })
    const { conversation } = await clients.as('late')(SUMMARIES, { id: conversationId })
    expect(conversation).toMatchObject({ summary: null, summaries: { nodes: [] }, summarizedThrough: null })
    const seen = await clients.as('late')('query ($id: ID!) { node(id: $id) { id } }', { id: summary.id })
    expect(seen).toEqual({ node: null })
  })

  it('have a policy for each conversation, which can be set, changed and reset', async () => {
    const policy = async (conversationId: string) =>
      (
        await ada(
          `query ($id: ID!) { conversation(id: $id) {
      compaction { triggerTurns triggerTokens summarizerModel strategy } } }`,
          { id: conversationId },
        )
      ).conversation.compaction
    const update = (input: object) =>
      ada(
        `mutation ($input: UpdateConversationInput!) {
      updateConversation(input: $input) { __typename ... on InvalidInput { issues { path } } } }`,
        { input },
      )
    const defaults = { triggerTurns: 50, triggerTokens: 8000, summarizerModel: 'extractive', strategy: 'ROLLING' }
    expect(await policy(await clients.newConversation([]))).toEqual(defaults)
    const conversationId = await clients.newConversation([], {
      compaction: { triggerTurns: 9, strategy: 'HIERARCHICAL' },
    })
    expect(await policy(conversationId)).toEqual({ ...defaults, triggerTurns: 9, strategy: 'HIERARCHICAL' })
    await update({ conversationId, compaction: { triggerTurns: null, triggerTokens: 100 } })
    expect(await policy(conversationId)).toEqual({ ...defaults, triggerTokens: 100, strategy: 'HIERARCHICAL' })
    await update({ conversationId, title: 'x' })
    expect((await policy(conversationId)).triggerTokens).toBe(100)
    await update({ conversationId, compaction: null })
    expect(await policy(conversationId)).toEqual(defaults)
    expect((await update({ conversationId, compaction: { summarizerModel: 'gpt-9' } })).updateConversation).toEqual({
      __typename: 'InvalidInput',
      issues: [{ path: ['compaction', 'summarizerModel'] }],
    })
  })

  it('are returned by compact, and counted in the receipt of the deleted conversation', async () => {
    const { conversationId } = await conversationOf(12)
    const { compact } = await ada(COMPACT, { input: { conversationId, policy: { triggerTurns: 6 } } })
    expect(compact).toMatchObject({ __typename: 'CompactPayload', turnsCovered: 6, summaries: [{ toPosition: 8 }] })
    expect(
      (await ada(COMPACT, { input: { conversationId: 'conv_01M7Y6WYY3H46N4VAVA0X8EY1Q' } })).compact,
    ).toMatchObject({ __typename: 'NotFound', code: 'NOT_FOUND' })
    expect(
      (await ada(SUMMARIZE, { input: { conversationId: await clients.newConversation(['ada']) } })).summarize,
    ).toMatchObject({ __typename: 'InvalidInput', issues: [{ path: ['through'] }] })
    const { deleteConversation } = await ada(
      `mutation ($id: ID!) { deleteConversation(input: { conversationId: $id }) {
      ... on DeleteConversationPayload { receipt { summaries turns } } } }`,
      { id: conversationId },
    )
    expect(deleteConversation.receipt).toEqual({ summaries: 1, turns: 12 })
  })
})

describe('an unavailable summarizer', () => {
  const clients = useClients(embedded, {
    summarizer: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: undefined, model: 'far-away' },
  })
  const ada = clients.as('ada')

  it('results in ProviderFailed, and does not affect conversations with the built-in summarizer', async () => {
    const conversationId = await clients.newConversation(['ada'])
    await clients.append(conversationId, 'The harbour is closed.')
    const ask = async () =>
      (
        await ada(
          `mutation ($input: SummarizeInput!) { summarize(input: $input) {
      __typename ... on SummarizePayload { summary { model } } ... on ProviderFailed { code retryable message } } }`,
          { input: { conversationId } },
        )
      ).summarize
    expect(await ask()).toMatchObject({
      __typename: 'ProviderFailed',
      code: 'PROVIDER_FAILED',
      retryable: true,
      message: expect.stringContaining('far-away'),
    })
    const { conversation } = await ada(
      `query ($id: ID!) { conversation(id: $id) {
      compaction { summarizerModel } summaries { nodes { id } } } }`,
      { id: conversationId },
    )
    expect(conversation).toEqual({ compaction: { summarizerModel: 'far-away' }, summaries: { nodes: [] } })
    await ada(`mutation ($input: UpdateConversationInput!) { updateConversation(input: $input) { __typename } }`, {
      input: { conversationId, compaction: { summarizerModel: 'extractive' } },
    })
    expect(await ask()).toEqual({ __typename: 'SummarizePayload', summary: { model: 'extractive' } })
  })
})
