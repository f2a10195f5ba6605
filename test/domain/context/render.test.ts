// The three renderings are valid requests: checked against the types of the published packages at compile time, and
// against the rules of the providers at run time. Cases include tool calls, reasoning, files and several actors.

import type Anthropic from '@anthropic-ai/sdk'
import { modelMessageSchema, type ModelMessage } from 'ai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { renderFrom, type ContextTurn } from '../../../src/domain/context/perspective.ts'
import { piecesOf, render, type Rendered } from '../../../src/domain/context/render.ts'
import { openAiName } from '../../../src/domain/context/render/openai.ts'
import type { Message } from '../../../src/domain/context/message.ts'
import type { ContentPart } from '../../../src/domain/turn/content.ts'
import { casesOf } from '../../support/long.ts'
import { cases, contextOf } from './cases.ts'

let seq = 0
const contextTurn = (actor: string, role: ContextTurn['role'], content: string | ContentPart[]): ContextTurn => ({
  id: `turn_${++seq}`,
  position: seq,
  actor,
  role,
  status: 'COMMITTED',
  tokenCount: 0,
  text: typeof content === 'string' ? content : '',
  parts: typeof content === 'string' ? null : content,
})
const messagesFor = (turns: ContextTurn[], as: string | null = 'bot'): Message[] => {
  nameCalls(turns)
  return renderFrom({ as, needsNames: true, names: new Map() }, turns).map((message) => ({
    kind: 'RECENT',
    reason: '',
    ...message,
  }))
}

const call = (callId: string): ContentPart => ({ type: 'toolCall', callId, name: 'find', arguments: { q: callId } })
const result = (callId: string, value: unknown, callPosition?: number): ContentPart => ({
  type: 'toolResult',
  callId,
  name: 'find',
  result: value,
  callPosition,
})
/** Makes results without a position name the latest earlier call with their callId. */
function nameCalls(turns: readonly ContextTurn[]): void {
  const callers = new Map<string, number>()
  for (const { position, parts } of turns) {
    for (const part of (parts ?? []) as ContentPart[]) {
      if (part.type === 'toolCall') callers.set(part.callId, position)
      if (part.type === 'toolResult') part.callPosition ??= callers.get(part.callId)
    }
  }
}
const reasoning: ContentPart = { type: 'reasoning', reasoning: 'Hm.', signature: 'c2ln' }

