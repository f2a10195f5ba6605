// The reranker for servers against a fake server that has limits, hangs, returns invalid data and closes connections.
// The contract of all rerankers is in test/contract/.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RetryPolicy } from '../../../../src/providers/openai/calls.ts'
import { createOpenAiReranker } from '../../../../src/providers/openai/reranker.ts'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import type { Reranker } from '../../../../src/providers/ports/reranker.ts'
import {
  answersWith,
  createFakeRerank,
  fakeRelevance,
  refusesWith,
  type FakeRerank,
  type FakeRerankLimits,
  type RerankResponder,
} from '../../../support/fake-rerank.ts'

const KEY = 'sk-secret-hunter2'
const QUERY = 'where is the cat'
const TEXTS = ['the dog barks', 'the cat is here', 'nothing']
const SCORES = TEXTS.map((text) => fakeRelevance(QUERY, text))

let server: FakeRerank
let undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function open(form: 'documents' | 'texts' = 'documents', limits: FakeRerankLimits = {}): Promise<void> {
  server = await createFakeRerank(form, { key: KEY, ...limits })
  undo.push(() => server.stop())
}

function client(
  settings: { baseUrl?: string; apiKey?: string | undefined; model?: string | null } = {},
  retryPolicy: Partial<RetryPolicy> = {},
): Reranker {
  const reranker = createOpenAiReranker(
    { baseUrl: server.url, apiKey: KEY, model: 'some-model', ...settings },
    { timeoutMs: 20_000, retries: 1, pauseMs: 1, ...retryPolicy },
  )
  undo.push(() => reranker.close())
  return reranker
}

const failureOf = async (scoring: Promise<unknown>) => {
  const failure: unknown = await scoring.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CallFailed)
  return failure as CallFailed
}

describe('a request for scores', () => {
  it('has the model, the query, the documents and the key, and returns the scores in the order of the texts', async () => {
    await open()
    expect(await client().score(QUERY, TEXTS)).toEqual(SCORES)
    expect(server.requests).toEqual([
      { model: 'some-model', query: QUERY, documents: TEXTS, headers: expect.any(Object) },
    ])
    expect(server.requests[0]!.headers.authorization).toBe(`Bearer ${KEY}`)
  })

  it('has the texts and no model for Text Embeddings Inference, which cuts them', async () => {
    await open('texts')
    expect(await client({ model: null }).score(QUERY, TEXTS)).toEqual(SCORES)
    expect(server.requests).toEqual([{ query: QUERY, texts: TEXTS, truncate: true, headers: expect.any(Object) }])
  })

  it('sends no key if there is none', async () => {
    await open()
    await failureOf(client({ apiKey: undefined }).score(QUERY, TEXTS))
    expect(server.requests[0]!.headers).not.toHaveProperty('authorization')
  })

  it('is not sent without texts', async () => {
    await open()
    expect(await client().score(QUERY, [])).toEqual([])
    expect(server.requests).toEqual([])
  })

  it('contains no unpaired surrogate, and only the beginning of long texts', async () => {
    await open()
    await client().score('q'.repeat(2_000), ['a\ud83d', '😀'.repeat(5_000)])
    expect(server.requests[0]).toMatchObject({ query: 'q'.repeat(1_024), documents: ['a\ufffd', '😀'.repeat(1_024)] })
  })
})

describe('a reply with scores', () => {
  beforeEach(() => open())

  it('may be a list, with the names of Text Embeddings Inference', async () => {
    server.next(answersWith((regular) => regular.map(({ index, relevance_score: score }) => ({ index, score }))))
    expect(await client().score(QUERY, TEXTS)).toEqual(SCORES)
  })

  it('may have negative scores', async () => {
    server.next(answersWith(() => ({ results: TEXTS.map((_, index) => ({ index, relevance_score: -1 - index })) })))
    expect(await client().score(QUERY, TEXTS)).toEqual([-1, -2, -3])
  })

  it.each<[string, Parameters<typeof answersWith>[0], RegExp, boolean]>([
    ['too few scores', (all) => ({ results: all.slice(1) }), /returned 2 scores for 3 texts/, true],
    ['too many scores', (all) => ({ results: [...all, all[0]] }), /returned 4 scores for 3 texts/, true],
    ['one index twice', (all) => ({ results: all.map((item) => ({ ...item, index: 0 })) }), /numbered them/, true],
    [
      'an index out of range',
      (all) => ({ results: all.map((item) => ({ ...item, index: item.index + 1 })) }),
      /numbered them/,
      true,
    ],
    [
      'no index',
      (all) => ({ results: all.map(({ relevance_score }) => ({ relevance_score })) }),
      /numbered them/,
      true,
    ],
    ['no score', (all) => ({ results: all.map(({ index }) => ({ index })) }), /not a number/, true],
    [
      'a score that is text',
      (all) => ({ results: all.map(({ index }) => ({ index, relevance_score: '1' })) }),
      /not a number/,
      true,
    ],
    ['null in its list', () => ({ results: [null, null, null] }), /not a number/, true],
    ['a body of an unexpected shape', () => ({ data: [] }), /not with scores\. Check RERANK_URL/, false],
    ['null as body', () => null, /not with scores/, false],
  ])('with %s is rejected, without a retry', async (_, make, message, retryable) => {
    server.next(answersWith(make))
    const failure = await failureOf(client().score(QUERY, TEXTS))
    expect(failure.message).toMatch(message)
    expect(failure.message).toMatch(/^openai:some-model /)
    expect(failure.retryable).toBe(retryable)
    expect(server.requests).toHaveLength(1)
  })

  it.each(['text/html', 'application/json'])('of type %s that contains HTML is rejected', async (type) => {
    server.next((response) => response.writeHead(200, { 'content-type': type }).end('<html>'))
    expect((await failureOf(client().score(QUERY, TEXTS))).message).toMatch(/not with scores/)
  })
})

