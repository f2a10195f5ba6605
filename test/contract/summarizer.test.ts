// Runs the summarizer contract on every summarizer.

import { afterAll, beforeAll } from 'vitest'
import { createExtractiveSummarizer } from '../../src/providers/static/extractive-summarizer.ts'
import { createOpenAiSummarizer } from '../../src/providers/openai/summarizer.ts'
import { createStaticEmbedder } from '../../src/providers/static/embedder.ts'
import { createTokenCounter } from '../../src/text/tokens.ts'
import { answers, createFakeChat, SUMMARY, type FakeChat } from '../support/fake-chat.ts'
import { summarizerContract } from './summarizer.ts'

const tokens = createTokenCounter()
let chat: FakeChat
beforeAll(async () => {
  chat = await createFakeChat(undefined, ({ messages }) =>
    answers(messages[0]!.content.includes('"title"') ? { title: 'Boat trip to the island' } : SUMMARY),
  )
})
afterAll(async () => {
  await chat.stop()
  await tokens.close()
})

summarizerContract('the extractive summarizer', async () =>
  createExtractiveSummarizer(await createStaticEmbedder(), tokens),
)

summarizerContract('the OpenAI summarizer', async () =>
  createOpenAiSummarizer({ baseUrl: chat.url, apiKey: undefined, model: 'some-model' }, tokens),
)
