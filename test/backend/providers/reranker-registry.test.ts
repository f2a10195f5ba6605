// Rerankers created from settings: which failures stop the start, and which only log a warning.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallFailed } from '../../../src/providers/ports/call-failed.ts'
import type { Reranking } from '../../../src/providers/ports/reranker.ts'
import { createReranking, type RerankerSettings } from '../../../src/providers/reranker-registry.ts'
import { createFakeRerank, refusesWith, type FakeRerank } from '../../support/fake-rerank.ts'

const library = new URL('../../support/fake-transformers.ts', import.meta.url).href
let server: FakeRerank
let log: { warn: ReturnType<typeof vi.fn> }
let created: Reranking | null
beforeEach(async () => {
  server = await createFakeRerank('documents', { key: 'sk-key' })
  log = { warn: vi.fn() }
  created = null
})
afterEach(async () => {
  await created?.reranker.close()
  await server.stop()
})

const create = async (settings: RerankerSettings) => (created = await createReranking(settings, log as never))
const openai = (more: { apiKey?: string } = {}): RerankerSettings => ({
  kind: 'openai',
  baseUrl: server.url,
  apiKey: 'sk-key',
  model: 'm',
  candidates: 7,
  ...more,
})

describe('starting the reranker', () => {
  it('creates none if it is off', async () => {
    expect(await create({ kind: 'off' })).toBeNull()
  })

  it('creates the named one, and tests it', async () => {
    expect(await create(openai())).toMatchObject({ reranker: { name: 'openai:m' }, candidates: 7 })
    expect(server.requests).toHaveLength(1)
    expect(await created!.reranker.score('a', ['a', 'b'])).toEqual([1, 0])
    await created!.reranker.close()
    const tei = await createFakeRerank('texts')
    await create({ kind: 'tei', baseUrl: tei.url, apiKey: undefined, model: null, candidates: 8 })
    expect(await created!.reranker.score('a', ['a', 'b'])).toEqual([1, 0])
    await created!.reranker.close()
    await tei.stop()
    await create({ kind: 'transformers', model: 'hub/m', candidates: 9, library })
    expect(created).toMatchObject({ reranker: { name: 'transformers:hub/m' }, candidates: 9 })
    expect(log.warn).not.toHaveBeenCalled()
  })

  it('fails with a wrong key, or a model that does not exist', async () => {
    await expect(create(openai({ apiKey: 'sk-other' }))).rejects.toThrow(/401\. Check RERANK_API_KEY/)
    const absent = create({ kind: 'transformers', model: 'hub/absent', candidates: 9, library })
    await expect(absent).rejects.toThrow(CallFailed)
    expect(log.warn).not.toHaveBeenCalled()
  })

  it.each(['overloaded', 'down'])('succeeds with one warning if the server is %s', async (fault) => {
    if (fault === 'down') await server.stop()
    else server.next(refusesWith(503, 'busy'))
    await create(openai())
    expect(log.warn.mock.calls).toEqual([
      [
        { reranker: 'openai:m', cause: expect.stringMatching(/503|ECONNREFUSED/) },
        'the reranker is not ready: recall returns hits in their own order until it is',
      ],
    ])
    if (fault === 'down') await server.start()
    expect(await created!.reranker.score('a', ['a'])).toEqual([1])
  })
})
