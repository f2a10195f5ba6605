// Runs the contract of provider adapters on every adapter.

import type { LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV3 } from 'ai/test'
import { createAiSdkProvider } from '../../src/providers/ai-sdk/provider.ts'
import type { ChatAdapter } from '../../src/providers/chat-adapter.ts'
import { createEchoProvider } from '../../src/providers/echo/provider.ts'
import { createOpenAiProvider } from '../../src/providers/openai/chat-provider.ts'
import {
  breaksAfter,
  chunk,
  createFakeModel,
  events,
  stallsAfter,
  streams,
  usageChunk,
  type ModelResponder,
} from '../support/fake-model.ts'
import { providerAdapterContract, type Reply } from './provider-adapter.ts'

/** The JSON of the arguments; the first half of it if the reply does not end. */
function sentArguments({ toolCalls = [], then }: Reply): string[] {
  const texted = toolCalls.map((call) => JSON.stringify(call.arguments))
  return then === 'END' ? texted : texted.map((text) => text.slice(0, text.length / 2))
}

/** The chunks of a reply. The arguments of parallel calls arrive in interleaved pieces. */
function chunksOf(reply: Reply): object[] {
  const { reasoning = [], texts, toolCalls = [], then } = reply
  const begun = toolCalls.map(({ name }, index) =>
    chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }] }),
  )
  const texted = sentArguments(reply)
  const longest = Math.max(0, ...texted.map(({ length }) => length))
  const pieces = Array.from({ length: longest }, (_, at) =>
    texted.flatMap((text, index) =>
      at < text.length ? [chunk({ tool_calls: [{ index, function: { arguments: text[at] } }] })] : [],
    ),
  )
  const end = then === 'END' ? [chunk({}, toolCalls.length > 0 ? 'tool_calls' : 'stop'), usageChunk(3, 4)] : []
  const thoughts = reasoning.map((reasoning_content) => chunk({ reasoning_content }))
  return [...thoughts, ...texts.map((content) => chunk({ content })), ...begun, ...pieces.flat(), ...end]
}

providerAdapterContract('openai', async () => {
  let respond: ModelResponder
  const model = await createFakeModel(() => respond)
  return {
    create: (stallMs) => createOpenAiProvider({ baseUrl: model.url, apiKey: 'sk-x', stallMs }),
    prepare(reply) {
      const chunks = chunksOf(reply)
      const text = events(chunks)
      respond = { END: streams(...chunks), STALL: stallsAfter(text), BREAK: breaksAfter(text) }[reply.then]
      return undefined
    },
    endsReasoning: false,
    close: model.stop,
  }
})

/** The parts of a reply, as a model of the AI SDK streams them. */
function* partsOf(reply: Reply): Generator<LanguageModelV3StreamPart> {
  const { reasoning = [], texts, toolCalls = [], then } = reply
  yield { type: 'stream-start', warnings: [] }
  if (reasoning.length > 0) yield { type: 'reasoning-start', id: '0' }
  for (const delta of reasoning) yield { type: 'reasoning-delta', id: '0', delta }
  if (reasoning.length > 0) yield { type: 'reasoning-end', id: '0' }
  yield { type: 'text-start', id: '1' }
  for (const delta of texts) yield { type: 'text-delta', id: '1', delta }
  yield { type: 'text-end', id: '1' }
  for (const [index, input] of sentArguments(reply).entries()) {
    const [id, toolName] = [`call_${index}`, toolCalls[index]!.name]
    yield { type: 'tool-input-start', id, toolName }
    for (const delta of input.match(/[^]{1,5}/g)!) yield { type: 'tool-input-delta', id, delta }
    if (then !== 'END') return
    yield { type: 'tool-input-end', id }
    yield { type: 'tool-call', toolCallId: id, toolName, input }
  }
  if (then !== 'END') return
  yield {
    type: 'finish',
    finishReason: { unified: toolCalls.length > 0 ? 'tool-calls' : 'stop', raw: 'x' },
    usage: {
      inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 4, text: 4, reasoning: 0 },
    },
  }
}

providerAdapterContract('ai-sdk', async () => {
  let next: Reply
  const model = new MockLanguageModelV3({
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV3StreamPart>({
        start(controller) {
          for (const part of partsOf(next)) controller.enqueue(part)
          if (next.then === 'END') controller.close()
        },
        pull(controller) {
          // An error discards unread parts, so it follows only when they have been read.
          if (next.then === 'BREAK') {
            controller.error(new TypeError('terminated', { cause: new Error('other side closed') }))
          }
        },
      }),
    }),
  })
  return {
    create: (stallMs): ChatAdapter => createAiSdkProvider(model, { stallMs }).adapter,
    prepare(reply) {
      next = reply
      return undefined
    },
    endsReasoning: true,
    close: async () => {},
  }
})

providerAdapterContract('echo', async () => ({
  create: (stallMs) => createEchoProvider({ stallMs }),
  prepare({ reasoning, texts, toolCalls, then }) {
    const text = texts.join('')
    const words = text.match(/\S+\s*/g)?.length ?? 0
    const rule = { text, ...(reasoning && { reasoning: reasoning.join('') }), ...(toolCalls && { tools: toolCalls }) }
    if (then === 'END') return { echo: rule }
    // A script cannot stall within the arguments of a call, so that its first piece is late.
    if (toolCalls) return { echo: { ...rule, wordMs: 60_000 } }
    return { echo: { ...rule, after: words, ...(then === 'STALL' ? { stall: true } : { fail: { code: 'CUT_OFF' } }) } }
  },
  endsReasoning: true,
  close: async () => {},
}))
