// Writing streaming turns: every word once while connections are cut, usage on commit, and an abort that keeps the text
// whenever the source, the writer or the server fails.

import { streamText, simulateReadableStream } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ColloquyError, WriteOptions, Source } from '../../../../src/client/index.ts'
import { clientOf, nextMutation } from '../../../support/client.ts'
import { backends } from '../../../support/backend.ts'
import { createFakeChat } from '../../../support/fake-chat.ts'
import { createProxy } from '../../../support/proxy.ts'
import { useServer } from '../../../support/server.ts'
import { sql } from '../../../support/sql.ts'

const HEARTBEAT_MS = 1_000
const wordsText = (count: number) => Array.from({ length: count }, (_, index) => `word ${index} `).join('')

/** A model of the AI SDK that streams two words, and then the given part. */
const modelWith = (last: object) =>
  new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream<any>({
        chunks: [
          { type: 'stream-start', warnings: [] },
          { type: 'response-metadata', modelId: 'mock' },
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: 'Hello ' },
          { type: 'text-delta', id: '1', delta: 'there' },
          last,
        ],
      }),
    }),
  })
const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 5 }, outputTokens: { total: 2 } },
}
const overloaded = { type: 'error', error: new Error('overloaded') }
const streamed = (last: object) =>
  streamText({ model: modelWith(last), prompt: 'Hi', onError: () => {}, maxRetries: 0 })

