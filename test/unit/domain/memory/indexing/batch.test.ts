// Embedding of a batch: one vector or null per text. A rejected text is skipped and does not affect the others.

import { describe, expect, it, vi } from 'vitest'
import { embedTexts } from '../../../../../src/domain/memory/indexing/batch.ts'
import { unavailable, fakeEmbedder, rejected } from '../../../../support/fake-embedder.ts'

const { signal } = new AbortController()
const unexpected = () => expect.unreachable()
const texts = Array.from({ length: 16 }, (_, i) => `text ${i}`)

describe('embedding a batch of texts', () => {
  it('returns one vector per text, or null if the text is blank or its vector is zero', async () => {
    const embedder = fakeEmbedder()
    const vectors = await embedTexts(embedder, ['a', ' \n', 'nothing', '', 'bb'], signal, unexpected)
    expect(vectors.map((vector) => vector !== null)).toEqual([true, false, false, false, true])
    expect(embedder.calls).toEqual([['a', 'nothing', 'bb']])
    expect(await embedTexts(embedder, ['', ' '], signal, unexpected)).toEqual([null, null])
    expect(embedder.calls).toHaveLength(1)
  })

  it('skips rejected texts, and embeds all others with fewer calls than texts', async () => {
    const embedder = fakeEmbedder()
    let calls = 0
    embedder.before = (given) => {
      calls += 1
      if (given.some((text) => text === 'text 5' || text === 'text 6')) throw rejected()
    }
    const onRejected = vi.fn()
    const vectors = await embedTexts(embedder, texts, signal, onRejected)
    expect(vectors.flatMap((vector, index) => (vector ? [] : [index]))).toEqual([5, 6])
    expect(onRejected.mock.calls.map(([index]) => index)).toEqual([5, 6])
    expect(calls).toBeLessThan(texts.length)
  })

  it('fails if the embedder rejects all texts', async () => {
    const embedder = fakeEmbedder()
    embedder.before = () => {
      throw rejected()
    }
    await expect(embedTexts(embedder, texts, signal, unexpected)).rejects.toThrow('refuses')
  })

  it('leaves retries to the caller', async () => {
    const embedder = fakeEmbedder()
    let calls = 0
    embedder.before = () => {
      calls += 1
      throw unavailable()
    }
    await expect(embedTexts(embedder, texts, signal, unexpected)).rejects.toThrow('does not answer')
    expect(calls).toBe(1)
  })
})
