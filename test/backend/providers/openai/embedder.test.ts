// The OpenAI embedder against a fake server that shuffles vectors, has limits, hangs, returns invalid data and closes
// connections. The contract of all embedders is in test/contract/.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import { dot, unit } from '../../../../src/runtime/unit-vector.ts'
import type { Embedder } from '../../../../src/providers/ports/embedder.ts'
import type { RetryPolicy } from '../../../../src/providers/openai/calls.ts'
import { createOpenAiEmbedder, type OpenAiSettings } from '../../../../src/providers/openai/embedder.ts'
import {
  createFakeOpenAi,
  encoded,
  fails,
  fakeVector,
  replies,
  type FakeLimits,
  type FakeOpenAi,
  type Responder,
} from '../../../support/fake-openai.ts'

const KEY = 'sk-secret-hunter2'

/** The requested delays, ms. The mocked timer waits a twentieth of each. */
const pauses = vi.hoisted((): number[] => [])
vi.mock('node:timers/promises', async (importOriginal) => {
  const timers = await importOriginal<typeof import('node:timers/promises')>()
  return {
    ...timers,
    setTimeout: (...[ms = 0, ...rest]: Parameters<typeof timers.setTimeout>) => {
      pauses.push(ms)
      return timers.setTimeout(ms / 20, ...rest)
    },
  }
})

let server: FakeOpenAi
let undo: (() => Promise<void>)[] = []
afterEach(async () => {
  pauses.length = 0
  for (const step of undo.splice(0).reverse()) await step()
})

async function open(limits: FakeLimits = {}): Promise<void> {
  server = await createFakeOpenAi({ dimension: 8, key: KEY, ...limits })
  undo.push(() => server.stop())
}

function client(settings: Partial<OpenAiSettings> = {}, retryPolicy: Partial<RetryPolicy> = {}): Embedder {
  const embedder = createOpenAiEmbedder(
    { baseUrl: server.url, apiKey: KEY, model: 'some-model', dimension: 8, sendsDimension: false, ...settings },
    { timeoutMs: 20_000, retries: 2, pauseMs: 500, ...retryPolicy },
  )
  undo.push(() => embedder.close())
  return embedder
}

const failureOf = async (embedding: Promise<unknown>) => {
  const failure: unknown = await embedding.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CallFailed)
  return failure as CallFailed
}
const vectorOf = (text: string, dimension = 8) => unit(Float32Array.from(fakeVector(text, dimension)))
/** Expects the vector that the fake server returns for each text. */
function expectVectors(vectors: Float32Array[], texts: string[]): void {
  expect(vectors).toHaveLength(texts.length)
  vectors.forEach((vector, i) => expect(dot(vector, vectorOf(texts[i]!))).toBeCloseTo(1, 5))
}

describe('an embedding request', () => {
  beforeEach(() => open())

  it('names the model, requests base64, sends the key, and omits the dimension for models that reject it', async () => {
    await client().embed(['one', 'two'])
    expect(server.requests).toEqual([
      { model: 'some-model', input: ['one', 'two'], encoding_format: 'base64', headers: expect.any(Object) },
    ])
    expect(server.requests[0]!.headers.authorization).toBe(`Bearer ${KEY}`)
  })

  it('sends the dimension to models that support it', async () => {
    const [vector] = await client({ dimension: 5, sendsDimension: true }).embed(['one'])
    expect(server.requests[0]!.dimensions).toBe(5)
    expect(vector).toHaveLength(5)
  })

  it('sends no key if there is none', async () => {
    await failureOf(client({ apiKey: undefined }).embed(['one']))
    expect(server.requests[0]!.headers).not.toHaveProperty('authorization')
  })

  it('is not sent if all texts are empty or blank', async () => {
    const vectors = await client().embed(['', ' \n', '\u00a0'])
    expect(vectors).toEqual(Array.from({ length: 3 }, () => new Float32Array(8)))
    expect(await client().embed([])).toEqual([])
    expect(server.requests).toEqual([])
  })

  it('contains no unpaired surrogate', async () => {
    await client().embed(['a\ud83d', '😀'.repeat(5_000)])
    expect(server.requests[0]!.input).toEqual(['a\ufffd', '😀'.repeat(2_047)])
  })
})