describe.each(backends)('write on $name', (backend) => {
  const server = useServer(backend)
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start(address = server.url) {
    const tenant = server.tenant()
    const id = await tenant.newConversation('ada', 'bob')
    const conversation = clientOf(address, tenant.name, 'bob', undefined, { timeoutMs: 1_000 }).conversation(id)
    const turns = async () => {
      const query = `{ conversation(id: "${id}") { history { ... on Turn { status text abortReason } } } }`
      const { body } = await server.post({ query }, { 'x-tenant': tenant.name, 'x-actor': 'ada' })
      return body.data.conversation.history as { status: string; text: string; abortReason: string | null }[]
    }
    /** Writes, and returns the code of the failure and the turn. */
    const fails = async (source: Source | PromiseLike<Source>, options?: WriteOptions) => {
      const failure: ColloquyError = await conversation.write(source, options).then(
        () => expect.fail('The turn was committed.'),
        (error) => error,
      )
      return { failure, turn: (await turns())[0]! }
    }
    return { conversation, turns, fails }
  }

  it('writes every word once while connections are cut and answers are lost', async () => {
    const proxy = await createProxy(server.url)
    closing.push(proxy.close)
    const { conversation, turns } = await start(proxy.url)
    const isWritten = async (index: number) => {
      await expect.poll(async () => (await turns())[0]?.text, { interval: 5 }).toContain(`word ${index} `)
    }
    const words = async function* () {
      for (let index = 0; index < 40; index++) {
        yield `word ${index} `
        // Each fault hits another request, because a word is sent after the answer to the one before it.
        if (index % 6 === 0) await isWritten(index)
        if (index % 6 !== 5) continue
        const executed = nextMutation()
        if (index % 12 === 11) {
          // The server executes the next request, but its answer is lost.
          proxy.silence('new connections')
          proxy.drop()
        }
        await executed
        proxy.drop()
        proxy.resume()
      }
    }
    expect((await conversation.write(words())).text).toBe(wordsText(40))
    expect(await turns()).toEqual([{ status: 'COMMITTED', text: wordsText(40), abortReason: null }])
  })

  it('keeps the turn open while its source is silent for longer than the lease', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    closing.push(() => vi.useRealTimers())
    const { conversation, turns } = await start()
    const age = "interval '4 s' WHERE turn_id = (SELECT turn_id FROM stream WHERE lease_seconds = 5)"
    const source = (async function* () {
      yield 'before '
      await expect.poll(async () => (await turns())[0]?.text).toBe('before ')
      for (let beat = 0; beat < 3; beat++) {
        await sql(server.deps.pool).query(`UPDATE stream SET renewed_at = renewed_at - ${age}`)
        await sql(server.deps.pool).query(`UPDATE chunk SET written_at = written_at - ${age}`)
        const written = nextMutation()
        vi.advanceTimersByTime(HEARTBEAT_MS)
        await written
      }
      yield 'after'
    })()
    const options = { leaseSeconds: 5, heartbeatMs: HEARTBEAT_MS }
    expect((await conversation.write(source, options)).text).toBe('before after')
  })

  it('commits text, model and usage of the AI SDK, from the result or its fullStream', async () => {
    const { conversation } = await start()
    const expected = { text: 'Hello there', model: 'mock', tokenUsage: { prompt: 5, completion: 2 }, role: 'ASSISTANT' }
    expect(await conversation.write(streamed(finish))).toMatchObject(expected)
    expect(await conversation.write(streamed(finish).fullStream)).toMatchObject(expected)
  })

  it.each<[string, () => { source: Source; until?: PromiseLike<unknown> }]>([
    ['the result', () => ({ source: streamed(overloaded) })],
    ['its fullStream', () => ({ source: streamed(overloaded).fullStream })],
    [
      'its textStream with `until`',
      () => {
        const result = streamed(overloaded)
        return { source: result.textStream, until: result.finishReason }
      },
    ],
  ])('aborts half an answer of a model of the AI SDK that failed: %s', async (_, given) => {
    const { fails } = await start()
    const { source, until } = given()
    const { failure, turn } = await fails(source, { until })
    expect(failure).toMatchObject({ code: 'SOURCE_FAILED' })
    // Other participants read the reason, so it does not contain the text of the error.
    expect(turn).toEqual({ status: 'ABORTED', text: 'Hello there', abortReason: 'The source of the answer failed.' })
  })

  it('commits half an answer from a bare textStream, which hides the error of the model', async () => {
    const { conversation } = await start()
    expect((await conversation.write(streamed(overloaded).textStream)).text).toBe('Hello there')
  })

  describe("a stream of OpenAI's SDK", () => {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const ask = async (...lines: string[]) => {
      const chat = await createFakeChat(undefined, () => (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const line of lines) response.write(line)
        response.end()
      })
      closing.push(chat.stop)
      const openai = new OpenAI({ baseURL: chat.url, apiKey: 'none', maxRetries: 0 })
      return openai.chat.completions.create({ model: 'gpt', messages: [{ role: 'user', content: 'Hi' }], stream: true })
    }
    const usage = `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })}\n\n`

    it('is committed with its tool call and usage', async () => {
      const { conversation } = await start()
      const call = { tool_calls: [{ index: 0, id: 'c', function: { name: 'tides', arguments: '{"port":"Hull"}' } }] }
      const source = ask(chunk({ content: 'Hello' }), chunk(call), chunk({}, 'tool_calls'), usage, 'data: [DONE]\n\n')
      expect(await conversation.write(source)).toMatchObject({
        text: 'Hello',
        model: 'gpt',
        tokenUsage: { prompt: 7, completion: 3 },
        parts: [{ text: 'Hello' }, { callId: 'c', name: 'tides', arguments: { port: 'Hull' } }],
      })
    })

    it.each([
      ['ends before the model has finished', [chunk({ content: 'Hel' })]],
      ['has an error', [chunk({ content: 'Hel' }), 'data: {"error":{"message":"overloaded"}}\n\n']],
      ['has a garbled line', [chunk({ content: 'Hel' }), 'data: {"choices":\n\n']],
    ])('is aborted if it %s', async (_, lines) => {
      const { fails } = await start()
      const { failure, turn } = await fails(ask(...lines))
      expect(failure.code).toBe('SOURCE_FAILED')
      expect(turn).toMatchObject({ status: 'ABORTED', text: 'Hel' })
    })

    it('is aborted if the request itself fails', async () => {
      const { fails } = await start()
      const { failure, turn } = await fails(Promise.reject(new Error('401')))
      expect(failure.code).toBe('SOURCE_FAILED')
      expect(turn).toMatchObject({ status: 'ABORTED', text: '' })
    })
  })

  it.each([[undefined], [null], [5], [{ text: 'Hello' }]])(
    'refuses the source %j before anything is written, and names what it accepts',
    async (source) => {
      const { conversation, turns } = await start()
      const failure: Error = await conversation.write(source as never).catch((error) => error)
      expect(failure).toBeInstanceOf(TypeError)
      expect(failure.message).toContain('async iterable, ReadableStream')
      expect(await turns()).toEqual([])
    },
  )

  it('aborts the turn if the source is a promise of something else', async () => {
    const { fails } = await start()
    const { failure, turn } = await fails(Promise.resolve(undefined) as never)
    expect(failure).toBeInstanceOf(TypeError)
    expect(turn).toMatchObject({ status: 'ABORTED', text: '' })
  })

  it('writes the texts of an array', async () => {
    const { conversation } = await start()
    expect((await conversation.write(['Hello ', 'there'])).text).toBe('Hello there')
  })

  it('stops when its signal is aborted, although the source is silent', async () => {
    const { fails, turns } = await start()
    const controller = new AbortController()
    let speak = () => {}
    const silence = new Promise<void>((resolve) => (speak = resolve))
    let isClosed = false
    const source = (async function* () {
      try {
        yield 'Hel'
        await expect.poll(async () => (await turns())[0]?.text).toBe('Hel')
        controller.abort('Stopped by Ada.')
        await silence
      } finally {
        isClosed = true
      }
    })()
    const { failure, turn } = await fails(source, { signal: controller.signal })
    expect(failure).toBe('Stopped by Ada.')
    expect(turn).toEqual({ status: 'ABORTED', text: 'Hel', abortReason: 'Stopped by Ada.' })
    expect(isClosed).toBe(false)
    speak()
    await expect.poll(() => isClosed).toBe(true)
  })

  it('fails with the error of the server, and closes the source, if the turn is too long', async () => {
    const { fails, turns } = await start()
    const { failure } = await fails(
      (async function* () {
        for (;;) yield 'x'.repeat(20_000)
      })(),
    )
    expect(failure).toMatchObject({ code: 'INVALID_INPUT' })
    // On a slow machine, the lease of the turn ends before the abort arrives.
    await expect.poll(async () => (await turns())[0]!.status).toBe('ABORTED')
  })
})
