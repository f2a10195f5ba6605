// Runs the reranker contract on every reranker.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiReranker } from '../../src/providers/openai/reranker.ts'
import { createTransformersReranker } from '../../src/providers/transformers/reranker.ts'
import { createFakeRerank, type FakeRerank } from '../support/fake-rerank.ts'
import { rerankerContract } from './reranker.ts'

let documents: FakeRerank
let texts: FakeRerank
beforeAll(async () => {
  documents = await createFakeRerank('documents')
  texts = await createFakeRerank('texts')
})
afterAll(() => Promise.all([documents.stop(), texts.stop()]))

rerankerContract('the reranker for servers like those of Cohere', async () =>
  createOpenAiReranker({ baseUrl: documents.url, apiKey: undefined, model: 'rerank-v3.5' }),
)

rerankerContract('the reranker for Text Embeddings Inference', async () =>
  createOpenAiReranker({ baseUrl: texts.url, apiKey: undefined, model: null }),
)

const library = new URL('../support/fake-transformers.ts', import.meta.url).href
rerankerContract('the transformers reranker', async () =>
  createTransformersReranker({ model: 'Xenova/ms-marco-MiniLM-L-6-v2', library }),
)
