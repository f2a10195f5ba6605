// Runs the profile writer contract on the OpenAI writer. The fake model writes one line per fact.

import { afterAll, beforeAll } from 'vitest'
import { createOpenAiProfileWriter } from '../../src/providers/openai/profile-writer.ts'
import type { AddedFact } from '../../src/providers/ports/profile-writer.ts'
import { countInline } from '../../src/text/tokens.ts'
import { createFakeChat, quotedIn, answers, type FakeChat } from '../support/fake-chat.ts'
import { profileWriterContract } from './profile-writer.ts'

const lineOf = ({ predicate, object, claimedBy }: Partial<AddedFact>) =>
  claimedBy ? `- Claimed by "${claimedBy}": "${predicate} ${object}"` : `- ${predicate} ${object}`

/**
 * Returns the previous lines except those of removed facts, then one line per added fact.
 */
function answer(content: string) {
  const [, [before], ...changes] = quotedIn(content) as [unknown, [{ profile: string }], ...AddedFact[][]]
  const facts = changes.flat()
  const removed = new Set(facts.filter(({ claimedBy }) => claimedBy === undefined).map(lineOf))
  const added = facts.filter(({ claimedBy }) => claimedBy !== undefined).map(lineOf)
  const kept = before.profile.split('\n').filter((line) => line.startsWith('- ') && !removed.has(line))
  return { profile: ['## About', ...kept, ...added].join('\n') }
}

let chat: FakeChat
beforeAll(async () => {
  chat = await createFakeChat(undefined, ({ messages }) => answers(answer(messages.at(-1)!.content)))
})
afterAll(() => chat.stop())

profileWriterContract('the OpenAI profile writer', async () =>
  createOpenAiProfileWriter({ baseUrl: chat.url, apiKey: undefined, model: 'some-model' }, { count: countInline }),
)
