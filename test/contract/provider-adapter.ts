// The contract of chat providers: the order of events, the equality of deltas and result, and the ways a call can end.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ChatAdapter } from '../../src/providers/chat-adapter.ts'
import { MAX_REPLY_BYTES } from '../../src/providers/reply.ts'
import {
  ProviderCallFailed,
  type ProviderCallParams,
  type ProviderDeltaPart,
  type ProviderMessage,
  type ProviderStreamEvent,
  type ProviderToolCall,
} from '../../src/providers/ports/provider-adapter.ts'

/** A reply that the provider under test must return. */
export type Reply = {
  /** Reasoning before the text. */
  reasoning?: string[]
  texts: string[]
  toolCalls?: Omit<ProviderToolCall, 'id'>[]
  /**
   * `END` completes the reply, `STALL` sends nothing more, and `BREAK` breaks the connection. With `STALL`, a tool call
   * has begun, but its arguments are not complete.
   */
  then: 'END' | 'STALL' | 'BREAK'
}

export type Subject = {
  /** Creates an adapter that fails if the provider sends nothing for `stallMs`, ms. */
  create(stallMs: number): ChatAdapter
  /** Prepares the next reply. Returns the call's `extensions`; undefined if it needs none. */
  prepare(reply: Reply): Record<string, unknown> | undefined
  /** Whether the provider reports the end of the reasoning. */
  endsReasoning: boolean
  close(): Promise<void>
}

