// The API of runs: the payloads, the events of the conversation and of one run, and the errors of a result union.

import { describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { createScriptedProvider, gate } from '../../../support/scripted-provider.ts'
import { take, useClients } from '../client.ts'

const RUN = '__typename id state actor startedBy provider model version error { code message retryable }'
const RUN_TURN = `mutation ($input: RunTurnInput!) {
  runTurn(input: $input) {
    ... on RunTurnPayload {
      run { ${RUN} tokenUsage { prompt completion total } replyTo { text } replies { text role status }
            calls { round attempts isEstimated finishReason errorCode reply { text } tokenUsage { total } } }
      turns { text }
    }
    ... on UserError { __typename code message }
  }
}`

describe.each(backends)('runs on $name', (backend) => {
  const provider = createScriptedProvider()
  const clients = useClients(backend, { providers: { scripted: provider } })
  const { as, failure, follow, newConversation } = clients
  const ada = as('ada')
  const input = (conversationId: string, more: object = {}) => ({
    input: { conversationId, actor: 'bot', provider: 'scripted', turns: [{ role: 'USER', content: 'Who?' }], ...more },
  })

  it('return the run with its turns, calls and tokens', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    provider.next(['Me.'])
    const { runTurn } = await ada(RUN_TURN, input(conversationId))
    expect(runTurn).toMatchObject({
      run: {
        state: 'COMPLETED',
        actor: 'bot',
        startedBy: 'ada',
        error: null,
        tokenUsage: { prompt: 10, completion: 5, total: 15 },
        replyTo: { text: 'Who?' },
        replies: [{ text: 'Me.', role: 'ASSISTANT', status: 'COMMITTED' }],
        calls: [{ round: 1, attempts: 1, isEstimated: false, reply: { text: 'Me.' }, tokenUsage: { total: 15 } }],
      },
      turns: [{ text: 'Who?' }],
    })
    const { conversation, run, node } = await ada(
      `query ($id: ID!, $run: ID!) {
        conversation(id: $id) {
          tokenUsage { total } runs { nodes { id } edges { cursor } }
          participants { nodes { actor tokenUsage { total } } }
        }
        run(id: $run) { ${RUN} }
        node(id: $run) { __typename id }
      }`,
      { id: conversationId, run: runTurn.run.id },
    )
    expect(conversation).toMatchObject({ tokenUsage: { total: 15 }, runs: { nodes: [{ id: run.id }] } })
    expect(conversation.participants.nodes).toContainEqual({ actor: 'bot', tokenUsage: { total: 15 } })
    expect(node).toEqual({ __typename: 'Run', id: run.id })
  })

  it('are among the answers that the conversation waits for', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    const { pause, open } = gate()
    provider.next([pause, 'Me.'])
    const { runTurn } = await ada(RUN_TURN, input(conversationId, { wait: false }))
    const read = `query ($id: ID!) {
      conversation(id: $id) { pendingAnswers { actor participant { kind } turn { text } run { id state } } }
    }`
    const { conversation } = await ada(read, { id: conversationId })
    expect(conversation.pendingAnswers).toEqual([
      {
        actor: 'bot',
        participant: { kind: 'HUMAN' },
        turn: { text: 'Who?' },
        run: { id: runTurn.run.id, state: 'RUNNING' },
      },
    ])
    open()
    await expect.poll(async () => (await ada(read, { id: conversationId })).conversation.pendingAnswers).toEqual([])
  })

  it('of a private turn are hidden from others, and so are their tokens', async () => {
    const conversationId = await newConversation(['ada', 'bob', 'bot'])
    const turns = [{ role: 'USER', content: 'Psst', audience: ['bot'] }]
    const { runTurn } = await ada(RUN_TURN, input(conversationId, { turns }))
    const read = `query ($id: ID!, $run: ID!) {
      run(id: $run) { id } node(id: $run) { id }
      conversation(id: $id) { runs { nodes { id } } tokenUsage { total } }
    }`
    const variables = { id: conversationId, run: runTurn.run.id }
    expect(await as('bob')(read, variables)).toEqual({
      run: null,
      node: null,
      conversation: { runs: { nodes: [] }, tokenUsage: { total: 0 } },
    })
    expect(await ada(read, variables)).toMatchObject({ run: { id: runTurn.run.id } })
    const events = await follow(
      'bob',
      `subscription ($id: ID!) { conversationEvents(conversationId: $id, afterSeq: 0) { __typename seq } }`,
      { id: conversationId },
    )
    const received = (await take(events, 3)).map(({ conversationEvents }) => conversationEvents.__typename)
    expect(received).toEqual(['ParticipantJoined', 'ParticipantJoined', 'ParticipantJoined'])
    await events.return?.()
  })

  it('send events to subscribers of the conversation, in order', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    await ada(RUN_TURN, input(conversationId))
    const events = await follow(
      'ada',
      `subscription ($id: ID!) {
        conversationEvents(conversationId: $id, afterSeq: 2) { __typename ... on RunChanged { run { state } } }
      }`,
      { id: conversationId },
    )
    expect((await take(events, 5)).map(({ conversationEvents }) => conversationEvents)).toEqual([
      { __typename: 'TurnAppended' },
      { __typename: 'RunStarted' },
      { __typename: 'TurnOpened' },
      { __typename: 'TurnCommitted' },
      { __typename: 'RunChanged', run: { state: 'COMPLETED' } },
    ])
    await events.return?.()
  })

  it('regenerate a reply, as a newer version that is streamed', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    provider.next(['In Hull.'], ['In York.'])
    await ada(RUN_TURN, input(conversationId))
    const { conversation } = await ada(
      `query ($id: ID!) { conversation(id: $id) { lastSeq turns { nodes { id text } } } }`,
      { id: conversationId },
    )
    const supersedes = conversation.turns.nodes[1].id
    const events = await follow(
      'ada',
      `subscription ($id: ID!, $after: Int!) {
        conversationEvents(conversationId: $id, afterSeq: $after, types: [TURN_SUPERSEDED, TURN_DELTA, TURN_COMMITTED]) {
          __typename
          ... on TurnSuperseded { turn { text } by { version supersedes { id } } }
          ... on TurnDelta { start }
          ... on TurnCommitted { turn { text isEdited } }
        }
      }`,
      { id: conversationId, after: conversation.lastSeq },
    )
    const { runTurn } = await ada(RUN_TURN, { input: { conversationId, supersedes, provider: 'scripted' } })
    expect(runTurn.run).toMatchObject({ state: 'COMPLETED', actor: 'bot', replyTo: { text: 'Who?' } })
    expect(runTurn.run.replies).toMatchObject([{ text: 'In York.' }])
    const received = []
    while (received.at(-1)?.__typename !== 'TurnCommitted') {
      received.push((await take(events, 1))[0].conversationEvents)
    }
    expect(received).toMatchObject([
      { __typename: 'TurnSuperseded', turn: { text: 'In Hull.' }, by: { version: 2, supersedes: { id: supersedes } } },
      { __typename: 'TurnDelta', start: 0 },
      { __typename: 'TurnCommitted', turn: { text: 'In York.', isEdited: true } },
    ])
    await events.return?.()
    const { runTurn: refused } = await ada(RUN_TURN, { input: { conversationId, supersedes, provider: 'scripted' } })
    expect(refused).toMatchObject({ __typename: 'Conflict', message: expect.stringContaining('already superseded') })
    const { runTurn: invalid } = await ada(RUN_TURN, { input: { conversationId, supersedes, replyTo: supersedes } })
    expect(invalid).toMatchObject({ __typename: 'InvalidInput', message: expect.stringContaining('replyTo') })
  })

  it('are followed to their end by runEvents', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    const { pause, open } = gate()
    provider.next([pause, 'Done.'])
    const { runTurn } = await ada(RUN_TURN, input(conversationId, { wait: false }))
    expect(runTurn.run.state).toBe('RUNNING')
    const events = await follow(
      'ada',
      `subscription ($id: ID!) { runEvents(runId: $id) { state calls { errorCode } tokenUsage { total } } }`,
      { id: runTurn.run.id },
    )
    const [first] = await take(events, 1)
    expect(first.runEvents).toMatchObject({ state: 'RUNNING', tokenUsage: { total: 0 } })
    open()
    let last = first
    for await (const event of events) last = event
    expect(last.runEvents).toEqual({ state: 'COMPLETED', calls: [{ errorCode: null }], tokenUsage: { total: 15 } })
  })

  it('fail with NOT_FOUND for an unknown agent, provider or run id', async () => {
    const conversationId = await newConversation(['ada', 'bot'])
    for (const more of [{ actor: 'nobody' }, { provider: 'nothing' }]) {
      const { runTurn } = await ada(RUN_TURN, input(conversationId, more))
      expect(runTurn).toMatchObject({ __typename: 'NotFound', code: 'NOT_FOUND' })
    }
    const runId = `run_${'0'.repeat(26)}`
    const [error] = await failure('subscription ($id: ID!) { runEvents(runId: $id) { id } }', { id: runId })
    expect(error).toMatchObject({ extensions: { code: 'NOT_FOUND' } })
  })
})
