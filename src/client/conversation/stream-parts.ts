// Reads the parts of models' streams: plain text, the `fullStream` of the AI SDK, the streams of OpenAI's SDK (chat
// completions and responses), and the events of Colloquy's own chat providers. Converts them to pieces of a turn.

/** A piece of the turn, or information about the turn, from one part of a stream. */
export type Piece =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The reasoning is complete. */
  | { type: 'reasoningEnd'; signature?: string | undefined }
  /** A tool call begins; its arguments follow as `callDelta`, and as a whole as `toolCall`. */
  | { type: 'callStart'; callId: string; name: string }
  | { type: 'callDelta'; callId: string; text: string }
  | { type: 'toolCall'; callId: string; name: string; arguments: unknown }
  /** Progress of a running tool. */
  | { type: 'toolProgress'; callId: string; text: string }
  | { type: 'source'; url: string; title: string | null }
  | { type: 'toolResult'; callId: string; name: string; result: unknown }
  | { type: 'usage'; prompt: number; completion: number }
  | { type: 'model'; model: string }
  | { type: 'error'; error: unknown }

type Part = Record<string, any>
/** A tool call whose arguments arrive in fragments. */
type OpenCall = { callId: string; name: string; arguments: string; isAnnounced?: boolean }

const text = (value: unknown): Piece[] =>
  typeof value === 'string' && value !== '' ? [{ type: 'text', text: value }] : []
const failed = (message: string): Piece => ({ type: 'error', error: new Error(message) })
const usage = (prompt: unknown, completion: unknown): Piece[] =>
  typeof prompt === 'number' && typeof completion === 'number' ? [{ type: 'usage', prompt, completion }] : []
const model = (name: unknown): Piece[] =>
  typeof name === 'string' && name !== '' ? [{ type: 'model', model: name }] : []

/** Returns the end of reasoning with the signature of Anthropic's models, if the part has one. */
function signature({ providerMetadata }: Part): { type: 'reasoningEnd'; signature: string }[] {
  const given = providerMetadata?.anthropic?.signature
  return given ? [{ type: 'reasoningEnd', signature: given }] : []
}

/** Returns the arguments as an object, as a turn stores them. Any value that is not an object is put into `input`. */
function argumentsOf(value: unknown): unknown {
  if (typeof value === 'string') {
    try {
      return argumentsOf(value === '' ? {} : JSON.parse(value))
    } catch {
      return { input: value }
    }
  }
  if (value === undefined) return {}
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { input: value }
}
const call = (callId: string, name: string, given: unknown): Piece => ({
  type: 'toolCall',
  callId,
  name,
  arguments: argumentsOf(given),
})

/** Reads a part of the AI SDK's `fullStream`, or an event of a ProviderStream. Returns null for any other part. */
function readTyped(part: Part): Piece[] | null {
  switch (part.type) {
    case 'text-delta':
      return text(part.text ?? part.delta)
    case 'reasoning-delta':
      return [{ type: 'reasoning', text: part.text ?? part.delta ?? '' }, ...signature(part)]
    case 'reasoning-end':
      return [{ type: 'reasoningEnd', signature: signature(part)[0]?.signature }]
    case 'tool-input-start':
      return part.id ? [{ type: 'callStart', callId: part.id, name: part.toolName }] : []
    case 'tool-input-delta':
      return part.id ? [{ type: 'callDelta', callId: part.id, text: part.delta }] : []
    case 'source':
      return part.sourceType === 'url' ? [{ type: 'source', url: part.url, title: part.title ?? null }] : []
    case 'tool-call':
      return part.toolCall
        ? [call(part.toolCall.id, part.toolCall.name, part.toolCall.arguments)]
        : [call(part.toolCallId, part.toolName, part.input)]
    case 'tool-result':
      if (part.preliminary) {
        const output = typeof part.output === 'string' ? part.output : JSON.stringify(part.output ?? null)
        return [{ type: 'toolProgress', callId: part.toolCallId, text: `${output}\n` }]
      }
      return [{ type: 'toolResult', callId: part.toolCallId, name: part.toolName, result: part.output ?? null }]
    case 'tool-error': {
      const result = { error: part.error instanceof Error ? part.error.message : String(part.error) }
      return [{ type: 'toolResult', callId: part.toolCallId, name: part.toolName, result }]
    }
    case 'finish-step':
      return model(part.response?.modelId)
    case 'finish':
      if (part.finishReason === 'error') return [failed('The model failed.')]
      return usage(part.totalUsage?.inputTokens, part.totalUsage?.outputTokens)
    case 'abort':
      return [failed('The stream was aborted.')]
    case 'error':
      return [{ type: 'error', error: part.error ?? new Error(part.errorText ?? part.message ?? 'The model failed.') }]
    case 'delta':
      return (part.delta?.content ?? []).flatMap(readProviderPart)
    case 'done':
      return [
        ...model(part.result?.metadata?.model),
        ...usage(part.result?.usage?.inputTokens, part.result?.usage?.outputTokens),
      ]
    default:
      return null
  }
}

