// The renderings are valid requests: checked against the types of the published packages at compile time, and
// against the rules of the providers at run time. Cases include tool calls, reasoning, files and several actors.

import type Anthropic from '@anthropic-ai/sdk'
import {
  convertToModelMessages,
  generateText,
  modelMessageSchema,
  safeValidateUIMessages,
  type ModelMessage,
  type Prompt,
  type UIMessage,
} from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { renderFrom, type ContextTurn } from '../../../../../src/domain/memory/context/perspective.ts'
import { toAiSdkModelPrompt } from '../../../../../src/domain/memory/context/render/ai-sdk.ts'
import { piecesOf, render, type Rendered } from '../../../../../src/domain/memory/context/render.ts'
import type { UiMessage } from '../../../../../src/domain/memory/context/render/ui.ts'
import { openAiName } from '../../../../../src/providers/openai/chat-request.ts'
import type { Message } from '../../../../../src/domain/memory/context/message.ts'
import type { ContentPart } from '../../../../../src/domain/turn/content.ts'
import { casesOf } from '../../../../support/long.ts'
import { cases, contextOf, tokensOfJson } from './cases.ts'

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
    expectTypeOf<Rendered['AI_SDK']>().toExtend<Prompt>()
    expectTypeOf<Rendered['UI_MESSAGES']>().toExtend<UIMessage<UiMessage['metadata'], { json: unknown }>[]>()
    const openAi: ChatCompletionMessageParam[] = render([], 'OPENAI')
    const anthropic: Pick<Anthropic.MessageCreateParams, 'messages' | 'system'> = render([], 'ANTHROPIC')
    const aiSdk: Prompt = render([], 'AI_SDK')
    const ui: UIMessage[] = render([], 'UI_MESSAGES')
    expect([openAi, anthropic, aiSdk, ui]).toEqual([[], { system: [], messages: [] }, { messages: [] }, []])
  })

  it('passes the message validation of the AI SDK for any conversation', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        const { system, messages } = render(context.messages, 'AI_SDK')
        for (const message of messages) {
          expect(modelMessageSchema.safeParse(message).error, JSON.stringify(message)).toBeUndefined()
          expect(message.role).not.toBe('system')
        }
        expect(system ?? '').toBe(
          render(context.messages, 'ANTHROPIC')
            .system.map(({ text }) => text)
            .join('\n\n'),
        )
      }),
      { numRuns: casesOf(500) },
    )
  })

  it('passes the UI message validation of the AI SDK, and its conversion keeps the token count', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        const ui = render(context.messages, 'UI_MESSAGES')
        expect(new Set(ui.map(({ id }) => id)).size).toBe(ui.length)
        if (ui.length === 0) return
        const checked = await safeValidateUIMessages({ messages: ui })
        expect(checked.success ? null : checked.error).toBe(null)
        const converted = await convertToModelMessages(ui, { ignoreIncompleteToolCalls: true })
        for (const message of converted) {
          expect(modelMessageSchema.safeParse(message).error, JSON.stringify(message)).toBeUndefined()
        }
        expect(tokensOfJson(converted)).toBeLessThanOrEqual(context.tokenCount)
      }),
      { numRuns: casesOf(500) },
    )
  })

  it('gives the same calls and results to a model as UI messages that the AI SDK converts', async () => {
    const toolUse = (messages: readonly ModelMessage[]) =>
      messages.flatMap(({ content }) =>
        typeof content === 'string'
          ? []
          : content.flatMap((part): unknown[] =>
              part.type === 'tool-call'
                ? [[part.toolCallId, part.toolName, part.input]]
                : part.type === 'tool-result'
                  ? // The server refuses a result with another name than its call's; the random cases have some.
                    [[part.toolCallId, part.output]]
                  : [],
            ),
      )
    const isAnswer = ({ output }: { output?: { value?: unknown } }) =>
      !/the call was not answered/.test(JSON.stringify(output?.value ?? ''))
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        const { messages } = render(context.messages, 'AI_SDK')
        const answered = messages.map((message) =>
          message.role === 'tool' ? { ...message, content: message.content.filter(isAnswer) } : message,
        )
        const converted = await convertToModelMessages(render(context.messages, 'UI_MESSAGES'))
        expect(toolUse(converted)).toEqual(toolUse(answered as ModelMessage[]))
      }),
      { numRuns: casesOf(300) },
    )
  })

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
  })

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
    expect(render(messages, 'AI_SDK').messages[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'c2ln' } } },
        ...['c1', 'c2'].map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 'find', input: { q: id } })),
      ],
    })
    expect(render(messages, 'AI_SDK').messages[2]).toEqual({
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'find', output: { type: 'json', value: { found: 1 } } },
        { type: 'tool-result', toolCallId: 'c2', toolName: 'find', output: { type: 'text', value: 'none' } },
      ],
    })
  })

  it('has the instructions in `system` for the AI SDK, and no `system` without instructions', () => {
    const messages = messagesFor([
      contextTurn('ada', 'SYSTEM', 'Be brief.'),
      contextTurn('ada', 'USER', 'Hi.'),
      contextTurn('ada', 'SYSTEM', 'Be kind.'),
    ])
    expect(render(messages, 'AI_SDK')).toEqual({
      system: 'Be brief.\n\nBe kind.',
      messages: [{ role: 'user', content: 'ada: Hi.' }],
    })
    expect(render(messages.slice(1, 2), 'AI_SDK')).toEqual({ messages: [{ role: 'user', content: 'ada: Hi.' }] })
  })

  it('is a prompt that the AI SDK accepts without a warning', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const model = new MockLanguageModelV3({
      doGenerate: {
        content: [{ type: 'text', text: 'Hello.' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      },
    })
    const turns = [
      contextTurn('ada', 'SYSTEM', 'Be brief.'),
      contextTurn('ada', 'USER', 'Hi.'),
      contextTurn('bot', 'ASSISTANT', [call('c1')]),
      contextTurn('find', 'TOOL', [result('c1', 'none')]),
    ]
    await generateText({ model, ...render(messagesFor(turns), 'AI_SDK') })
    expect(warn).not.toHaveBeenCalled()
    expect(model.doGenerateCalls[0]!.prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool'])

    // The same messages with the instructions among them.
    await generateText({ model, messages: await convertToModelMessages(render(messagesFor(turns), 'UI_MESSAGES')) })
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('System messages'))
  })

  it('is one UI message for each turn, with each result in the part of its call, and names in the metadata', () => {
    const turns = [
      contextTurn('ada', 'SYSTEM', 'Be brief.'),
      contextTurn('ada', 'USER', [
        { type: 'text', text: 'What is this?' },
        { type: 'file', mediaType: 'image/png', url: 'https://x.example/a.png', fileName: 'a.png' },
        { type: 'file', mediaType: 'image/png', url: 's3://bucket/a', fileName: null },
        { type: 'data', data: { at: [1, 2] } },
      ]),
      contextTurn('bot', 'ASSISTANT', [reasoning, call('c1'), call('c2')]),
      contextTurn('find', 'TOOL', [result('c1', { found: 1 })]),
      contextTurn('bot', 'ASSISTANT', [call('c3'), result('c3', null), { type: 'text', text: 'A cat.' }]),
    ]
    const [instruction, question, calls, , answer] = turns.map(({ id }) => id)
    const bot = { kind: 'RECENT', name: null }
    const tool = (toolCallId: string) => ({
      type: 'dynamic-tool',
      toolName: 'find',
      toolCallId,
      input: { q: toolCallId },
    })
    expect(render(messagesFor(turns), 'UI_MESSAGES')).toEqual([
      { id: instruction, role: 'system', metadata: bot, parts: [{ type: 'text', text: 'Be brief.' }] },
      {
        id: question,
        role: 'user',
        metadata: { kind: 'RECENT', name: 'ada' },
        parts: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png', filename: 'a.png', url: 'https://x.example/a.png' },
          { type: 'text', text: '[file: image/png, s3://bucket/a]' },
          { type: 'data-json', data: { at: [1, 2] } },
        ],
      },
      {
        id: calls,
        role: 'assistant',
        metadata: bot,
        parts: [
          { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'c2ln' } } },
          { ...tool('c1'), state: 'output-available', output: { found: 1 } },
          { ...tool('c2'), state: 'input-available' },
        ],
      },
      {
        id: answer,
        role: 'assistant',
        metadata: bot,
        parts: [
          { ...tool('c3'), state: 'output-available', output: null },
          { type: 'step-start' },
          { type: 'text', text: 'A cat.' },
        ],
      },
    ])
    // Without `as`, the name of an agent is in the metadata too.
    expect(render(messagesFor(turns, null), 'UI_MESSAGES').at(-1)!.metadata.name).toBe('bot')
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
        .messages.map((message) => JSON.stringify(message))
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

describe('toAiSdkModelPrompt', () => {
  it('returns the prompt as a model of the SDK gets it', async () => {
    const messages = messagesFor([
      contextTurn('ada', 'USER', 'Weather in Oslo?'),
      contextTurn('bot', 'ASSISTANT', [
        { type: 'text', text: 'Let me look.' },
        { type: 'toolCall', callId: 'c1', name: 'weather', arguments: { city: 'Oslo' } },
      ]),
      contextTurn('bot', 'TOOL', [{ type: 'toolResult', callId: 'c1', name: 'weather', result: { degrees: 7 } }]),
      contextTurn('ada', 'USER', 'Thanks.'),
    ])
    const rendered = { ...render(messages, 'AI_SDK'), system: 'Be brief.' }
    const model = new MockLanguageModelV3()
    await generateText({ model, ...rendered }).catch(() => {})
    const [{ prompt } = { prompt: [] }] = model.doGenerateCalls
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown
    expect(plain(toAiSdkModelPrompt(rendered))).toEqual(plain(prompt))
    expect(prompt.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
    expect(toAiSdkModelPrompt({ messages: [] })).toEqual([])
  })
})
