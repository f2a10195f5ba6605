// The provider of AI SDK models: the pieces of a reply, the prompt, and the failures of the SDK. The contract of all adapters is in
// test/contract/.

import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type LanguageModelV3StreamPart,
} from '@ai-sdk/provider'
import { simulateReadableStream, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { createAiSdkProvider, type AiSdkModel } from '../../../../src/providers/ai-sdk/provider.ts'
import type { ProviderCallParams, ProviderMessage } from '../../../../src/providers/ports/provider-adapter.ts'

const FINISH: LanguageModelV3StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'end' },
  usage: {
    inputTokens: { total: 3, noCache: 1, cacheRead: 2, cacheWrite: 0 },
    outputTokens: { total: 4, text: 1, reasoning: 3 },
  },
}

function modelOf(parts: LanguageModelV3StreamPart[] | Error): {
  model: MockLanguageModelV3
  asked: LanguageModelV3CallOptions[]
} {
  const asked: LanguageModelV3CallOptions[] = []
  const model = new MockLanguageModelV3({
    provider: 'mock.chat',
    modelId: 'mock-1',
    supportedUrls: { 'image/*': [/^https:\/\/images\.example\//] },
    doStream: async (options) => {
      asked.push(options)
      if (parts instanceof Error) throw parts
      return { stream: simulateReadableStream({ chunks: parts, initialDelayInMs: null, chunkDelayInMs: null }) }
    },
  })
  return { model, asked }
}

const params = (messages: ProviderMessage[], given: Partial<ProviderCallParams> = {}): ProviderCallParams => ({
  messages,
  metadata: { provider: 'mine', model: 'mock-1' },
  ...given,
})
const HI: ProviderMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]
const failureOf = (parts: LanguageModelV3StreamPart[] | Error) =>
  createAiSdkProvider(modelOf(parts).model)
    .adapter.complete(params(HI))
    .then(
      () => null,
      (error: unknown) => error,
    )
/** Returns the parts of the deltas and the tool calls of a reply, as a reader finds them when the reply is complete. */
async function partsOf(parts: LanguageModelV3StreamPart[]): Promise<unknown[]> {
  const stream = await createAiSdkProvider(modelOf(parts).model).adapter.completeStream(params(HI))
  await stream.final
  const seen: unknown[] = []
  for await (const event of stream) {
    if (event.type === 'delta') seen.push(...event.delta.content)
    if (event.type === 'tool-call') seen.push(event.toolCall)
  }
  return seen
}

describe('createAiSdkProvider', () => {
  it('accepts any model of AI SDK 6, even a wrapped one, and names its only model', async () => {
    expectTypeOf<LanguageModelV3>().toExtend<AiSdkModel>()
    const { model } = modelOf([{ type: 'text-delta', id: '1', delta: 'Hello.' }, FINISH])
    const wrapped = wrapLanguageModel({ model, middleware: { specificationVersion: 'v3' } })
    const { adapter, ...models } = createAiSdkProvider(wrapped)
    expect(models).toEqual({ defaultModel: 'mock-1', models: ['mock-1'] })
    expect((await adapter.complete(params(HI))).message.content).toEqual([{ type: 'text', text: 'Hello.' }])
  })

  it('refuses a model of another version', () => {
    const { model } = modelOf([])
    expect(() => createAiSdkProvider({ ...model, specificationVersion: 'v2' } as never)).toThrow(
      /specificationVersion is v2.* Use a model object of AI SDK 6/,
    )
    expect(() => createAiSdkProvider('openai/gpt' as never)).toThrow(TypeError)
  })

  it('returns no reasoning, files or calls that the provider executes', async () => {
    const { model } = modelOf([
      { type: 'response-metadata', id: 'resp-1', modelId: 'x' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'text-delta', id: '1', delta: 'Hello.' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'web', input: '{}', providerExecuted: true },
      { type: 'tool-call', toolCallId: 'b', toolName: 'search', input: '{"q":' },
      { ...FINISH, finishReason: { unified: 'tool-calls', raw: undefined } },
    ])
    expect(await createAiSdkProvider(model).adapter.complete(params(HI))).toMatchObject({
      id: 'resp-1',
      toolCalls: [{ id: 'b', name: 'search', arguments: '{"q":' }],
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
      finishReason: 'tool-calls',
    })
  })

  it('announces tool calls, drops those that the provider executes, and signs the reasoning of Anthropic', async () => {
    const signed = { anthropic: { signature: 'sig' } }
    const parts = await partsOf([
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signed },
      { type: 'reasoning-end', id: '0' },
      { type: 'reasoning-delta', id: '1', delta: 'So.' },
      { type: 'reasoning-end', id: '1' },
      { type: 'tool-input-start', id: 'a', toolName: 'web', providerExecuted: true },
      { type: 'tool-input-delta', id: 'a', delta: '{}' },
      { type: 'tool-input-end', id: 'a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'web', input: '{}', providerExecuted: true },
      { type: 'tool-input-start', id: 'b', toolName: 'search' },
      { type: 'tool-input-delta', id: 'b', delta: '{"q":' },
      { type: 'tool-input-delta', id: 'b', delta: '1}' },
      { type: 'tool-input-end', id: 'b' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'search', input: '{"q":1}' },
      { type: 'reasoning-delta', id: '2', delta: 'Well.' },
      { type: 'reasoning-end', id: '2', providerMetadata: signed },
      FINISH,
    ])
    expect(parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning-end', signature: 'sig' },
      { type: 'reasoning', text: 'So.' },
      { type: 'reasoning-end' },
      { type: 'tool-call-start', id: 'b', name: 'search' },
      { type: 'tool-call-delta', id: 'b', text: '{"q":1}' },
      { id: 'b', name: 'search', arguments: { q: 1 } },
      { type: 'reasoning', text: 'Well.' },
      { type: 'reasoning-end', signature: 'sig' },
    ])
  })

  it('announces a call whose input is encoded as text, without deltas, because they are not JSON', async () => {
    const parts = await partsOf([
      { type: 'tool-input-start', id: 'a', toolName: 'patch', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'a', delta: '*** Begin' },
      { type: 'tool-input-end', id: 'a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'patch', input: '{"input":"*** Begin"}' },
      FINISH,
    ])
    expect(parts).toEqual([
      { type: 'tool-call-start', id: 'a', name: 'patch' },
      { id: 'a', name: 'patch', arguments: { input: '*** Begin' } },
    ])
  })

  it('passes the messages, tools and options', async () => {
    const { model, asked } = modelOf([FINISH])
    const messages: ProviderMessage[] = [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        name: 'Ada',
        content: [
          { type: 'file', mediaType: 'image/png', url: 'https://images.example/a.png' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA', fileName: 'a.png' },
          { type: 'file', mediaType: 'image/png', url: 'https://other.example/a.png', caption: 'A fence' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c1', name: 'search', arguments: { q: 1 } }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'search', result: { found: 2 } }] },
      { role: 'user', name: 'Bob', content: [{ type: 'text', text: 'And?' }] },
    ]
    const extensions = { aiSdk: { openai: { user: 'x' } } }
    const { signal } = new AbortController()
    await createAiSdkProvider(model).adapter.complete(
      params(messages, {
        tools: [{ name: 'search', schema: { type: 'object', properties: { q: {} } } }],
        toolChoice: { name: 'search' },
        maxTokens: 9,
        metadata: { provider: 'mine', model: 'mock-1', extensions },
        signal,
      }),
    )
    const { abortSignal, ...options } = asked[0]!
    expect(abortSignal).toBeInstanceOf(AbortSignal)
    expect(options).toEqual({
      prompt: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Ada:' },
            { type: 'file', data: new URL('https://images.example/a.png'), mediaType: 'image/png' },
            { type: 'file', data: 'AAAA', mediaType: 'image/png', filename: 'a.png' },
            { type: 'text', text: '[file: image/png, https://other.example/a.png: A fence]' },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: { q: 1 } }] },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'search',
              output: { type: 'json', value: { found: 2 } },
            },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'Bob: And?' }] },
      ],
      tools: [{ type: 'function', name: 'search', inputSchema: { type: 'object', properties: { q: {} } } }],
      toolChoice: { type: 'tool', toolName: 'search' },
      maxOutputTokens: 9,
      providerOptions: { openai: { user: 'x' } },
    })
  })
})

