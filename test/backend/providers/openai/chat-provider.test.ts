// The openai provider against a local server that sends Server-Sent Events: texts exact to the byte in pieces of any
// size, tool calls, usage, failures before and within the reply, and the limits of a reply. The contract of all
// adapters is in test/contract/.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ChatAdapter } from '../../../../src/providers/chat-adapter.ts'
import { MAX_REPLY_BYTES, MAX_REPLY_CALLS } from '../../../../src/providers/reply.ts'
import { createOpenAiProvider, type OpenAiProviderSettings } from '../../../../src/providers/openai/chat-provider.ts'
import type {
  ProviderCallFailed,
  ProviderCallParams,
  ProviderMessage,
} from '../../../../src/providers/ports/provider-adapter.ts'
import {
  breaksAfter,
  chunk,
  createFakeModel,
  DONE,
  events,
  open,
  refuses,
  replyOf,
  streams,
  trickles,
  usageChunk,
  type FakeModel,
} from '../../../support/fake-model.ts'

const KEY = 'sk-secret-hunter2'
let model: FakeModel
let adapters: ChatAdapter[] = []
beforeAll(async () => {
  model = await createFakeModel()
})
afterEach(async () => {
  model.requests.length = 0
  for (const each of adapters.splice(0)) await each.close()
})
afterAll(() => model.stop())

function provider(settings: Partial<OpenAiProviderSettings> = {}): ChatAdapter {
  const adapter = createOpenAiProvider({ baseUrl: model.url, apiKey: KEY, stallMs: 5_000, ...settings })
  adapters.push(adapter)
  return adapter
}

const user = (text: string): ProviderMessage => ({ role: 'user', content: [{ type: 'text', text }] })
const params = (given: Partial<ProviderCallParams> = {}): ProviderCallParams => ({
  messages: [user('How are you?')],
  metadata: { provider: 'openai', model: 'fake-1' },
  ...given,
})
const textOf = ({ content }: ProviderMessage) =>
  content.map((part) => (part.type === 'text' ? (part.text as string) : '')).join('')

/** Reads a call to its end. `deltas` are the texts that arrived, and `error` is the error that the stream threw. */
async function read(adapter = provider(), given = params()) {
  const deltas: string[] = []
  try {
    const stream = await adapter.completeStream(given)
    for await (const event of stream) if (event.type === 'delta') deltas.push(textOf(event.delta))
    return { deltas, text: deltas.join(''), result: await stream.final, error: null }
  } catch (error) {
    return { deltas, text: deltas.join(''), result: null, error: error as ProviderCallFailed }
  }
}

const WORDS = ['The 🛶 ', 'lies ', 'am ', 'Fluß; ', '"καλημέρα", ', 'said 👩‍👩‍👧. ', 'Nul: \u2028 ', 'tab\tend\\n']

