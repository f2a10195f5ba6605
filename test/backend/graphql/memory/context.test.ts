// Contexts through the API: every field, every format, and each error.

import { beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backend.ts'
import { useClients, type Answer } from '../client.ts'

const CONTEXT = `query Context($input: BuildContextInput!) {
  buildContext(input: $input) {
    __typename
    ... on Context {
      messages {
        role name content tokenCount sourceIds
        parts { __typename ... on TextPart { text } ... on ToolCallPart { callId name arguments } }
      }
      openai: rendered
      anthropic: rendered(format: ANTHROPIC)
      aiSdk: rendered(format: AI_SDK)
      ui: rendered(format: UI_MESSAGES)
      tokenCount tokenBudget truncated stablePrefixTokens
      items { kind sourceIds tokenCount included reason }
    }
    ... on UserError { code message }
    ... on InvalidInput { issues { path } }
    ... on BudgetTooSmall { required }
  }
}`

describe.each(backends)('buildContext on $name', (backend) => {
  const { as, newConversation: makeConversation, append } = useClients(backend)
  const ask = async (input: object): Promise<Answer> =>
    (await as('ada')(CONTEXT, { input: { tokenBudget: 1_000, ...input } })).buildContext
  let conversationId: string
  const turns: string[] = []

  beforeAll(async () => {
    conversationId = await makeConversation(['ada', 'bot'], { systemPrompt: 'Be brief.' })
    turns.push((await append(conversationId, 'Where are the tulips?')).id)
    turns.push(
      (
        await append(conversationId, '', {
          actor: 'bot',
          role: 'ASSISTANT',
          content: undefined,
          parts: [{ toolCall: { callId: 'c1', name: 'find', arguments: { what: 'tulips' } } }],
        })
      ).id,
    )
    turns.push(
      (
        await append(conversationId, '', {
          actor: 'find',
          role: 'TOOL',
          content: undefined,
          parts: [{ toolResult: { callId: 'c1', name: 'find', result: 'By the fence.' } }],
        })
      ).id,
    )
  })

  it('returns the messages in every format, and the manifest', async () => {
    const context = await ask({ conversationId, as: 'bot' })
    expect(
      context.messages.map(({ role, name, content, sourceIds }: Answer) => [role, name, content, sourceIds]),
    ).toEqual([
      ['SYSTEM', null, 'Be brief.', []],
      ['USER', 'ada', 'Where are the tulips?', [turns[0]]],
      ['ASSISTANT', null, '', [turns[1]]],
      ['TOOL', 'find', '', [turns[2]]],
    ])
    expect(context.messages[2].parts).toEqual([
      { __typename: 'ToolCallPart', callId: 'c1', name: 'find', arguments: { what: 'tulips' } },
    ])
    expect(context.openai.map(({ role }: Answer) => role)).toEqual(['system', 'user', 'assistant', 'tool'])
    expect(context.anthropic.system).toEqual([{ type: 'text', text: 'Be brief.' }])
    expect(context.anthropic.messages.map(({ role }: Answer) => role)).toEqual(['user', 'assistant', 'user'])
    expect(context.aiSdk.system).toBe('Be brief.')
    expect(context.ui.map(({ id, role }: Answer) => [id, role])).toEqual([
      ['system', 'system'],
      [turns[0], 'user'],
      [turns[1], 'assistant'],
    ])
    expect(context.ui[2].parts).toEqual([
      {
        type: 'dynamic-tool',
        toolName: 'find',
        toolCallId: 'c1',
        state: 'output-available',
        input: { what: 'tulips' },
        output: 'By the fence.',
      },
    ])
    expect(context.aiSdk.messages.at(-1).content[0]).toMatchObject({ type: 'tool-result', toolCallId: 'c1' })
    expect(context).toMatchObject({ __typename: 'Context', tokenBudget: 1_000, truncated: false })
    expect(context.items.map(({ kind, included }: Answer) => [kind, included])).toEqual([
      ['SYSTEM_PROMPT', true],
      ['RECENT', true],
      ['RECENT', true],
      ['RECENT', true],
    ])
    expect(context.tokenCount).toBeGreaterThan(0)
    expect(context.stablePrefixTokens).toBe(context.tokenCount)
  })

  it('includes facts and profiles on request', async () => {
    const withFact = await makeConversation(['ada', 'bot'])
    const { recordFacts } = await as('ada')(
      `mutation ($conversationId: ID!) {
      recordFacts(input: { conversationId: $conversationId, facts: [{ subject: "Ada", predicate: "keeps", object: "bees" }] }) {
        ... on RecordFactsPayload { facts { id } }
      }
    }`,
      { conversationId: withFact },
    )
    const context = await ask({ conversationId: withFact, includeFacts: true, includeProfile: true })
    expect(context.messages).toMatchObject([
      {
        role: 'USER',
        name: 'facts',
        sourceIds: [recordFacts.facts[0].id],
        content: expect.stringContaining('- Ada keeps bees'),
      },
    ])
    expect(context.items.map(({ kind, included }: Answer) => [kind, included])).toEqual([['FACT', true]])
    expect((await ask({ conversationId: withFact })).messages).toEqual([])
  })

  it('returns the required budget if the token budget is too small', async () => {
    const small = await ask({ conversationId, tokenBudget: 1 })
    expect(small).toMatchObject({ __typename: 'BudgetTooSmall', code: 'BUDGET_TOO_SMALL' })
    expect((await ask({ conversationId, tokenBudget: small.required })).__typename).toBe('Context')
  })

  it('returns NotFound for an unknown conversation, and InvalidInput for invalid values', async () => {
    expect(await ask({ conversationId: `conv_${'0'.repeat(26)}` })).toMatchObject({ __typename: 'NotFound' })
    await makeConversation(['elsewhere'])
    for (const [input, path] of [
      [{ tokenBudget: 0 }, ['tokenBudget']],
      [{ recentTurns: -1 }, ['recentTurns']],
      [{ as: 'elsewhere' }, ['as']],
      [{ semanticRecall: { k: 0 } }, ['semanticRecall', 'k']],
    ] as const) {
      expect(await ask({ conversationId, ...input })).toMatchObject({ __typename: 'InvalidInput', issues: [{ path }] })
    }
  })
})
