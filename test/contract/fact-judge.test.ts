// Runs the judge contract on every judge. The fake model of the OpenAI client knows the pairs of the suite.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiJudge } from '../../src/providers/openai/fact-judge.ts'
import { createFakeChat, quotedIn, says, type FakeChat } from '../support/fake-chat.ts'
import { factJudgeContract } from './fact-judge.ts'

type Asked = { pair: number; a: { predicate: string } }

const KNOWN: Record<string, string> = { 'works at': 'SAME', 'is a': 'CONTRADICTORY' }

/** Answers like a model: a verdict on each pair it received. */
const answer = (content: string) => ({
  verdicts: (quotedIn(content)[0] as Asked[]).map(({ pair, a }) => ({ pair, says: KNOWN[a.predicate] ?? 'BOTH_HOLD' })),
})

let chat: FakeChat
beforeAll(async () => {
  chat = await createFakeChat(undefined, ({ messages }) => says(answer(messages.at(-1)!.content)))
})
afterAll(() => chat.stop())

factJudgeContract('the OpenAI judge', async () =>
  createOpenAiJudge({ baseUrl: chat.url, apiKey: undefined, model: 'some-model' }),
)