describe('a rejected request for scores', () => {
  beforeEach(() => open())

  it.each([
    [400, 'unknown parameter', /with status 400\. Check RERANK_MODEL\.$/],
    [401, `Incorrect API key: ${KEY}`, /with status 401\. Check RERANK_API_KEY\.$/],
    [
      404,
      'no such model',
      /404\. Check RERANK_MODEL\. Check RERANK_URL: the server must have POST \/rerank below it\.$/,
    ],
  ])('with status %i is not retried, and names the setting to check but not the key', async (status, text, message) => {
    server.next(refusesWith(status, text))
    const failure = await failureOf(client().score(QUERY, TEXTS))
    expect(failure.message).toMatch(message)
    expect(failure.retryable).toBe(false)
    expect(JSON.stringify([failure.message, failure.stack, { ...failure }])).not.toContain('hunter2')
    expect(server.requests).toHaveLength(1)
  })

  it('to the wrong URL of Text Embeddings Inference names only the URL', async () => {
    const failure = await failureOf(client({ model: null, baseUrl: server.url.slice(0, -3) }).score(QUERY, TEXTS))
    expect(failure.message).toBe(
      'tei answered with status 404. Check RERANK_URL: the server must have POST /rerank below it.',
    )
  })

  it('of the other form is rejected', async () => {
    expect((await failureOf(client({ model: null }).score(QUERY, TEXTS))).message).toMatch(
      /^tei answered with status 422/,
    )
  })
})

describe('a failed request for scores', () => {
  beforeEach(() => open())

  it.each([408, 429, 500, 503])('with status %i is retried', async (status) => {
    server.next(refusesWith(status, 'busy', { 'retry-after-ms': '1' }))
    expect(await client().score(QUERY, TEXTS)).toEqual(SCORES)
    expect(server.requests).toHaveLength(2)
  })

  const hangs: RerankResponder = () => {}
  const hangsInAnswer: RerankResponder = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"results": [')
  }
  const closes: RerankResponder = (response) => void response.destroy()

  it.each([
    ['hangs', hangs, /cannot be reached: no answer within 0.2 s\./],
    ['hangs in its answer', hangsInAnswer, /no answer/],
    ['closes the connection', closes, /cannot be reached: /],
  ])('to a server that %s is a retryable failure after the last retry', async (_, fault, message) => {
    server.next(fault, fault)
    const failure = await failureOf(client({}, { timeoutMs: 200 }).score(QUERY, TEXTS))
    expect(failure).toMatchObject({ retryable: true, message: expect.stringMatching(message) })
    expect(server.requests).toHaveLength(2)
  })

  it('to a server that is down names the URL', async () => {
    await server.stop()
    expect((await failureOf(client().score(QUERY, TEXTS))).message).toMatch(
      /cannot be reached: ECONNREFUSED\. Check RERANK_URL, and that the server is running\.$/,
    )
  })

  it('rejects on an abort signal and on close', async () => {
    server.next(hangs, hangs)
    const [aborted, closed] = [client(), client()]
    const reason = new Error('enough')
    const abort = new AbortController()
    const rejections = [
      expect(aborted.score(QUERY, TEXTS, abort.signal)).rejects.toBe(reason),
      failureOf(closed.score(QUERY, TEXTS)),
    ] as const
    await expect.poll(() => server.requests.length).toBe(2)
    abort.abort(reason)
    void closed.close()
    expect((await Promise.all(rejections))[1].message).toContain('is closed')
  })
})

describe('many or long texts', () => {
  it('are cut to half of their length, and again, for a server that rejects them', async () => {
    await open('documents', { pairBytes: 1_500 })
    const long = 'cat '.repeat(2_000)
    expect(await client().score(QUERY, [...TEXTS, long])).toEqual([...SCORES, fakeRelevance(QUERY, 'cat')])
    expect(server.requests.map(({ documents }) => documents!.map(({ length }) => length).at(-1))).toEqual([
      4_096, 2_048, 1_024,
    ])
    expect(server.requests.at(-1)!.documents!.slice(0, 3)).toEqual(TEXTS)
  })

  it('fail if no length is short enough', async () => {
    await open('documents', { pairBytes: 10 })
    const failure = await failureOf(client().score(QUERY, ['cat '.repeat(2_000)]))
    expect(failure.message).toContain('with status 400: the input is too long.')
    expect(server.requests).toHaveLength(5)
  })

  it.each([
    [32, [32, 32, 6]],
    [20, [32, 16, 16, 16, 16, 6]],
  ])('are split into requests for Text Embeddings Inference with at most %i texts', async (texts, sizes) => {
    await open('texts', { texts })
    const many = Array.from({ length: 70 }, (_, i) => (i === 69 ? QUERY : `text ${i}`))
    const scores = await client({ model: null }).score(QUERY, many)
    expect(scores).toEqual(many.map((text) => fakeRelevance(QUERY, text)))
    expect(server.requests.map((request) => request.texts!.length)).toEqual(sizes)
  })
})
