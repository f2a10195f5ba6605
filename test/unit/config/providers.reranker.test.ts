// RERANKER and its variables: their combinations, and their defaults.

import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

describe('RERANKER', () => {
  const RERANK_URL = 'http://localhost:8000/v1/'
  const NO_URL = 'RERANK_URL: set it to the base URL of a server that has POST /rerank below it'

  it('is off by default, and the other settings of providers do not change that', () => {
    expect(loadConfig({}).reranker).toEqual({ kind: 'off' })
    expect(loadConfig({ EMBEDDER: 'openai', OPENAI_API_KEY: 'sk-key' }).reranker).toEqual({ kind: 'off' })
  })

  it('has defaults for the number of candidates and the model on the same machine', () => {
    expect(loadConfig({ RERANKER: 'transformers' }).reranker).toEqual({
      kind: 'transformers',
      model: 'Xenova/ms-marco-MiniLM-L-6-v2',
      candidates: 50,
    })
    expect(loadConfig({ RERANKER: 'openai', RERANK_MODEL: 'm', RERANK_URL }).reranker).toMatchObject({ candidates: 50 })
  })

  it('is never given the URL and the key of OpenAI', () => {
    const shared = { OPENAI_BASE_URL: 'http://chat/v1', OPENAI_API_KEY: 'sk-chat', RERANK_URL }
    expect(loadConfig({ RERANKER: 'openai', RERANK_MODEL: 'm', ...shared }).reranker).toEqual({
      kind: 'openai',
      baseUrl: 'http://localhost:8000/v1',
      apiKey: undefined,
      model: 'm',
      candidates: 50,
    })
    expect(problemsOf({ RERANKER: 'openai', RERANK_MODEL: 'm', ...shared, RERANK_URL: '' })).toEqual([NO_URL])
  })

  it('takes the settings of a server', () => {
    const server = { RERANK_URL, RERANK_API_KEY: 'sk-rerank', RERANK_CANDIDATES: '200' }
    expect(loadConfig({ RERANKER: 'tei', ...server }).reranker).toEqual({
      kind: 'tei',
      baseUrl: 'http://localhost:8000/v1',
      apiKey: 'sk-rerank',
      model: null,
      candidates: 200,
    })
  })

  it.each<[string, Record<string, string>, string[]]>([
    [
      'an unknown reranker',
      { RERANKER: 'cohere' },
      ['RERANKER is "cohere": must be one of off, openai, tei, transformers'],
    ],
    [
      'a server without URL and model',
      { RERANKER: 'openai' },
      [NO_URL, 'RERANK_MODEL: set it to the name of a reranker of the server'],
    ],
    ['Text Embeddings Inference without URL', { RERANKER: 'tei' }, [NO_URL]],
    [
      'a model for a server that has one',
      { RERANKER: 'tei', RERANK_URL, RERANK_MODEL: 'm' },
      [
        'RERANK_MODEL is "m": requires RERANKER=openai or RERANKER=transformers; set one of them, or unset RERANK_MODEL',
      ],
    ],
    [
      'settings of a reranker that is off',
      { RERANK_CANDIDATES: '5' },
      [
        'RERANK_CANDIDATES is "5": requires RERANKER=openai or RERANKER=tei or RERANKER=transformers; set one of them, '
          + 'or unset RERANK_CANDIDATES',
      ],
    ],
    [
      'too many candidates',
      { RERANKER: 'transformers', RERANK_CANDIDATES: '201' },
      ['RERANK_CANDIDATES is "201": must be a whole number from 1 to 200'],
    ],
  ])('rejects %s', (_, env, expected) => {
    expect(problemsOf(env)).toEqual(expected)
  })

  it('does not quote the key or the URL, which may contain a password', () => {
    const [url, key] = problemsOf({
      RERANKER: 'openai',
      RERANK_MODEL: 'm',
      RERANK_URL: 'http://u:hunter2@a',
      RERANK_API_KEY: 'hunter2 ',
    })
    expect(url).toMatch(/^RERANK_URL: must be a URL/)
    expect(key).toMatch(/^RERANK_API_KEY: must be printable/)
    expect(url! + key!).not.toContain('hunter2')
  })
})