describe('an embedding response', () => {
  beforeEach(() => open())
  const texts = ['one', 'two', 'three']

  it('is ordered by index, in base64 or as numbers', async () => {
    const numbers: Responder = replies(({ data }) => ({
      data: data.map(({ index }) => ({ index, embedding: fakeVector(texts[index]!, 8) })),
    }))
    server.next(numbers)
    expectVectors(await client().embed(texts), texts)
    expectVectors(await client().embed(texts), texts)
  })

  it('keeps the order of its items if they have no index', async () => {
    server.next(replies(() => ({ data: texts.map((text) => ({ embedding: encoded(fakeVector(text, 8)) })) })))
    expectVectors(await client().embed(texts), texts)
  })

  it.each<[string, (regular: { data: { index: number; embedding: unknown }[] }) => unknown, RegExp, boolean]>([
    ['too few vectors', ({ data }) => ({ data: data.slice(1) }), /returned 2 vectors for 3 texts/, true],
    ['too many vectors', ({ data }) => ({ data: [...data, data[0]] }), /returned 4 vectors for 3 texts/, true],
    ['one index twice', ({ data }) => ({ data: data.map((item) => ({ ...item, index: 0 })) }), /numbered them/, true],
    [
      'an index out of range',
      ({ data }) => ({ data: data.map((item) => ({ ...item, index: item.index + 1 })) }),
      /numbered them/,
      true,
    ],
    [
      'vectors of another dimension',
      ({ data }) => ({ data: data.map((item) => ({ ...item, embedding: [1, 2, 3] })) }),
      /returned vectors of 3 components instead of 8\. Set EMBEDDING_DIMENSIONS=3,/,
      false,
    ],
    [
      'NaN',
      ({ data }) => ({ data: data.map((item) => ({ ...item, embedding: encoded(Array(8).fill(NaN)) })) }),
      /not numbers/,
      true,
    ],
    [
      'null in a vector',
      ({ data }) => ({ data: data.map((item) => ({ ...item, embedding: Array(8).fill(null) })) }),
      /not numbers/,
      true,
    ],
    ['no embedding', ({ data }) => ({ data: data.map(({ index }) => ({ index })) }), /not numbers/, true],
    [
      'a body of an unexpected shape',
      () => ({ error: 'model not loaded' }),
      /not with embeddings\. Check OPENAI_BASE_URL/,
      false,
    ],
    ['null as body', () => null, /not with embeddings/, false],
  ])('with %s is rejected, without a retry', async (_, make, message, retryable) => {
    server.next(replies(make))
    const failure = await failureOf(client().embed(texts))
    expect(failure.message).toMatch(message)
    expect(failure.message).toMatch(/^openai:some-model:8 /)
    expect(failure.retryable).toBe(retryable)
    expect(server.requests).toHaveLength(1)
  })

  it.each(['text/html', 'application/json'])('of type %s that contains HTML is rejected', async (type) => {
    server.next((response) => response.writeHead(200, { 'content-type': type }).end('<html>'))
    expect((await failureOf(client().embed(texts))).message).toMatch(/not with embeddings/)
  })
})

describe('a rejected request', () => {
  beforeEach(() => open())

  it.each([
    [400, 'unknown parameter', /with status 400\. Check EMBEDDING_MODEL and EMBEDDING_DIMENSIONS\.$/],
    [401, `Incorrect API key: ${KEY}`, /with status 401\. Check OPENAI_API_KEY\.$/],
    [403, 'no', /Check OPENAI_API_KEY\.$/],
    [404, 'model "x" not found, try pulling it first', /404\. Check EMBEDDING_MODEL\./],
  ])(
    'with status %i is not retried, and its message names the setting to check but not the key',
    async (status, text, message) => {
      server.next(fails(status, text))
      const failure = await failureOf(client().embed(['one']))
      expect(failure.message).toMatch(message)
      expect(failure.retryable).toBe(false)
      expect(JSON.stringify([failure.message, failure.stack, { ...failure }])).not.toContain('hunter2')
      expect(failure.cause).toBeUndefined()
      expect(server.requests).toHaveLength(1)
    },
  )

  it('to a URL without /v1 fails with a hint that it must end in /v1', async () => {
    const failure = await failureOf(client({ baseUrl: server.url.replace('/v1', '') }).embed(['one']))
    expect(failure).toMatchObject({ retryable: false, message: expect.stringMatching(/404\. .*it ends in \/v1\.$/) })
  })
})