describe('a streamed reply', () => {
  it('is exact to the byte, with its usage, in pieces of any size', async () => {
    const text = events(replyOf(...WORDS)) + DONE
    for (const size of [1, 2, 3, 7, 61, 10_000]) {
      model.next(trickles(text, size))
      const { text: read_, result, error } = await read()
      expect(error).toBeNull()
      expect(Buffer.from(read_)).toEqual(Buffer.from(WORDS.join('')))
      expect(result).toMatchObject({
        id: 'chatcmpl-1',
        usage: { inputTokens: 11, outputTokens: WORDS.length, totalTokens: 11 + WORDS.length },
        finishReason: 'stop',
        raw: { model: 'fake-1', usage: { prompt_tokens: 11 } },
      })
      expect(textOf(result!.message)).toBe(read_)
    }
  })

  it('may take longer than the limit of silence while pieces arrive', async () => {
    // 8 events of about 200 bytes: each piece comes after 20 ms, and all of them after some 800 ms.
    model.next(trickles(events(replyOf(...WORDS)) + DONE, 50, 20))
    const started = Date.now()
    const { text, error } = await read(provider({ stallMs: 300 }))
    expect(error).toBeNull()
    expect(text).toBe(WORDS.join(''))
    expect(Date.now() - started).toBeGreaterThan(300)
  })

  it('does not stall while comments arrive', async () => {
    model.next(async (response) => {
      open(response)
      for (let at = 0; at < 10; at++) {
        response.write(': still thinking\n\n')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      response.end(events(replyOf('Now.')) + DONE)
    })
    expect(await read(provider({ stallMs: 300 }))).toMatchObject({ text: 'Now.', error: null })
  })

  it('may have other line ends, an event without a space, fields of other types, and no end mark', async () => {
    const text = events([
      chunk({ content: 'One. ' }),
      { ...chunk({}), choices: null, usage: 'x' },
      chunk({ content: null }),
    ])
    const rest = `event: message\r\nid: 3\r\ndata:${JSON.stringify(chunk({ content: 'Two.' }, 'stop'))}\r\n\r\n`
    model.next(trickles(text.replaceAll('\n', '\r\n') + rest, 1))
    const { text: got, result, error } = await read()
    expect(error).toBeNull()
    expect(got).toBe('One. Two.')
    expect(result!.usage).toBeUndefined()
  })

  it('has the reason why the model stopped, and the text of a refusal', async () => {
    for (const [finish, expected] of [
      ['length', 'length'],
      ['content_filter', 'content-filter'],
      ['something new', 'other'],
    ]) {
      model.next(streams(chunk({ content: 'Cut' }), chunk({}, finish)))
      expect((await read()).result).toMatchObject({ finishReason: expected })
    }
    model.next(streams(chunk({ refusal: 'I may not.' }, 'stop')))
    expect((await read()).text).toBe('I may not.')
  })
})

describe('tool calls', () => {
  const delta = (...calls: object[]) => chunk({ tool_calls: calls })

  it.each([
    [
      'in interleaved pieces, one of them without arguments',
      [
        delta({ index: 0, id: 'a', function: { name: 'search', arguments: '' } }),
        delta({ index: 1, id: 'b', function: { name: 'now' } }),
        delta({ index: 0, function: { arguments: '{"q":"fl' } }, { index: 2, id: 'c', function: { name: 'search' } }),
        delta({ index: 2, function: { arguments: '{"q":1}' } }, { index: 0, function: { arguments: 'uß"}' } }),
      ],
      [
        { id: 'a', name: 'search', arguments: { q: 'fluß' } },
        { id: 'b', name: 'now', arguments: {} },
        { id: 'c', name: 'search', arguments: { q: 1 } },
      ],
    ],
    [
      'as whole calls, all with the index 0',
      [
        delta({ index: 0, id: 'a', function: { name: 'now', arguments: '{"at":1}' } }),
        delta({ index: 0, id: 'b', function: { name: 'now', arguments: '{"at":2}' } }),
      ],
      [
        { id: 'a', name: 'now', arguments: { at: 1 } },
        { id: 'b', name: 'now', arguments: { at: 2 } },
      ],
    ],
    [
      'without an index, with arguments that are an object',
      [delta({ id: 'a', function: { name: 'now', arguments: { at: 1 } } })],
      [{ id: 'a', name: 'now', arguments: { at: 1 } }],
    ],
    [
      'with arguments that are not JSON, as a text',
      [delta({ index: 0, id: 'a', function: { name: 'now', arguments: '{"at":' } })],
      [{ id: 'a', name: 'now', arguments: '{"at":' }],
    ],
    [
      'with the name repeated',
      [
        delta({ index: 0, id: 'a', function: { name: 'now', arguments: '{' } }),
        delta({ index: 0, id: 'a', function: { name: 'now', arguments: '}' } }),
      ],
      [{ id: 'a', name: 'now', arguments: {} }],
    ],
  ])('are read %s', async (_, chunks, expected) => {
    model.next(streams(...chunks, chunk({}, 'tool_calls'), usageChunk(1, 2)))
    const { result } = await read()
    expect(result!.toolCalls).toEqual(expected)
    expect(result).toMatchObject({ finishReason: 'tool-calls' })
  })

  it('get new ids if the server sends none, a repeated one or one with other characters', async () => {
    const call = (index: number, id?: string) => ({
      index,
      ...(id && { id }),
      function: { name: 'now', arguments: '{}' },
    })
    model.next(
      streams(delta(call(0), call(1, 'a')), delta(call(2, 'a')), delta(call(3, 'ä'.repeat(3))), chunk({}, 'stop')),
    )
    const { result } = await read()
    const ids = result!.toolCalls!.map(({ id }) => id)
    expect(ids).toEqual([
      expect.stringMatching(/^call_/),
      'a',
      expect.stringMatching(/^call_/),
      expect.stringMatching(/^call_/),
    ])
    expect(new Set(ids).size).toBe(4)
    // Some servers say "stop" despite the calls.
    expect(result).toMatchObject({ finishReason: 'tool-calls' })
  })

  it('without a name fail with BAD_REPLY, and too many fail with REPLY_TOO_LARGE', async () => {
    model.next(streams(delta({ index: 0, id: 'a', function: { arguments: '{}' } }), chunk({}, 'tool_calls')))
    expect((await read()).error).toMatchObject({ code: 'BAD_REPLY' })
    const many = Array.from({ length: MAX_REPLY_CALLS + 1 }, (_, index) =>
      delta({ index, id: `c${index}`, function: { name: 'now', arguments: '{}' } }),
    )
    model.next(streams(...many, chunk({}, 'tool_calls')))
    expect((await read()).error).toMatchObject({
      code: 'REPLY_TOO_LARGE',
      message: expect.stringContaining('100 tool calls'),
    })
  })
})

describe('a failure before the reply', () => {
  it('with status 429 names the requested pause; the next call succeeds', async () => {
    for (const [headers, retryAfterMs] of [
      [{ 'retry-after': '2' }, 2_000],
      [{ 'retry-after-ms': '120' }, 120],
      [{}, null],
    ] as const) {
      model.next(refuses(429, { message: 'slow down', code: 'rate_limit_exceeded' }, headers))
      const adapter = provider()
      expect((await read(adapter)).error).toMatchObject({
        code: 'RATE_LIMITED',
        status: 429,
        retryable: true,
        retryAfterMs,
      })
      expect(await read(adapter)).toMatchObject({ text: 'Hello there.', error: null })
    }
    // One request for each call: the client does not retry.
    expect(model.requests).toHaveLength(6)
  })

  it.each([
    [429, { code: 'insufficient_quota' }, 'QUOTA_EXHAUSTED', false],
    [500, {}, 'UNAVAILABLE', true],
    [503, {}, 'UNAVAILABLE', true],
    [408, {}, 'UNAVAILABLE', true],
    [401, {}, 'REFUSED', false],
    [404, { code: 'model_not_found' }, 'REFUSED', false],
    [400, { message: "This model's maximum context length is 8192 tokens." }, 'CONTEXT_TOO_LONG', false],
    [413, {}, 'CONTEXT_TOO_LONG', false],
  ])('with status %i and %j is %s', async (status, error, code, retryable) => {
    model.next(refuses(status, { message: `no ${KEY}`, ...error }))
    const failed = (await read()).error!
    expect(failed).toMatchObject({ code, status, retryable })
    expect(failed.message).toContain(`openai:fake-1 answered with status ${status}`)
    expect(failed.message).not.toContain('hunter2')
  })

  it('reads only the beginning of the body of an error', async () => {
    let sent = 0
    model.next((response) => {
      response.writeHead(500, { 'content-type': 'application/json' })
      const piece = Buffer.alloc(64 * 1024, 'x')
      const write = () => {
        while (!response.destroyed && (sent += piece.length) < 512 * 1024 * 1024 && response.write(piece));
      }
      response.on('drain', write)
      write()
    })
    expect((await read()).error).toMatchObject({ code: 'UNAVAILABLE', status: 500 })
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })

  it('names the setting of the URL if another service answers, and no address if none does', async () => {
    const settingNames = { url: 'the baseUrl of x', key: 'the key of x', model: 'the model of x' }
    model.next((response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
    const { error } = await read(provider({ settingNames }))
    expect(error).toMatchObject({
      code: 'BAD_REPLY',
      retryable: false,
      message: expect.stringContaining('the baseUrl of x'),
    })
    const gone = (await read(provider({ baseUrl: 'http://127.0.0.1:9/v1', settingNames }))).error!
    expect(gone).toMatchObject({ code: 'UNREACHABLE', status: null, retryable: true })
    expect(gone.message).not.toContain('127.0.0.1')
  })
})

describe('an interrupted reply', () => {
  const begun = events([chunk({ content: 'So ' }), chunk({ content: 'far. ' })])

  it.each([
    ['a cut connection', breaksAfter(begun), 'CUT_OFF'],
    [
      'a cut in the middle of a character',
      breaksAfter(begun + 'data: {"choices":[{"delta":{"content":"\u00c3'),
      'CUT_OFF',
    ],
    ['a regular end without a finish', trickles(begun, 20), 'CUT_OFF'],
    ['an end mark without a finish', trickles(begun + DONE, 20), 'CUT_OFF'],
    ['a garbage line', trickles(`${begun}data: {"choices": [garbage\n\n${events(replyOf('x'))}`, 50), 'BAD_REPLY'],
    ['an event that is not an object', trickles(`${begun}data: null\n\n`, 50), 'BAD_REPLY'],
    ['an error event', trickles(`${begun}data: {"error":{"message":"${KEY}","code":502}}\n\n`, 50), 'UNAVAILABLE'],
  ])('keeps the text so far, and fails after %s', async (_, responder, code) => {
    model.next(responder)
    const { text, error } = await read()
    expect(text).toBe('So far. ')
    expect(error).toMatchObject({ code, retryable: true })
    expect(error!.message).not.toMatch(/garbage|hunter2/)
  })

  it('is complete without its usage if it is cut after the finish', async () => {
    model.next(breaksAfter(begun + events([chunk({}, 'stop')])))
    const { text, result } = await read()
    expect(text).toBe('So far. ')
    expect(result).toMatchObject({ finishReason: 'stop' })
    expect(result!.usage).toBeUndefined()
  })

  it('is complete despite lines that are not events', async () => {
    model.next(trickles(`garbage\n\n${events(replyOf('Fine.'))}more garbage\n${DONE}`, 9))
    expect(await read()).toMatchObject({ text: 'Fine.', error: null })
  })
})

describe('a reply of 10 MB', () => {
  const MiB = 1024 * 1024

  it('fails at the limit with the text so far, and the connection is closed', async () => {
    let sent = 0
    let closed: Promise<unknown> = Promise.resolve()
    model.next(async (response) => {
      closed = new Promise((resolve) => response.on('close', resolve))
      open(response)
      const event = events([chunk({ content: 'ä'.repeat(4_096) })])
      while (sent < 10 * MiB && !response.destroyed) {
        sent += 8_192
        if (response.write(event)) continue
        await Promise.race([closed, new Promise((resolve) => response.once('drain', resolve))])
      }
      response.end()
    })
    const { text, error } = await read()
    expect(error).toMatchObject({
      code: 'REPLY_TOO_LARGE',
      retryable: false,
      message: expect.stringContaining(String(MAX_REPLY_BYTES)),
    })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_REPLY_BYTES)
    expect(Buffer.byteLength(text)).toBeGreaterThan(MAX_REPLY_BYTES - 8_192)
    await closed
    expect(sent).toBeLessThan(10 * MiB)
  })

  it('fails even in one event, or in the arguments of a call', async () => {
    model.next(streams(chunk({ content: 'x'.repeat(10 * MiB) }), chunk({}, 'stop')))
    const { error } = await read()
    expect(error).toMatchObject({ code: 'REPLY_TOO_LARGE', message: expect.stringContaining('a line of more than') })
    const piece = (text: string) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })
    const pieces = Array.from({ length: 20 }, () => piece('x'.repeat(MiB / 2)))
    model.next(streams(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'now' } }] }), ...pieces))
    expect((await read()).error).toMatchObject({ code: 'REPLY_TOO_LARGE' })
  })
})