/** Reads a part of a delta of a ProviderStream. */
function readProviderPart(part: Part): Piece[] {
  switch (part.type) {
    case 'text':
      return text(part.text)
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text }]
    case 'reasoning-end':
      return [{ type: 'reasoningEnd', signature: part.signature }]
    case 'tool-call-start':
      return [{ type: 'callStart', callId: part.id, name: part.name }]
    case 'tool-call-delta':
      return [{ type: 'callDelta', callId: part.id, text: part.text }]
    default:
      return []
  }
}

/** Reads an event of OpenAI's responses API. Returns null for any other part. `items` has the callIds, by id of the item. */
function readResponse(part: Part, items: Map<string, string>): Piece[] | null {
  if (typeof part.type !== 'string' || !part.type.startsWith('response.')) return null
  switch (part.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return text(part.delta)
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return [{ type: 'reasoning', text: part.delta }]
    case 'response.output_item.added':
      if (part.item.type !== 'function_call') return []
      items.set(part.item.id, part.item.call_id)
      return [{ type: 'callStart', callId: part.item.call_id, name: part.item.name }]
    case 'response.function_call_arguments.delta':
      return [{ type: 'callDelta', callId: items.get(part.item_id) ?? '', text: part.delta }]
    case 'response.output_item.done':
      return part.item.type === 'function_call' ? [call(part.item.call_id, part.item.name, part.item.arguments)] : []
    case 'response.failed':
      return [failed(part.response?.error?.message ?? 'The model failed.')]
    case 'response.completed':
    case 'response.incomplete':
      return [
        ...model(part.response?.model),
        ...usage(part.response?.usage?.input_tokens, part.response?.usage?.output_tokens),
      ]
    default:
      return []
  }
}

/** The types of the parts that begin and end a stream of each kind. */
const BEGINS = new Set(['start', 'response.created'])
const FINISHES = new Set(['finish', 'done', 'response.completed', 'response.incomplete'])