describe('a failed request', () => {
  beforeEach(() => open())

  it.each([408, 409, 429, 500, 502, 503, 529])('with status %i is retried', async (status) => {
    server.next(fails(status, 'busy', { 'retry-after-ms': '1' }))
    expectVectors(await client().embed(['one']), ['one'])
    expect(server.requests).toHaveLength(2)
  })

  it('is a retryable failure after the last retry', async () => {
    server.next(...Array.from({ length: 9 }, () => fails(503, 'overloaded', { 'retry-after-ms': '1' })))
    const failure = await failureOf(client().embed(['one']))
    expect(failure).toMatchObject({ retryable: true, message: expect.stringContaining('answered with status 503.') })
    expect(server.requests).toHaveLength(3)
  })

  it('is retried after the delay that the server requests', async ({ onTestFinished }) => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-01T00:00:00Z') })
    onTestFinished(() => void vi.useRealTimers())
    server.next(
      fails(429, 'slow down', { 'retry-after': '1' }),
      fails(429, 'slow down', { 'retry-after': 'Thu, 01 Jan 2026 00:00:02 GMT' }),
    )
    await client().embed(['one'])
    expect(pauses).toEqual([1_000, 2_000])
  })

  it('is retried after increasing delays if the server requests none', async () => {
    server.next(fails(500, ''), fails(500, ''))
    await client().embed(['one'])
    const [first, second, ...more] = pauses
    // The delays are 500 and 1,000 ms, randomly shortened by up to a quarter.
    expect(first).toBeGreaterThan(370)
    expect(first).toBeLessThanOrEqual(500)
    expect(second).toBeGreaterThan(740)
    expect(second).toBeLessThanOrEqual(1_000)
    expect(more).toEqual([])
  })

  it.each([
    ['a requested delay that is too long', fails(429, 'slow down', { 'retry-after': '3600' })],
    ['an exhausted quota', fails(429, 'You exceeded your current quota', {}, 'insufficient_quota')],
  ])('with %s is a retryable failure, and is not retried immediately', async (_, fault) => {
    server.next(fault)
    expect((await failureOf(client().embed(['one']))).retryable).toBe(true)
    expect(server.requests).toHaveLength(1)
  })

  const hangs: Responder = () => {}
  const hangsInAnswer: Responder = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"data": [')
  }
  const closes: Responder = (response) => void response.destroy()
  const closesInAnswer: Responder = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '999' })
    response.write('{"data": [', () => response.destroy())
  }

  it.each([
    ['hangs', hangs, /cannot be reached: no answer within 0.2 s\./],
    ['hangs in its answer', hangsInAnswer, /no answer/],
    ['closes the connection', closes, /cannot be reached: /],
    ['closes the connection in its answer', closesInAnswer, /cannot be reached: /],
  ])('to a server that %s is retried, and is a retryable failure after the last retry', async (_, fault, message) => {
    const embedder = client({}, { timeoutMs: 200, retries: 1 })
    server.next(fault)
    expectVectors(await embedder.embed(['one']), ['one'])
    server.next(fault, fault)
    const failure = await failureOf(embedder.embed(['one']))
    expect(failure).toMatchObject({ retryable: true, message: expect.stringMatching(message) })
  })

  it('to a server that is down succeeds once the server is up', async () => {
    await server.stop()
    expect((await failureOf(client({}, { retries: 0 }).embed(['one']))).message).toMatch(
      /cannot be reached: ECONNREFUSED\. Check OPENAI_BASE_URL, and that the server is running\.$/,
    )
    const embedding = client().embed(['one'])
    // The server starts in the delay before one of the two retries.
    await expect.poll(() => pauses.length, { interval: 1 }).toBe(1)
    await server.start()
    expectVectors(await embedding, ['one'])
  })

  it('rejects on an abort signal and on close, in a delay and in a request', async () => {
    server.next(fails(503, '', { 'retry-after': '10' }), hangs)
    const [pausing, hanging] = [client(), client()]
    const reason = new Error('enough')
    const abort = new AbortController()
    const rejections = [
      expect(pausing.embed(['one'], abort.signal)).rejects.toBe(reason),
      failureOf(hanging.embed(['one'])),
    ] as const
    await expect.poll(() => [pauses.length, server.requests.length]).toEqual([1, 2])
    abort.abort(reason)
    void hanging.close()
    expect((await Promise.all(rejections))[1].message).toContain('is closed')
  })
})

describe('a large input', () => {
  it("is split by number and by size into requests within OpenAI's limits", async () => {
    await open()
    const many = Array.from({ length: 300 }, (_, i) => `text ${i}`)
    expectVectors(await client().embed(many), many)
    expect(server.requests.map(({ input }) => input.length)).toEqual([128, 128, 44])
    server.requests.length = 0
    const long = Array.from({ length: 70 }, (_, i) => `${i} ${'語'.repeat(4_000)}`)
    await client().embed(long)
    const sizes = server.requests.map(({ input }) => Buffer.byteLength(input.join('')))
    expect(sizes.length).toBe(3)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256 * 1024)
    expect(server.requests.flatMap(({ input }) => input).every((text, i) => long[i]!.startsWith(text))).toBe(true)
  })

  it('is split further for a server with lower limits, and a long text is truncated', async () => {
    await open({ textBytes: 600, texts: 3 })
    const short = ['a', 'b', 'c', 'd', 'e']
    const long = 'word '.repeat(1_000)
    const vectors = await client().embed([...short, long])
    expectVectors(vectors.slice(0, 5), short)
    expect(server.requests.at(-1)!.input).toEqual([long.slice(0, 312)])
    const [alone] = await client().embed([long])
    expect(dot(vectors[5]!, alone!)).toBeCloseTo(1, 5)
  })

  it('fails if no split makes it small enough', async () => {
    await open({ textBytes: 10 })
    const failure = await failureOf(client().embed(['word '.repeat(1_000)]))
    expect(failure).toMatchObject({
      retryable: false,
      message: expect.stringContaining('with status 400: the input is too long.'),
    })
    expect(server.requests.length).toBeLessThan(10)
  })
})
