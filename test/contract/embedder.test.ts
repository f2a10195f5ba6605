// Runs the embedder contract on every embedder.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiEmbedder } from '../../src/providers/openai/embedder.ts'
import { createStaticEmbedder } from '../../src/providers/static/embedder.ts'
import { createTransformersEmbedder } from '../../src/providers/transformers/embedder.ts'
import { createFakeOpenAi, type FakeOpenAi } from '../support/fake-openai.ts'
import { embedderContract } from './embedder.ts'

let openai: FakeOpenAi
beforeAll(async () => {
  openai = await createFakeOpenAi({ dimension: 1536 })
})
afterAll(() => openai.stop())

embedderContract('the static embedder', createStaticEmbedder)

embedderContract('the OpenAI embedder', async () =>
  createOpenAiEmbedder({
    baseUrl: openai.url,
    apiKey: undefined,
    model: 'text-embedding-3-small',
    dimension: 1536,
    sendsDimension: true,
  }),
)

const library = new URL('../support/fake-transformers.ts', import.meta.url).href
embedderContract('the transformers embedder', async () =>
  createTransformersEmbedder({ model: 'Xenova/all-MiniLM-L6-v2', dimension: 384, library }),
)
