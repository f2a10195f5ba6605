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

/** The chunks of a reply. The arguments of parallel calls arrive in interleaved pieces. */
function chunksOf({ texts, toolCalls = [], then }: Reply): object[] {
  const begun = toolCalls.map(({ name }, index) =>
    chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }] }),
  )
  const texted = toolCalls.map((call) => JSON.stringify(call.arguments))
  const longest = Math.max(0, ...texted.map(({ length }) => length))
  const pieces = Array.from({ length: longest }, (_, at) =>
    texted.flatMap((text, index) =>
      at < text.length ? [chunk({ tool_calls: [{ index, function: { arguments: text[at] } }] })] : [],
    ),
  )
  const end = then === 'END' ? [chunk({}, toolCalls.length > 0 ? 'tool_calls' : 'stop'), usageChunk(3, 4)] : []
  return [...texts.map((content) => chunk({ content })), ...begun, ...pieces.flat(), ...end]
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
    close: model.stop,
  }
})

/** The parts of a reply, as a model of the AI SDK streams them. */
function* partsOf({ texts, toolCalls = [], then }: Reply): Generator<LanguageModelV3StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: '1' }
  for (const delta of texts) yield { type: 'text-delta', id: '1', delta }
  if (then !== 'END') return
  yield { type: 'text-end', id: '1' }
  for (const [index, { name, arguments: input }] of toolCalls.entries()) {
    yield { type: 'tool-call', toolCallId: `call_${index}`, toolName: name, input: JSON.stringify(input) }
  }
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
    close: async () => {},
  }
})

providerAdapterContract('echo', async () => ({
  create: (stallMs) => createEchoProvider({ stallMs }),
  prepare({ texts, toolCalls, then }) {
    const text = texts.join('')
    const words = text.match(/\S+\s*/g)?.length ?? 0
    const rule = { text, ...(toolCalls && { tools: toolCalls }) }
    if (then === 'END') return { echo: rule }
    return { echo: { ...rule, after: words, ...(then === 'STALL' ? { stall: true } : { fail: { code: 'CUT_OFF' } }) } }
  },
  close: async () => {},
}))
