// Choosing an embedder at the start: what stops the start, and what does not.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEmbedder, type EmbedderSettings } from '../../src/providers/create-embedder.ts'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { type Embedder } from '../../src/providers/ports/embedder.ts'
import { createFakeOpenAi, fails, type FakeOpenAi, type Misdeed } from '../support/fake-openai.ts'

const FAKE = new URL('../support/fake-transformers.ts', import.meta.url).href
let server: FakeOpenAi
let log: { warn: ReturnType<typeof vi.fn> }
let made: Embedder | null
beforeEach(async () => {
  server = await createFakeOpenAi({ dimension: 1536, key: 'sk-key' })
  log = { warn: vi.fn() }
  made = null
})
afterEach(async () => {
  await made?.close()
  await server.stop()
})

const create = async (settings: EmbedderSettings) => (made = await createEmbedder(settings, log as never))
const openai = (more: object = {}): EmbedderSettings => ({
  kind: 'openai',
  baseUrl: server.url,
  apiKey: 'sk-key',
  model: 'm',
  dimension: 1536,
  shortens: false,
  ...more,
})
const refusal = async (settings: EmbedderSettings) => {
  const failure: unknown = await create(settings).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(CallFailed)
  expect(log.warn).not.toHaveBeenCalled()
  return (failure as Error).message
}

describe('a start', () => {
  it('has the embedder that is named', async () => {
    expect((await create({ kind: 'static' })).name).toMatch(/^static-/)
    const embedder = await create(openai())
    expect(embedder.name).toBe('openai:m:1536')
    expect(await embedder.embed(['one'])).toHaveLength(1)
    expect(log.warn).not.toHaveBeenCalled()
  })

  it('is refused for a bad key, a wrong address, an unknown model and another dimension', async () => {
    expect(await refusal(openai({ apiKey: 'sk-other' }))).toMatch(/401 .*Check OPENAI_API_KEY/)
    expect(await refusal(openai({ baseUrl: server.url.slice(0, -3) }))).toMatch(/404 .*Check EMBEDDING_MODEL/)
    server.next(fails(404, 'The model `m` does not exist'))
    expect(await refusal(openai())).toMatch(/404 The model `m` does not exist/)
    expect(await refusal(openai({ dimension: 768 }))).toMatch(/vectors of 1536 components, not of 768/)
  })

  it('is refused without the package, and for a model that is not there', async () => {
    const settings = { kind: 'transformers', model: 'hub/absent', dimension: 384 } as const
    expect(await refusal({ ...settings, library: 'transformers-that-nobody-installed' })).toMatch(/npm install/)
    expect(await refusal({ ...settings, library: FAKE })).toMatch(/Unauthorized access/)
  })

  it.each<[string, Misdeed | null, RegExp]>([
    ['ailing', fails(500, 'out of memory'), /answered 500 out of memory\.$/],
    ['over its limit', fails(429, 'slow down'), /answered 429 slow down\.$/],
    ['down', null, /cannot be reached: .*ECONNREFUSED/],
  ])('goes on where the provider is %s, says so once, and embeds when it is back', async (_, misdeed, cause) => {
    if (misdeed) server.next(misdeed)
    else await server.stop()
    const embedder = await create(openai())
    expect(log.warn.mock.calls).toEqual([
      [{ embedder: 'openai:m:1536', cause: expect.stringMatching(cause) }, expect.stringContaining('no vectors')],
    ])
    if (!misdeed) await server.start()
    expect(await embedder.embed(['one'])).toHaveLength(1)
  })

  it('waits for a provider that hangs for some seconds only', async () => {
    server.next(() => {})
    const began = Date.now()
    await create(openai())
    expect(Date.now() - began).toBeLessThan(4_000)
    expect(log.warn).toHaveBeenCalledOnce()
  })

  it('does not wait for a model that takes longer to fetch', async () => {
    const embedder = await create({ kind: 'transformers', model: 'hub/sleeps-4500', dimension: 384, library: FAKE })
    expect(log.warn.mock.calls).toEqual([
      [{ embedder: embedder.name, cause: 'it is not ready yet' }, expect.stringContaining('no vectors')],
    ])
    expect(await embedder.embed(['one'])).toHaveLength(1)
  })
})
