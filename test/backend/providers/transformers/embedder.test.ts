// The embedder in a worker thread, with a fake of transformers.js, an optional package that the tests do not install.
// The contract of all embedders is in test/contract/.

import { afterEach, describe, expect, it } from 'vitest'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import { dot, unit } from '../../../../src/runtime/unit-vector.ts'
import type { Embedder } from '../../../../src/providers/ports/embedder.ts'
import { createTransformersEmbedder } from '../../../../src/providers/transformers/embedder.ts'
import { fakeVector } from '../../../support/fake-openai.ts'

const FAKE = new URL('../../../support/fake-transformers.ts', import.meta.url).href
const open: Embedder[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((embedder) => embedder.close()))
})

function create(model: string, library = FAKE): Embedder {
  const embedder = createTransformersEmbedder({ model, dimension: 384, library })
  open.push(embedder)
  return embedder
}

const failureOf = async (embedding: Promise<unknown>) => {
  const failure: unknown = await embedding.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CallFailed)
  return failure as CallFailed
}

describe('the embedder through transformers.js', () => {
  it('requests pooled, normalised vectors of one precision, and returns them unchanged', async () => {
    const embedder = create('Xenova/all-MiniLM-L6-v2')
    expect(embedder).toMatchObject({ name: 'transformers:Xenova/all-MiniLM-L6-v2', dimension: 384 })
    const [vector] = await embedder.embed(['one'])
    expect(dot(vector!, unit(Float32Array.from(fakeVector('one', 384))))).toBeCloseTo(1, 5)
  })

  it.each(['/models/all-MiniLM-L6-v2', './all-MiniLM-L6-v2'])('treats %s as a directory', async (model) => {
    expect(await create(model).embed(['one'])).toHaveLength(1)
  })

  it('names the package to install if it is missing', async () => {
    const failure = await failureOf(create('any', 'transformers-that-nobody-installed').embed(['one']))
    expect(failure).toMatchObject({
      message:
        'EMBEDDER=transformers requires a package that is not installed: npm install @huggingface/transformers@4',
      retryable: false,
    })
  })

  it.each([
    ['hub/absent', /^The model "hub\/absent" cannot be used: Unauthorized access .* Check EMBEDDING_MODEL: /],
    ['/models/no-such-directory', /file was not found locally at "\/models\/no-such-directory\/config.json"\. Check/],
    ['hub/wide', /returned vectors of 512 components instead of 384\. Set EMBEDDING_DIMENSIONS=512,/],
    ['hub/unpooled', /its output has the shape 1 × 1 × 384\./],
    ['hub/nan', /components that are not finite/],
  ])('fails permanently with the model %s', async (model, message) => {
    const failure = await failureOf(create(model).embed(['one']))
    expect(failure.message).toMatch(message)
    expect(failure.retryable).toBe(false)
  })

  it('loads a model on a later call if the download failed', async () => {
    const embedder = create('hub/offline-at-first')
    const failure = await failureOf(embedder.embed(['one']))
    expect(failure.message).toMatch(/fetch failed\. .*to a local directory/)
    expect(failure.retryable).toBe(true)
    expect(await embedder.embed(['one'])).toHaveLength(1)
  })

  it('rejects an aborted call immediately, and completes the other calls', async () => {
    const embedder = create('hub/sleeps-500')
    const reason = new Error('enough')
    const abort = new AbortController()
    const settled: string[] = []
    const aborted = expect(embedder.embed(['one'], abort.signal).finally(() => settled.push('aborted'))).rejects.toBe(
      reason,
    )
    const other = embedder.embed(['two']).finally(() => settled.push('other'))
    abort.abort(reason)
    await aborted
    expect(await other).toHaveLength(1)
    expect(settled).toEqual(['aborted', 'other'])
  })

  it('rejects waiting calls when its thread exits', async () => {
    const embedder = create('hub/dies')
    expect(await failureOf(embedder.embed(['one']))).toMatchObject({
      retryable: true,
      message: 'The thread of transformers:hub/dies ended: exit code 3.',
    })
  })

  it('rejects waiting calls when it is closed', async () => {
    const embedder = create('hub/sleeps-500')
    const waiting = failureOf(embedder.embed(['one']))
    await embedder.close()
    expect(await waiting).toMatchObject({ retryable: false, message: expect.stringContaining('is closed') })
  })
})
