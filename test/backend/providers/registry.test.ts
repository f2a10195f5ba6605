// Providers created from settings: which failures stop the start and which only log a warning, embedders of stored
// names, summarizers and fact services.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { countInline, type TokenCounter } from '../../../src/text/tokens.ts'
import { fact } from '../../contract/fact-judge.ts'
import { REQUEST } from '../../contract/profile-writer.ts'
import { createFakeChat, answers, type FakeChat } from '../../support/fake-chat.ts'
import { fakeEmbedder } from '../../support/fake-embedder.ts'
import {
  createEmbedder,
  createFactServices,
  createSummarizers,
  findEmbedder,
  type EmbedderSettings,
} from '../../../src/providers/registry.ts'
import { CallFailed } from '../../../src/providers/ports/call-failed.ts'
import { type Embedder } from '../../../src/providers/ports/embedder.ts'
import { createFakeOpenAi, fails, type FakeOpenAi, type Responder } from '../../support/fake-openai.ts'
import { isLong } from '../../support/long.ts'

const loaded = vi.hoisted(() => [] as string[])
vi.mock('openai', async (original) => {
  loaded.push('openai')
  return original()
})
vi.mock('../../../src/providers/rules/fact-extractor.ts', async (original) => {
  loaded.push('rules')
  return original()
})

const FAKE = new URL('../../support/fake-transformers.ts', import.meta.url).href
let server: FakeOpenAi
let log: { warn: ReturnType<typeof vi.fn> }
let created: Embedder | null
beforeEach(async () => {
  server = await createFakeOpenAi({ dimension: 1536, key: 'sk-key' })
  log = { warn: vi.fn() }
  created = null
})
afterEach(async () => {
  await created?.close()
  await server.stop()
})

const create = async (settings: EmbedderSettings) => (created = await createEmbedder(settings, log as never))
const openai = (more: object = {}): EmbedderSettings => ({
  kind: 'openai',
  baseUrl: server.url,
  apiKey: 'sk-key',
  model: 'm',
  dimension: 1536,
  sendsDimension: false,
  ...more,
})
const startFailure = async (settings: EmbedderSettings) => {
  let failure: unknown
  // On a loaded machine the embedder may not answer in time, and then starts with a warning.
  for (let attempt = 0; attempt < 5 && !(failure instanceof CallFailed); attempt++) {
    await created?.close()
    created = null
    log.warn.mockClear()
    failure = await create(settings).catch((error: unknown) => error)
  }
  expect(failure).toBeInstanceOf(CallFailed)
  expect(log.warn).not.toHaveBeenCalled()
  return (failure as Error).message
}

describe('starting the providers', () => {
  it('loads the named embedder', async () => {
    expect((await create({ kind: 'static' })).name).toMatch(/^static-/)
    const embedder = await create(openai())
    expect(embedder.name).toBe('openai:m:1536')
    expect(await embedder.embed(['one'])).toHaveLength(1)
    expect(log.warn).not.toHaveBeenCalled()
  })

  it('fails with a wrong key, a wrong URL, an unknown model or another dimension', async () => {
    expect(await startFailure(openai({ apiKey: 'sk-other' }))).toMatch(/401\b.*Check OPENAI_API_KEY/)
    expect(await startFailure(openai({ baseUrl: server.url.slice(0, -3) }))).toMatch(/404\b.*Check EMBEDDING_MODEL/)
    server.next(fails(404, 'The model `m` does not exist'))
    expect(await startFailure(openai())).toMatch(/status 404\b.*Check EMBEDDING_MODEL/)
    expect(await startFailure(openai({ dimension: 768 }))).toMatch(/vectors of 1536 components instead of 768/)
  })

  it('fails without the package, and with an unknown model', async () => {
    const settings = { kind: 'transformers', model: 'hub/absent', dimension: 384 } as const
    expect(await startFailure({ ...settings, library: 'transformers-that-nobody-installed' })).toMatch(/npm install/)
    expect(await startFailure({ ...settings, library: FAKE })).toMatch(/Unauthorized access/)
  })

  it.each<[string, Responder | null, RegExp]>([
    ['out of memory', fails(500, 'out of memory'), /answered with status 500\.$/],
    ['over its rate limit', fails(429, 'slow down'), /answered with status 429\.$/],
    ['down', null, /cannot be reached: .*ECONNREFUSED/],
  ])(
    'succeeds with one warning if the provider is %s, and embeds when it is available again',
    async (_, fault, cause) => {
      if (fault) server.next(fault)
      else await server.stop()
      const embedder = await create(openai())
      expect(log.warn.mock.calls).toEqual([
        [{ embedder: 'openai:m:1536', cause: expect.stringMatching(cause) }, expect.stringContaining('no vectors')],
      ])
      if (!fault) await server.start()
      expect(await embedder.embed(['one'])).toHaveLength(1)
    },
  )

  it.runIf(isLong)('waits a limited time for a provider that hangs', async () => {
    server.next(() => {})
    // Without a time limit, this would never resolve.
    await create(openai())
    expect(log.warn).toHaveBeenCalledOnce()
  })

  it.runIf(isLong)('succeeds with a warning if the model takes longer to load', async () => {
    const embedder = await create({ kind: 'transformers', model: 'hub/sleeps-4500', dimension: 384, library: FAKE })
    expect(log.warn.mock.calls).toEqual([
      [{ embedder: embedder.name, cause: 'it is not ready yet' }, expect.stringContaining('no vectors')],
    ])
    expect(await embedder.embed(['one'])).toHaveLength(1)
  })
})