describe('the request', () => {
  it('contains the messages, the tools, the limit and the context of the caller', async () => {
    const messages: ProviderMessage[] = [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be ' },
          { type: 'text', text: 'brief.' },
        ],
      },
      { ...user('Where is it?'), name: 'Ada Löw' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', id: 'c1', name: 'search', arguments: { q: 1 } },
          { type: 'tool-call', id: 'c2', name: 'now', arguments: '{bad' },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-result', id: 'c1', name: 'search', result: { found: 2 } }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See ' },
          { type: 'file', mediaType: 'image/png', url: 'https://x.example/a.png' },
          { type: 'file', mediaType: 'text/plain', url: 'https://x.example/b.txt', fileName: 'b.txt' },
          { type: 'sources', ids: ['turn_1'] },
          { type: 'unknown', text: 'hidden' },
        ],
      },
      { role: 'assistant', content: [{ type: 'metadata', data: 1 }] },
    ]
    await read(
      provider({ acceptsImages: true }),
      params({
        messages,
        tools: [{ name: 'search', description: 'Searches.', schema: { type: 'object' } }, { name: 'now' }],
        toolChoice: { name: 'search' },
        maxTokens: 50,
        metadata: {
          provider: 'openai',
          model: 'fake-1',
          extensions: { openai: { temperature: 0, model: 'dear', n: 9 }, 'ai.operation': 'chat' },
        },
        agentContext: { traceparent: '00-1-2-01', requestId: 'r 1', runId: 'x' },
      }),
    )
    const [request] = model.requests
    const { headers, ...body } = request!
    expect(body).toEqual({
      model: 'fake-1',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      temperature: 0,
      tool_choice: { type: 'function', function: { name: 'search' } },
      tools: [
        { type: 'function', function: { name: 'search', description: 'Searches.', parameters: { type: 'object' } } },
        { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
      ],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', name: 'Ada_L_w', content: 'Where is it?' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"q":1}' } },
            { id: 'c2', type: 'function', function: { name: 'now', arguments: '{bad' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: '{"found":2}' },
        { role: 'tool', tool_call_id: 'c2', content: 'There is no result: the call was not answered.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See ' },
            { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
            { type: 'text', text: '[file: b.txt, text/plain, https://x.example/b.txt]' },
          ],
        },
      ],
    })
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, traceparent: '00-1-2-01' })
    expect(headers['x-client-request-id']).toBeUndefined()
  })

  it('names images as text, unless the models accept them: by default only those at api.openai.com', async () => {
    const image = { type: 'file', mediaType: 'image/png', url: 'https://x.example/a.png' }
    await read(provider(), params({ messages: [{ role: 'user', content: [image] }] }))
    expect(model.requests.at(-1)!.messages).toEqual([
      { role: 'user', content: '[file: image/png, https://x.example/a.png]' },
    ])
    const accepts = (baseUrl: string, acceptsImages?: boolean) =>
      createOpenAiProvider({ baseUrl, apiKey: KEY, acceptsImages }).acceptsImages
    expect(accepts('https://api.openai.com/v1')).toBe(true)
    expect(accepts('https://api.openai.com/v1', false)).toBe(false)
    expect(accepts('https://api.openai.com.example/v1')).toBe(false)
    expect(accepts('http://127.0.0.1:11434/v1')).toBe(false)
    expect(accepts('http://127.0.0.1:11434/v1', true)).toBe(true)
  })

  it('sends no key to a server without one, and reads none from the environment', async () => {
    process.env.OPENAI_API_KEY = KEY
    try {
      await read(provider({ apiKey: undefined }))
    } finally {
      delete process.env.OPENAI_API_KEY
    }
    expect(model.requests[0]!.headers.authorization).toBeUndefined()
  })
})