describe('a rendering', () => {
  it('has the types that the packages publish', () => {
    expectTypeOf<Rendered['OPENAI']>().toExtend<ChatCompletionMessageParam[]>()
    expectTypeOf<Rendered['ANTHROPIC']>().toExtend<
      Pick<Anthropic.MessageCreateParams, 'messages'> & { system: Anthropic.TextBlockParam[] }
    >()
    expectTypeOf<Rendered['AI_SDK']>().toExtend<ModelMessage[]>()
    const openAi: ChatCompletionMessageParam[] = render([], 'OPENAI')
    const anthropic: Pick<Anthropic.MessageCreateParams, 'messages' | 'system'> = render([], 'ANTHROPIC')
    const aiSdk: ModelMessage[] = render([], 'AI_SDK')
    expect([openAi, anthropic, aiSdk]).toEqual([[], { system: [], messages: [] }, []])
  })

  it('passes the message validation of the AI SDK for any conversation', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        for (const message of render(context.messages, 'AI_SDK')) {
          expect(modelMessageSchema.safeParse(message).error, JSON.stringify(message)).toBeUndefined()
        }
      }),
      { numRuns: casesOf(500) },
    )
  }, 60_000)

  it('satisfies the request rules of OpenAI and Anthropic for any conversation', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        for (const message of render(context.messages, 'OPENAI')) {
          if ('name' in message) expect(message.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
          expect(message.content?.length ?? ('tool_calls' in message && message.tool_calls?.length)).not.toBe(undefined)
        }
        const { system, messages } = render(context.messages, 'ANTHROPIC')
        for (const { content } of messages) {
          expect(content.length).toBeGreaterThan(0)
          for (const block of content) if (block.type === 'text') expect(block.text.trim()).not.toBe('')
          // Results precede the text of the same message.
          const kinds = content.map(({ type }) => type === 'tool_result')
          expect(kinds.indexOf(true)).toBeLessThanOrEqual(0)
        }
        for (const { text } of system) expect(text.trim()).not.toBe('')
      }),
      { numRuns: casesOf(500) },
    )
  }, 60_000)

  it.each([null, 'ada-bot', 'bob-bot'])('gives each of two agents with the same callId its own result, as %s', (as) => {
    const calls = ['ada-bot', 'bob-bot'].map((actor) => contextTurn(actor, 'ASSISTANT', [call('c1')]))
    // The results arrive in the order of the calls, and in the reverse order.
    for (const order of [calls, calls.toReversed()]) {
      const results = order.map(({ actor, position }) =>
        contextTurn('find', 'TOOL', [result('c1', `for ${actor}`, position)]),
      )
      const messages = render(messagesFor([...calls, ...results], as), 'OPENAI')
      const pairs = messages.flatMap((message, index) => {
        const next = messages[index + 1]
        return message.role === 'assistant' && message.tool_calls ? [next?.role === 'tool' ? next.content : null] : []
      })
      expect(pairs).toEqual(as === null ? ['for ada-bot', 'for bob-bot'] : [`for ${as}`])
    }
  })

  it('contains calls, reasoning and files in order, and each result directly after its call', () => {
    const messages = messagesFor([
      contextTurn('ada', 'USER', [
        { type: 'text', text: 'What is this?' },
        { type: 'file', mediaType: 'image/png', url: 'https://x.example/a.png', fileName: null },
        { type: 'file', mediaType: 'application/pdf', url: 'https://x.example/a.pdf', fileName: 'a.pdf' },
      ]),
      contextTurn('bot', 'ASSISTANT', [reasoning, call('c1'), call('c2')]),
      contextTurn('find', 'TOOL', [result('c1', { found: 1 })]),
      contextTurn('eve', 'USER', 'Any news?'),
      contextTurn('find', 'TOOL', [result('c2', 'none')]),
      contextTurn('bot', 'ASSISTANT', 'A cat.'),
    ])
    expect(render(messages, 'OPENAI')).toEqual([
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
          { type: 'text', text: '[file: a.pdf, application/pdf, https://x.example/a.pdf]' },
        ],
      },
      {
        role: 'assistant',
        tool_calls: ['c1', 'c2'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'find', arguments: `{"q":"${id}"}` },
        })),
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"found":1}' },
      { role: 'tool', tool_call_id: 'c2', content: 'none' },
      { role: 'user', name: 'eve', content: 'Any news?' },
      { role: 'assistant', content: 'A cat.' },
    ])
    expect(render(messages, 'ANTHROPIC').messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'ada: What is this?' },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          ...['c1', 'c2'].map((id) => ({ type: 'tool_use', id, name: 'find', input: { q: id } })),
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: '{"found":1}' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'none' },
          { type: 'text', text: 'eve: Any news?' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] },
    ])
    expect(render(messages, 'AI_SDK')[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'c2ln' } } },
        ...['c1', 'c2'].map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 'find', input: { q: id } })),
      ],
    })
    expect(render(messages, 'AI_SDK')[2]).toEqual({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'find', output: { type: 'json', value: { found: 1 } } },
        { type: 'tool-result', toolCallId: 'c2', toolName: 'find', output: { type: 'text', value: 'none' } },
      ],
    })
  })

  it('consists of exactly the pieces that are counted, even if a result is moved', () => {
    const messages = messagesFor([
      contextTurn('bot', 'ASSISTANT', [call('c1')]),
      contextTurn('ada', 'USER', 'Well?'),
      contextTurn('bot', 'ASSISTANT', [call('c2'), result('c2', 1), result('c1', 2)]),
    ])
    const pieces = messages.flatMap((message) => piecesOf(message, 'AI_SDK', new Set()))
    expect(
      render(messages, 'AI_SDK')
        .map((message) => JSON.stringify(message))
        .sort(),
    ).toEqual(pieces.sort())
  })

  it('does not encode arguments again that are stored as text', () => {
    const part: ContentPart = { type: 'toolCall', callId: 'c1', name: 'find', arguments: '{"q": "broken' }
    const [message] = render(messagesFor([contextTurn('bot', 'ASSISTANT', [part])]), 'OPENAI')
    expect(message).toMatchObject({ tool_calls: [{ function: { arguments: '{"q": "broken' } }] })
  })

  it('adds a result to a call that has none', () => {
    const messages = messagesFor([contextTurn('ada', 'USER', 'Look!'), contextTurn('bot', 'ASSISTANT', [call('c1')])])
    expect(render(messages, 'OPENAI').at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'c1' })
    expect(render(messages, 'ANTHROPIC').messages.at(-1)).toMatchObject({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c1' }],
    })
  })

  it('describes the tool use of other participants as text, and omits their reasoning', () => {
    const messages = messagesFor([
      contextTurn('bob', 'ASSISTANT', [reasoning, call('c1')]),
      contextTurn('find', 'TOOL', [result('c1', 'none')]),
    ])
    expect(render(messages, 'OPENAI')).toEqual([
      { role: 'user', name: 'bob', content: '[called find: {"q":"c1"}]' },
      { role: 'user', name: 'find', content: '[find answered: "none"]' },
    ])
  })

  it('starts with a user message for Anthropic, and omits unsigned reasoning', () => {
    const messages = messagesFor([
      contextTurn('bot', 'ASSISTANT', [
        { type: 'reasoning', reasoning: 'Hm.' },
        { type: 'text', text: 'Hi.' },
      ]),
    ])
    expect(render(messages, 'ANTHROPIC').messages.map(({ role, content }) => [role, content.length])).toEqual([
      ['user', 1],
      ['assistant', 1],
    ])
  })

  it.each([
    ['Ada Lovelace', 'Ada_Lovelace'],
    ['bot-1', 'bot-1'],
    ['李雷', /^speaker_[0-9a-f]{8}$/],
    ['x'.repeat(99), 'x'.repeat(64)],
  ])('maps %s to a name that OpenAI accepts', (name, expected) => {
    expect(openAiName(name)).toMatch(expected)
  })
})
