// What makes facts, of either kind: what is there, what is loaded for it, and that all of it ends.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createFactServices } from '../../src/providers/create-fact-services.ts'
import { countInline, type TokenCounter } from '../../src/text/tokens.ts'
import { fact } from '../contract/fact-judge.ts'
import { REQUEST } from '../contract/profile-writer.ts'
import { createFakeChat, says, type FakeChat } from '../support/fake-chat.ts'

const loaded = vi.hoisted(() => [] as string[])
vi.mock('openai', async (original) => {
  loaded.push('openai')
  return original()
})
vi.mock('../../src/providers/rules-extractor.ts', async (original) => {
  loaded.push('rules')
  return original()
})

const tokens: TokenCounter = { count: countInline, recount: countInline, close: async () => {} }
const TURNS = [
  { id: 'turn_1', actor: 'ada', displayName: 'Ada', kind: 'HUMAN' as const, at: new Date(), text: 'I live in Berlin.' },
]
const PAIRS = [{ a: fact('a', 'Ada | likes | tea'), b: fact('b', 'Ada | likes | coffee') }]

let chat: FakeChat
let directory: string
beforeAll(async () => {
  chat = await createFakeChat(undefined, () => says({ facts: [], verdicts: [], profile: '- lives in Berlin' }))
  directory = await mkdtemp(join(tmpdir(), 'prompts-'))
})
afterAll(async () => {
  await chat.stop()
  await rm(directory, { recursive: true })
})

describe('createFactServices', () => {
  it('has rules and nothing else by default, and loads no client', async () => {
    const { extractor, judge, profileWriter, close } = await createFactServices({ kind: 'rules' }, tokens)
    expect(extractor.name).toBe('rules-2')
    expect({ judge, profileWriter }).toEqual({ judge: null, profileWriter: null })
    expect(loaded).toEqual(['rules'])
    await close()
    await close()
    await expect(extractor.extract(TURNS)).rejects.toThrow('closed')
  })

  it("has one model for all three, with the operator's own prompts, and ends all three", async () => {
    for (const name of ['extract-facts', 'judge-facts', 'profile']) {
      await writeFile(join(directory, `${name}.md`), `Own ${name}.`)
    }
    const settings = { kind: 'openai' as const, baseUrl: chat.url, apiKey: undefined, model: 'some-model' }
    const { extractor, judge, profileWriter, close } = await createFactServices(settings, tokens, directory)
    expect(loaded).toEqual(['rules', 'openai'])
    expect([extractor, judge!, profileWriter!].map(({ name }) => name)).toEqual(Array(3).fill('openai:some-model'))
    await extractor.extract(TURNS)
    await judge!.judge(PAIRS)
    await profileWriter!.write(REQUEST)
    expect(chat.requests.map(({ model, messages }) => [model, messages[0]!.content])).toEqual([
      ['some-model', 'Own extract-facts.'],
      ['some-model', 'Own judge-facts.'],
      ['some-model', 'Own profile.'],
    ])
    await close()
    await close()
    await expect(extractor.extract(TURNS)).rejects.toThrow('closed')
    await expect(judge!.judge(PAIRS)).rejects.toThrow('closed')
    await expect(profileWriter!.write(REQUEST)).rejects.toThrow('closed')
  })
})
