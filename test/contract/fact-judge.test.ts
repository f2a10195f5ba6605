// Runs the judge contract on every judge. The fake model of the OpenAI judge recognises the pairs of the suite.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiJudge } from '../../src/providers/openai/fact-judge.ts'
import { createFakeChat, quotedIn, answers, type FakeChat } from '../support/fake-chat.ts'
import { factJudgeContract } from './fact-judge.ts'

type QuotedPair = { pair: number; a: { predicate: string } }

const VERDICTS: Record<string, string> = { 'works at': 'SAME', 'is a': 'CONTRADICTORY' }

/** Returns the answer of a model, with a verdict on each quoted pair. */
const answer = (content: string) => ({
  verdicts: (quotedIn(content)[0] as QuotedPair[]).map(({ pair, a }) => ({
    pair,
    says: VERDICTS[a.predicate] ?? 'BOTH_HOLD',
  })),
})

let chat: FakeChat
beforeAll(async () => {
  chat = await createFakeChat(undefined, ({ messages }) => answers(answer(messages.at(-1)!.content)))
})
afterAll(() => chat.stop())

factJudgeContract('the OpenAI judge', async () =>
  createOpenAiJudge({ baseUrl: chat.url, apiKey: undefined, model: 'some-model' }),
)