/** Creates a reader of one stream. */
export function createPartReader() {
  /** The open tool calls, by their index in the stream. */
  const calls = new Map<number, OpenCall>()
  const items = new Map<string, string>()
  /** Whether any part was of a known kind. */
  let isKnown = false
  /** Whether a complete stream of this kind ends with a finishing part, and whether that part has arrived. */
  let mustFinish = false
  let isFinished = false

  function readChunk(part: Part): Piece[] {
    mustFinish = true
    const [choice] = part.choices as Part[]
    const called: Piece[] = []
    for (const fragment of (choice?.delta?.tool_calls ?? []) as Part[]) {
      const open: OpenCall = calls.get(fragment.index) ?? { callId: '', name: '', arguments: '' }
      open.callId ||= fragment.id ?? ''
      open.name ||= fragment.function?.name ?? ''
      const more = fragment.function?.arguments ?? ''
      open.arguments += more
      calls.set(fragment.index, open)
      const { callId, name } = open
      if (!callId || !name) continue
      if (!open.isAnnounced) called.push({ type: 'callStart', callId, name })
      called.push({ type: 'callDelta', callId, text: open.isAnnounced ? more : open.arguments })
      open.isAnnounced = true
    }
    const ended = choice?.finish_reason ? [...calls.values()] : []
    if (choice?.finish_reason) {
      isFinished = true
      calls.clear()
    }
    const reasoning = choice?.delta?.reasoning_content ?? choice?.delta?.reasoning
    return [
      ...(reasoning ? [{ type: 'reasoning' as const, text: reasoning }] : []),
      ...text(choice?.delta?.content),
      ...text(choice?.delta?.refusal),
      ...called,
      ...ended.map((open) => call(open.callId, open.name, open.arguments)),
      ...model(part.model),
      ...usage(part.usage?.prompt_tokens, part.usage?.completion_tokens),
    ]
  }

  return {
    /** Returns the pieces of the next part. A part of an unknown kind has none. */
    read(part: unknown): Piece[] {
      if (typeof part === 'string') {
        isKnown = true
        return text(part)
      }
      if (typeof part !== 'object' || part === null) return []
      const known = part as Part
      if (BEGINS.has(known.type)) isKnown = mustFinish = true
      if (FINISHES.has(known.type)) isFinished = true
      const pieces = Array.isArray(known.choices) ? readChunk(known) : (readResponse(known, items) ?? readTyped(known))
      if (pieces) isKnown = true
      return pieces ?? []
    },
    /**
     * Call it when the stream has ended. Returns an error if the stream was incomplete: its finishing part, which every
     * stream except plain text has, did not arrive; or it had only unknown parts.
     * @param count number of parts read
     */
    end(count: number): Piece[] {
      if (count > 0 && !isKnown) return [failed('The stream has no parts of a known kind.')]
      return mustFinish && !isFinished ? [failed('The stream ended before the model had finished.')] : []
    },
  }
}

/** The source of a turn, for `write`. */
export type Source =
  | string
  | Iterable<unknown>
  | AsyncIterable<unknown>
  | ReadableStreamLike
  /** The result of the AI SDK's `streamText`. */
  | { fullStream: AsyncIterable<unknown> | ReadableStreamLike }
type ReadableStreamLike = {
  getReader(): { read(): Promise<{ done: boolean; value?: unknown }>; cancel(reason?: unknown): Promise<void> }
}

/** Iterates over values that are not delivered as promises. */
async function* iterate(values: Iterable<unknown>): AsyncGenerator<unknown, void> {
  yield* values
}

/** Yields the values of a ReadableStream. Not every browser can iterate over one. */
async function* drain(stream: ReadableStreamLike): AsyncGenerator<unknown, void> {
  const reader = stream.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** Whether the value is an object or function, of any realm. */
export const isObject = (value: unknown): value is object => Object(value) === value

/** The properties of which a source that is not a text has one. */
const ACCEPTED = [Symbol.asyncIterator, Symbol.iterator, 'getReader', 'fullStream']

/** @throws TypeError if the value is not a source */
export function checkSource(value: unknown): asserts value is Source {
  if (typeof value === 'string' || (isObject(value) && ACCEPTED.some((key) => key in value))) return
  throw new TypeError(
    `A source is a text, iterable, async iterable, ReadableStream, result of streamText, or promise of one: not ${value}.`,
  )
}

/** Returns an iterator over the parts of a source. @throws TypeError */
export function partsOf(source: Source): AsyncIterator<unknown> {
  checkSource(source)
  if (typeof source === 'string') return iterate([source])
  if ('fullStream' in source) return partsOf(source.fullStream)
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]()
  return 'getReader' in source ? drain(source) : iterate(source)
}
