// Runs the extractor contract on every extractor. The fake model of the OpenAI extractor recognises the two sentences
// of the contract.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiExtractor } from '../../src/providers/openai/fact-extractor.ts'
import { createRulesExtractor } from '../../src/providers/rules/fact-extractor.ts'
import { createFakeChat, answers, type FakeChat } from '../support/fake-chat.ts'
import { factExtractorContract } from './fact-extractor.ts'

type QuotedTurn = { turnId: string; speaker: string; text: string }

/** Returns the facts that a model would extract from the two known sentences. */
function answer(content: string): unknown {
  const [, , quoted = ''] = /(`{3,})json\n(.*)\n\1$/s.exec(content) ?? []
  const facts = quoted
    .split('\n')
    .map((line) => JSON.parse(line) as QuotedTurn)
    .flatMap(({ turnId, speaker, text }) =>
      [
        ...(text.includes('I live in Berlin') ? [{ predicate: 'lives in', object: 'Berlin' }] : []),
        ...(text.includes('I work at Initech') ? [{ predicate: 'works at', object: 'Initech' }] : []),
      ].map((fact) => ({ subject: speaker, confidence: 0.9, turnId, ...fact })),
    )
  return { facts }
}

let chat: FakeChat
beforeAll(async () => {
  chat = await createFakeChat(undefined, ({ messages }) => answers(answer(messages.at(-1)!.content)))
})
afterAll(() => chat.stop())

factExtractorContract('the rules extractor', async () => createRulesExtractor())

factExtractorContract('the OpenAI extractor', async () =>
  createOpenAiExtractor({ baseUrl: chat.url, apiKey: undefined, model: 'some-model' }),
)
