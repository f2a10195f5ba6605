// Conversion of the parts of models' streams, as their SDKs deliver them, to the pieces of a turn.

import { describe, expect, it } from 'vitest'
import { createPartReader, partsOf, type Piece, type Source } from '../../../../src/client/conversation/stream-parts.ts'

/** The pieces of a whole stream. Errors are replaced by their messages. */
function read(parts: readonly unknown[]): unknown[] {
  const reader = createPartReader()
  const pieces: Piece[] = [...parts.flatMap((part) => reader.read(part)), ...reader.end(parts.length)]
  return pieces.map((piece) => (piece.type === 'error' ? `failed: ${(piece.error as Error).message}` : piece))
}
const text = (value: string) => ({ type: 'text', text: value })
const chunk = (delta: object, more: object = {}, finish: string | null = null) => ({
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})

const STREAMS: [description: string, parts: unknown[], pieces: unknown[]][] = [
  ['plain text', ['Hel', '', 'lo'], [text('Hel'), text('lo')]],
  ['nothing', [], []],
  [
    'the fullStream of the AI SDK: text, reasoning, a tool call with its result, usage',
    [
      { type: 'start' },
      { type: 'start-step' },
      { type: 'reasoning-delta', id: 'r', text: 'Hm.' },
      { type: 'reasoning-delta', id: 'r', text: '', providerMetadata: { anthropic: { signature: 'signed' } } },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', text: 'Hello' },
      { type: 'tool-input-start', id: 'c', toolName: 'tides' },
      { type: 'tool-input-delta', id: 'c', delta: '{"port":"Hull"}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'tides', input: { port: 'Hull' } },
      { type: 'tool-result', toolCallId: 'c', toolName: 'tides', output: 1, preliminary: true },
      { type: 'tool-result', toolCallId: 'c', toolName: 'tides', output: [6.1] },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://tides.example/', title: 'Tides' },
      { type: 'source', sourceType: 'document', id: 't', mediaType: 'text/plain', title: 'Notes' },
      { type: 'tool-call', toolCallId: 'd', toolName: 'tides', input: 'not JSON', invalid: true },
      { type: 'tool-error', toolCallId: 'd', toolName: 'tides', error: new Error('no such port') },
      { type: 'finish-step', response: { modelId: 'small' }, usage: {} },
      { type: 'finish', finishReason: 'stop', totalUsage: { inputTokens: 5, outputTokens: 2 } },
    ],
    [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoning', text: '' },
      { type: 'reasoningEnd', signature: 'signed' },
      { type: 'reasoningEnd', signature: undefined },
      text('Hello'),
      { type: 'callStart', callId: 'c', name: 'tides' },
      { type: 'callDelta', callId: 'c', text: '{"port":"Hull"}' },
      { type: 'toolCall', callId: 'c', name: 'tides', arguments: { port: 'Hull' } },
      { type: 'toolProgress', callId: 'c', text: '1\n' },
      { type: 'toolResult', callId: 'c', name: 'tides', result: [6.1] },
      { type: 'source', url: 'https://tides.example/', title: 'Tides' },
      { type: 'toolCall', callId: 'd', name: 'tides', arguments: { input: 'not JSON' } },
      { type: 'toolResult', callId: 'd', name: 'tides', result: { error: 'no such port' } },
      { type: 'model', model: 'small' },
      { type: 'usage', prompt: 5, completion: 2 },
    ],
  ],
  [
    'the fullStream of the AI SDK with an error of the model',
    [
      { type: 'start' },
      { type: 'text-delta', id: '1', text: 'Hel' },
      { type: 'error', error: new Error('overloaded') },
      { type: 'finish', finishReason: 'error' },
    ],
    [text('Hel'), 'failed: overloaded', 'failed: The model failed.'],
  ],
  [
    'the fullStream of the AI SDK that is aborted',
    [{ type: 'start' }, { type: 'text-delta', id: '1', text: 'Hel' }, { type: 'abort' }],
    [text('Hel'), 'failed: The stream was aborted.', 'failed: The stream ended before the model had finished.'],
  ],
  [
    'the fullStream of the AI SDK that is cut off',
    [{ type: 'start' }, { type: 'text-delta', id: '1', text: 'Hel' }],
    [text('Hel'), 'failed: The stream ended before the model had finished.'],
  ],
  [
    'the UI message stream of the AI SDK',
    [
      { type: 'start' },
      { type: 'text-delta', id: '1', delta: 'Hello' },
      { type: 'error', errorText: 'overloaded' },
      { type: 'finish' },
    ],
    [text('Hello'), 'failed: overloaded'],
  ],
  [
    "chunks of OpenAI's chat completions: a tool call in fragments, usage after the end",
    [
      chunk({ role: 'assistant', content: '' }, { model: 'gpt' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'tides', arguments: '{"port":' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'd', function: { name: 'now', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"Hull"}' } }] }),
      chunk({}, {}, 'tool_calls'),
      { object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
    ],
    [
      { type: 'model', model: 'gpt' },
      text('Hel'),
      text('lo'),
      { type: 'callStart', callId: 'c', name: 'tides' },
      { type: 'callDelta', callId: 'c', text: '{"port":' },
      { type: 'callStart', callId: 'd', name: 'now' },
      { type: 'callDelta', callId: 'd', text: '' },
      { type: 'callDelta', callId: 'c', text: '"Hull"}' },
      { type: 'toolCall', callId: 'c', name: 'tides', arguments: { port: 'Hull' } },
      { type: 'toolCall', callId: 'd', name: 'now', arguments: {} },
      { type: 'usage', prompt: 7, completion: 3 },
    ],
  ],
  [
    "chunks of OpenAI's chat completions that end without a finish reason",
    [chunk({ content: 'Hel' })],
    [text('Hel'), 'failed: The stream ended before the model had finished.'],
  ],
  [
    "events of OpenAI's responses",
    [
      { type: 'response.created', response: {} },
      { type: 'response.reasoning_summary_text.delta', delta: 'Hm.' },
      { type: 'response.output_text.delta', delta: 'Hello' },
      { type: 'response.output_item.done', item: { type: 'message' } },
      { type: 'response.output_item.added', item: { type: 'function_call', id: 'i', call_id: 'c', name: 'tides' } },
      { type: 'response.function_call_arguments.delta', item_id: 'i', delta: '{}' },
      {
        type: 'response.output_item.done',
        item: { type: 'function_call', call_id: 'c', name: 'tides', arguments: '{}' },
      },
      { type: 'response.completed', response: { model: 'gpt', usage: { input_tokens: 7, output_tokens: 3 } } },
    ],
    [
      { type: 'reasoning', text: 'Hm.' },
      text('Hello'),
      { type: 'callStart', callId: 'c', name: 'tides' },
      { type: 'callDelta', callId: 'c', text: '{}' },
      { type: 'toolCall', callId: 'c', name: 'tides', arguments: {} },
      { type: 'model', model: 'gpt' },
      { type: 'usage', prompt: 7, completion: 3 },
    ],
  ],
  [
    "events of OpenAI's responses with a failure",
    [
      { type: 'response.created', response: {} },
      { type: 'response.failed', response: { error: { message: 'overloaded' } } },
    ],
    ['failed: overloaded', 'failed: The stream ended before the model had finished.'],
  ],
  [
    'events of a chat provider of Colloquy',
    [
      { type: 'delta', delta: { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] } },
      { type: 'delta', delta: { role: 'assistant', content: [{ type: 'reasoning-end' }] } },
      { type: 'delta', delta: { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] } },
      { type: 'delta', delta: { role: 'assistant', content: [{ type: 'tool-call-start', id: 'c', name: 'tides' }] } },
      { type: 'delta', delta: { role: 'assistant', content: [{ type: 'tool-call-delta', id: 'c', text: '{' }] } },
      { type: 'tool-call', toolCall: { id: 'c', name: 'tides', arguments: { port: 'Hull' } } },
      { type: 'done', result: { metadata: { model: 'echo' }, usage: { inputTokens: 1, outputTokens: 2 } } },
    ],
    [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'reasoningEnd', signature: undefined },
      text('Hello'),
      { type: 'callStart', callId: 'c', name: 'tides' },
      { type: 'callDelta', callId: 'c', text: '{' },
      { type: 'toolCall', callId: 'c', name: 'tides', arguments: { port: 'Hull' } },
      { type: 'model', model: 'echo' },
      { type: 'usage', prompt: 1, completion: 2 },
    ],
  ],
  [
    'parts of an unknown kind only',
    [{ token: 'Hello' }, 7, null],
    ['failed: The stream has no parts of a known kind.'],
  ],
]

describe('createPartReader', () => {
  it.each(STREAMS)('reads %s', (_, parts, pieces) => {
    expect(read(parts)).toEqual(pieces)
  })
})

describe('partsOf', () => {
  const stream = () =>
    new ReadableStream<string>({
      start(controller) {
        for (const each of ['a', 'b']) controller.enqueue(each)
        controller.close()
      },
    })
  const withoutIterator = () => {
    const inner = stream()
    return { getReader: () => inner.getReader() }
  }
  async function* generator() {
    yield* ['a', 'b']
  }

  it.each<[string, () => Source, unknown[]]>([
    ['a text', () => 'ab', ['ab']],
    ['an async iterable', generator, ['a', 'b']],
    ['a ReadableStream', stream, ['a', 'b']],
    ['a ReadableStream of a browser that does not iterate over it', withoutIterator, ['a', 'b']],
    ["the result of the AI SDK's streamText", () => ({ fullStream: stream() }), ['a', 'b']],
  ])('iterates over %s', async (_, source, parts) => {
    const iterator = partsOf(source())
    const read: unknown[] = []
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) read.push(next.value)
    expect(read).toEqual(parts)
  })
})