const tokens: TokenCounter = { count: countInline, recount: countInline, close: async () => {} }
const TURNS = [
  { id: 'turn_1', actor: 'ada', displayName: 'Ada', kind: 'HUMAN' as const, at: new Date(), text: 'I live in Berlin.' },
]
const PAIRS = [{ a: fact('a', 'Ada | likes | tea'), b: fact('b', 'Ada | likes | coffee') }]

let chat: FakeChat
let directory: string
beforeAll(async () => {
  chat = await createFakeChat(undefined, () => answers({ facts: [], verdicts: [], profile: '- lives in Berlin' }))
  directory = await mkdtemp(join(tmpdir(), 'prompts-'))
})
afterAll(async () => {
  await chat.stop()
  await rm(directory, { recursive: true })
})

describe('findEmbedder', () => {
  const find = (name: string, dimension: number, chosen: EmbedderSettings = { kind: 'static' }) =>
    findEmbedder({ name, dimension }, chosen, log as never)

  it('creates the embedder of a stored name', async () => {
    created = await find('static-2', 100)
    expect(created).toMatchObject({ name: 'static-2', dimension: 100 })
  })

  it('creates an OpenAI embedder with the configured URL and key, and returns null without them', async () => {
    created = await find('openai:a:model:1536', 1536, openai())
    expect(created).toMatchObject({ name: 'openai:a:model:1536', dimension: 1536 })
    expect(server.requests[0]).toMatchObject({ model: 'a:model' })
    expect(await find('openai:a:model:1536', 1536)).toBeNull()
  })

  it('creates the embedder of a revision, whichever is selected', async () => {
    created = await find('openai:m:1536@2', 1536, openai({ revision: 3 }))
    expect(created).toMatchObject({ name: 'openai:m:1536@2', dimension: 1536 })
    await created!.close()
    created = await find('openai:m:1536', 1536, openai({ revision: 3 }))
    expect(created).toMatchObject({ name: 'openai:m:1536' })
  })

  it.each([
    ['another version', 'static-0', 100],
    ['another dimension', 'static-2', 99],
    ['an unknown provider', 'word2vec:m', 100],
    ['no model', 'openai:m', 1536],
  ])('returns null for a name with %s', async (_, name, dimension) => {
    expect(await find(name, dimension, openai())).toBeNull()
  })

  it('returns null if the server rejects the key', async () => {
    expect(await find('openai:m:1536', 1536, openai({ apiKey: 'sk-other' }))).toBeNull()
  })
})

describe('summarizers', () => {
  it('are the built-in one and the configured one, and the configured one is the default', async () => {
    const resources = { words: fakeEmbedder(), tokens }
    const alone = await createSummarizers({ kind: 'extractive' }, resources)
    expect([...alone.byModel.keys()]).toEqual(['extractive'])
    expect(alone.default).toBe(alone.byModel.get('extractive'))
    const settings = { kind: 'openai' as const, baseUrl: chat.url, apiKey: undefined, model: 'some-model' }
    const both = await createSummarizers(settings, resources)
    expect([...both.byModel.keys()]).toEqual(['extractive', 'some-model'])
    expect(both.default).toBe(both.byModel.get('some-model'))
    await both.close()
    for (const each of both.byModel.values()) {
      const turns = [{ speaker: 'Ada', at: new Date(), text: 'Hello.' }]
      await expect(each.summarize({ previous: null, turns, maxTokens: 10 })).rejects.toThrow('closed')
    }
    await alone.close()
  })
})

describe('fact services', () => {
  it('are only the rules by default, and reject calls after close', async () => {
    const { extractor, judge, profileWriter, close } = await createFactServices(
      { kind: 'rules' },
      { words: fakeEmbedder(), tokens },
    )
    expect(extractor.name).toBe('rules-3')
    expect({ judge, profileWriter }).toEqual({ judge: null, profileWriter: null })
    expect(loaded).toContain('rules')
    await close()
    await close()
    await expect(extractor.extract(TURNS)).rejects.toThrow('closed')
  })

  it("use one model for extraction, judging and profiles, with the operator's prompts", async () => {
    for (const name of ['extract-facts', 'judge-facts', 'profile']) {
      await writeFile(join(directory, `${name}.md`), `Own ${name}.`)
    }
    const settings = { kind: 'openai' as const, baseUrl: chat.url, apiKey: undefined, model: 'some-model' }
    const { extractor, judge, profileWriter, close } = await createFactServices(settings, {
      words: fakeEmbedder(),
      tokens,
      promptsDir: directory,
    })
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