describe('a failure of the model', () => {
  const api = (statusCode: number | undefined, message = 'secret', headers: Record<string, string> = {}) =>
    new APICallError({
      message,
      url: 'http://secret',
      requestBodyValues: {},
      responseHeaders: headers,
      ...(statusCode && { statusCode }),
    })

  it.each([
    [
      api(429, 'slow', { 'retry-after': '3' }),
      { code: 'RATE_LIMITED', status: 429, retryAfterMs: 3_000, retryable: true },
    ],
    [api(503), { code: 'UNAVAILABLE', status: 503, retryable: true }],
    [api(401), { code: 'REFUSED', status: 401, retryable: false }],
    [api(400, 'maximum context length is 10'), { code: 'CONTEXT_TOO_LONG', retryable: false }],
    [api(undefined), { code: 'UNREACHABLE', retryable: true }],
    [Object.assign(new Error('secret'), { name: 'AI_LoadAPIKeyError' }), { code: 'REFUSED', retryable: false }],
    [Object.assign(new Error('secret'), { name: 'AI_JSONParseError' }), { code: 'BAD_REPLY', retryable: true }],
    [new TypeError('fetch failed', { cause: new Error('secret') }), { code: 'UNREACHABLE', retryable: true }],
  ])('%s is %j', async (error, expected) => {
    const failed = await failureOf(error)
    expect(failed).toMatchObject(expected)
    expect((failed as Error).message).toMatch(/^mock\.chat:mock-1 /)
    expect((failed as Error).message).not.toContain('secret')
  })

  it('in the reply is UNAVAILABLE, and the end of a reply without a finish is CUT_OFF', async () => {
    expect(await failureOf([{ type: 'error', error: { message: 'secret' } }])).toMatchObject({ code: 'UNAVAILABLE' })
    expect(await failureOf([{ type: 'text-delta', id: '1', delta: 'x' }])).toMatchObject({ code: 'CUT_OFF' })
    const failed: LanguageModelV3StreamPart = { ...FINISH, finishReason: { unified: 'error', raw: 'x' } }
    expect(await failureOf([failed])).toMatchObject({ code: 'CUT_OFF' })
  })

  it('that is a programming error is rethrown', async () => {
    const bug = new RangeError('a bug')
    expect(await failureOf(bug)).toBe(bug)
  })
})