const ASKED: ProviderMessage[] = [
  { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
  { role: 'user', name: 'Ada', content: [{ type: 'text', text: 'How are you?' }] },
]

const textOf = ({ content }: ProviderMessage) =>
  content.map((part) => (part.type === 'text' ? (part.text as string) : '')).join('')

async function read(events: AsyncIterable<ProviderStreamEvent>) {
  const seen: ProviderStreamEvent[] = []
  let error: unknown = null
  try {
    for await (const event of events) seen.push(event)
  } catch (thrown) {
    error = thrown
  }
  const deltas = seen.map((event) => (event.type === 'delta' ? textOf(event.delta) : '')).join('')
  const last = seen.at(-1)
  return { seen, deltas, error, result: last?.type === 'done' ? last.result : null }
}

/** A part of a delta, or a whole tool call. */
type Part = ProviderDeltaPart | ({ type: 'tool-call' } & ProviderToolCall)

/** Returns the parts of the deltas, and the tool calls, in the order of their events. */
const partsOf = (events: ProviderStreamEvent[]) =>
  events.flatMap((event): Part[] => {
    if (event.type === 'delta') return event.delta.content as ProviderDeltaPart[]
    return event.type === 'tool-call' ? [{ type: 'tool-call', ...event.toolCall }] : []
  })

const failureOf = (promise: Promise<unknown>): Promise<ProviderCallFailed> =>
  promise.then(
    () => expect.unreachable('the call should fail'),
    (error: ProviderCallFailed) => error,
  )

const CALLS = [
  { name: 'search', arguments: { words: ['löwe', '"x"', '👩‍🔬'], limit: 3 } },
  { name: 'search', arguments: { words: [] } },
  { name: 'now', arguments: {} },
]
const TEXTS = ['The kettle is on. ', 'Ça va: ', 'naïve 👩‍🔬 ', 'and done.']

export function providerAdapterContract(name: string, open: () => Promise<Subject>): void {
  describe(`${name}, as a provider adapter,`, () => {
    let subject: Subject
    let adapters: ChatAdapter[] = []
    beforeAll(async () => {
      subject = await open()
    })
    afterEach(async () => {
      for (const each of adapters.splice(0)) await each.close()
    })
    afterAll(() => subject.close())

    function prepared(reply: Reply, stallMs = 5_000): { adapter: ChatAdapter; params: ProviderCallParams } {
      const adapter = subject.create(stallMs)
      adapters.push(adapter)
      const extensions = subject.prepare(reply)
      return {
        adapter,
        params: { messages: ASKED, metadata: { provider: 'p', model: 'm', ...(extensions && { extensions }) } },
      }
    }

    it('streams deltas that equal the text of the result, and ends with the result', async () => {
      const { adapter, params } = prepared({ texts: TEXTS, then: 'END' })
      const stream = await adapter.completeStream(params)
      const { seen, deltas, result, error } = await read(stream)
      expect(error).toBeNull()
      expect(deltas).toBe(TEXTS.join(''))
      expect(result).toMatchObject({
        message: { role: 'assistant' },
        finishReason: 'stop',
        createdAt: expect.any(Date),
      })
      expect(textOf(result!.message)).toBe(deltas)
      expect(result!.toolCalls).toBeUndefined()
      expect(result!.usage).toMatchObject({ inputTokens: expect.any(Number), outputTokens: expect.any(Number) })
      expect(result!.id).toMatch(/^[\x21-\x7e]+$/)
      expect(seen.filter(({ type }) => type === 'done')).toHaveLength(1)
      expect(await stream.final).toBe(result)
    })

    it('returns the same result without streaming, and if the events are not read', async () => {
      const once = prepared({ texts: TEXTS, then: 'END' })
      expect(textOf((await once.adapter.complete(once.params)).message)).toBe(TEXTS.join(''))
      const unread = prepared({ texts: TEXTS, then: 'END' })
      const { final } = await unread.adapter.completeStream(unread.params)
      expect(textOf((await final).message)).toBe(TEXTS.join(''))
    })

    it('delivers the whole text to a slow reader, and joins waiting deltas', async () => {
      const { adapter, params } = prepared({ texts: TEXTS, then: 'END' })
      const stream = await adapter.completeStream(params)
      await stream.final
      const { seen, deltas } = await read(stream)
      expect(deltas).toBe(TEXTS.join(''))
      expect(seen.map(({ type }) => type)).toEqual(['delta', 'done'])
    })

    it('reports parallel tool calls with distinct ids, and their arguments', async () => {
      const { adapter, params } = prepared({ texts: ['I look. '], toolCalls: CALLS, then: 'END' })
      const tools = ['search', 'now'].map((each) => ({
        name: each,
        description: 'A tool.',
        schema: { type: 'object' },
      }))
      const { seen, result } = await read(await adapter.completeStream({ ...params, tools }))
      const calls = seen.flatMap((event) => (event.type === 'tool-call' ? [event.toolCall] : []))
      expect(calls.map(({ id: _, ...call }) => call)).toEqual(CALLS)
      expect(new Set(calls.map(({ id }) => id)).size).toBe(3)
      expect(result).toMatchObject({ toolCalls: calls, finishReason: 'tool-calls' })
      expect(result!.message.content).toEqual([
        { type: 'text', text: 'I look. ' },
        ...calls.map((call) => ({ type: 'tool-call', ...call })),
      ])
    })

    it('announces each tool call, and streams the JSON of its arguments', async () => {
      const { adapter, params } = prepared({ texts: ['I look. '], toolCalls: CALLS, then: 'END' })
      const parts = partsOf((await read(await adapter.completeStream(params))).seen)
      const calls = parts.filter(({ type }) => type === 'tool-call') as ProviderToolCall[]
      expect(calls).toHaveLength(CALLS.length)
      for (const { id, name: tool, arguments: given } of calls) {
        const own = parts.filter((part) => 'id' in part && part.id === id)
        expect(own[0]).toEqual({ type: 'tool-call-start', id, name: tool })
        expect(own.at(-1)).toMatchObject({ type: 'tool-call' })
        const deltas = own.slice(1, -1).map((part) => (part.type === 'tool-call-delta' ? part.text : expect.fail()))
        expect(deltas.join('')).toBe(JSON.stringify(given))
      }
      const ids = new Set(calls.map(({ id }) => id))
      expect(parts.filter((part) => 'id' in part && !ids.has(part.id))).toEqual([])
    })

    it('announces a tool call before its arguments are complete', async () => {
      const { adapter, params } = prepared({ texts: [], toolCalls: CALLS.slice(0, 1), then: 'STALL' })
      const seen: ProviderStreamEvent[] = []
      for await (const event of await adapter.completeStream(params)) {
        seen.push(event)
        if (partsOf(seen).some(({ type }) => type === 'tool-call-start')) break
      }
      expect(partsOf(seen)).toEqual([{ type: 'tool-call-start', id: expect.any(String), name: 'search' }])
    })

    it('streams the reasoning before the text, apart from the result', async () => {
      const reasoning = ['They ask ', 'about me: ', 'naïve 👩‍🔬. ']
      const { adapter, params } = prepared({ reasoning, texts: TEXTS, then: 'END' })
      const stream = await adapter.completeStream(params)
      const { seen, deltas, result } = await read(stream)
      const parts = partsOf(seen)
      const reasoned = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
      expect(reasoned.join('')).toBe(reasoning.join(''))
      expect(parts.findLastIndex(({ type }) => type === 'reasoning')).toBe(
        parts.findIndex(({ type }) => type === 'text') - (subject.endsReasoning ? 2 : 1),
      )
      expect(parts.filter(({ type }) => type === 'reasoning-end')).toHaveLength(subject.endsReasoning ? 1 : 0)
      expect(deltas).toBe(TEXTS.join(''))
      expect(result!.message.content).toEqual([{ type: 'text', text: deltas }])
    })

    it('joins the waiting deltas of each kind and of a tool call for a slow reader', async () => {
      const toolCalls = CALLS.slice(0, 1)
      const { adapter, params } = prepared({ reasoning: ['Hm. ', 'Yes. '], texts: TEXTS, toolCalls, then: 'END' })
      const stream = await adapter.completeStream(params)
      await stream.final
      expect(partsOf((await read(stream)).seen)).toEqual([
        { type: 'reasoning', text: 'Hm. Yes. ' },
        ...(subject.endsReasoning ? [{ type: 'reasoning-end' }] : []),
        { type: 'text', text: TEXTS.join('') },
        { type: 'tool-call-start', id: expect.any(String), name: 'search' },
        { type: 'tool-call-delta', id: expect.any(String), text: JSON.stringify(CALLS[0]!.arguments) },
        { type: 'tool-call', id: expect.any(String), ...CALLS[0] },
      ])
    })

    it('fails as REPLY_TOO_LARGE if reasoning or arguments exceed the limit of a reply', async () => {
      const texts = Array.from({ length: 16 }, () => 'x'.repeat(MAX_REPLY_BYTES / 16))
      const whole = prepared({ texts, then: 'END' })
      expect(textOf((await whole.adapter.complete(whole.params)).message)).toHaveLength(MAX_REPLY_BYTES)
      for (const more of [{ reasoning: ['Hm. '] }, { toolCalls: CALLS.slice(2) }]) {
        const { adapter, params } = prepared({ texts, ...more, then: 'END' })
        expect(await failureOf(adapter.complete(params))).toMatchObject({ code: 'REPLY_TOO_LARGE', retryable: false })
      }
    })

    it('fails as STALLED after silence, with the text so far, before and after the first delta', async () => {
      const early = prepared({ texts: [], then: 'STALL' }, 150)
      const stalled = await failureOf(early.adapter.completeStream(early.params).then((stream) => stream.final))
      expect(stalled).toBeInstanceOf(ProviderCallFailed)
      expect(stalled).toMatchObject({ code: 'STALLED', retryable: true, message: expect.stringContaining('0.15 s') })
      const late = prepared({ texts: ['So far. '], then: 'STALL' }, 150)
      const { deltas, error } = await read(await late.adapter.completeStream(late.params))
      expect(deltas).toBe('So far. ')
      expect(error).toMatchObject({ code: 'STALLED' })
    })

    it('fails as CUT_OFF if the connection breaks in the reply, with the text so far', async () => {
      const { adapter, params } = prepared({ texts: ['So ', 'far. '], then: 'BREAK' })
      const stream = await adapter.completeStream(params)
      const { deltas, error } = await read(stream)
      expect(deltas).toBe('So far. ')
      expect(error).toMatchObject({ code: 'CUT_OFF', retryable: true })
      expect(await failureOf(stream.final)).toBe(error)
    })

    it("ends with the signal's reason: before the call, before the reply, and within it", async () => {
      const reason = new Error('enough')
      const never = prepared({ texts: TEXTS, then: 'END' })
      const aborted = AbortSignal.abort(reason)
      expect(await failureOf(never.adapter.completeStream({ ...never.params, signal: aborted }))).toBe(reason)

      for (const texts of [[], ['So far. ']]) {
        const { adapter, params } = prepared({ texts, then: 'STALL' })
        const controller = new AbortController()
        setTimeout(() => controller.abort(reason), 100)
        const streaming = adapter.completeStream({ ...params, signal: controller.signal })
        const { error, deltas } = await streaming.then(read, (thrown: unknown) => ({ error: thrown, deltas: '' }))
        expect(error).toBe(reason)
        expect(deltas).toBe(texts.join(''))
      }
    })

    it('ends the call if the reader stops early', async () => {
      const { adapter, params } = prepared({ texts: ['So far. '], then: 'STALL' })
      const stream = await adapter.completeStream(params)
      for await (const event of stream) {
        expect(event.type).toBe('delta')
        break
      }
      expect(await failureOf(stream.final)).toMatchObject({ name: 'AbortError' })
    })

    it('fails as CLOSED after close, which ends running calls', async () => {
      const { adapter, params } = prepared({ texts: ['So far. '], then: 'STALL' })
      const stream = await adapter.completeStream(params)
      const iterator = stream[Symbol.asyncIterator]()
      await iterator.next()
      const next = iterator.next()
      await adapter.close()
      expect(await failureOf(next)).toMatchObject({ code: 'CLOSED', retryable: false })
      expect(await failureOf(adapter.complete(params))).toMatchObject({ code: 'CLOSED' })
      await adapter.close()
    })
  })
}
