// The reranker in the worker thread, with a fake of transformers.js, an optional package that the tests do not install.
// The contract of all rerankers is in test/contract/.

import { afterEach, describe, expect, it } from 'vitest'
import { CallFailed } from '../../../../src/providers/ports/call-failed.ts'
import type { Reranker } from '../../../../src/providers/ports/reranker.ts'
import { createTransformersEmbedder } from '../../../../src/providers/transformers/embedder.ts'
import { createTransformersReranker } from '../../../../src/providers/transformers/reranker.ts'

const library = new URL('../../../support/fake-transformers.ts', import.meta.url).href
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()))
})

function create(model: string): Reranker {
  const reranker = createTransformersReranker({ model, library })
  open.push(reranker)
  return reranker
}
function embedder(model: string) {
  const created = createTransformersEmbedder({ model, dimension: 384, library })
  open.push(created)
  return created
}

const failureOf = async (scoring: Promise<unknown>) => {
  const failure: unknown = await scoring.then(
    () => null,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CallFailed)
  return failure as CallFailed
}

/** Returns the logit of a score. */
const logit = (score: number) => Math.log(score / (1 - score))

describe('the reranker through transformers.js', () => {
  it('scores pairs of the query and each text from 0 to 1', async () => {
    const [none, all] = await create('Xenova/ms-marco-MiniLM-L-6-v2').score('a cat', ['nothing', 'a cat'])
    expect(none).toBe(0.5)
    expect(logit(all!)).toBeCloseTo(8, 3)
  })

  it('names the package to install if it is missing', async () => {
    const reranker = createTransformersReranker({ model: 'any', library: 'transformers-that-nobody-installed' })
    open.push(reranker)
    expect(await failureOf(reranker.score('a', ['b']))).toMatchObject({
      message:
        'RERANKER=transformers requires a package that is not installed: npm install @huggingface/transformers@4',
      retryable: false,
    })
  })

  it.each([
    ['hub/absent', /^The model "hub\/absent" cannot be used: Unauthorized access .* Check RERANK_MODEL: /],
    ['/models/no-such-directory', /file was not found locally at "\/models\/no-such-directory\/config.json"\. Check/],
    ['hub/two-labels', /the shape 1 × 2 instead of 1 × 1\. Set RERANK_MODEL to a cross-encoder with one label\./],
    ['hub/nan', /returned a score that is not finite/],
  ])('fails permanently with the model %s', async (model, message) => {
    const failure = await failureOf(create(model).score('a', ['b']))
    expect(failure.message).toMatch(message)
    expect(failure.retryable).toBe(false)
  })

  it('loads a model on a later call if the download failed', async () => {
    const reranker = create('hub/offline-at-first')
    const failure = await failureOf(reranker.score('a', ['b']))
    expect(failure.message).toMatch(/fetch failed\. .*set RERANK_MODEL to a local directory/)
    expect(failure.retryable).toBe(true)
    expect(await reranker.score('a', ['b'])).toHaveLength(1)
  })

  it('shares one thread with other rerankers and with the embedder', async () => {
    const [a, b] = [create('hub/a'), create('hub/b')]
    await embedder('hub/c').embed(['one'])
    const threads = await Promise.all([a, b].map((each) => each.score('a', ['which thread?'])))
    expect(threads[0]).toEqual(threads[1])
    expect(logit(threads[0]![0]!)).toBeGreaterThan(0)
  })

  it('is not delayed by another model that is loading', async () => {
    const slow = embedder('hub/sleeps-500')
    const settled: string[] = []
    const embedding = slow.embed(['one']).finally(() => settled.push('slow'))
    await create('hub/a')
      .score('a', ['b'])
      .finally(() => settled.push('fast'))
    await embedding
    expect(settled).toEqual(['fast', 'slow'])
  })

  it('frees its model on close, and rejects only its own calls', async () => {
    const [closing, waiting, other] = [create('hub/a'), create('hub/sleeps-500'), create('hub/c')]
    await closing.score('a', ['b'])
    const rejected = failureOf(waiting.score('a', ['b']))
    await closing.close()
    await waiting.close()
    expect(await rejected).toMatchObject({ retryable: false, message: expect.stringContaining('is closed') })
    // The model of `waiting` is disposed of after it is loaded.
    await expect
      .poll(async () => Math.round(logit((await other.score('a', ['how many disposed?']))[0]!)), { timeout: 5_000 })
      .toBe(2)
  })

  it('rejects waiting calls of all models when the thread exits, and starts it again', async () => {
    const [dying, slow] = [create('hub/dies'), embedder('hub/sleeps-500')]
    const failures = await Promise.all([failureOf(slow.embed(['one'])), failureOf(dying.score('a', ['b']))])
    expect(failures.map(({ message, retryable }) => [message, retryable])).toEqual([
      ['The thread of transformers:hub/sleeps-500 ended: exit code 3.', true],
      ['The thread of transformers:hub/dies ended: exit code 3.', true],
    ])
    expect(await slow.embed(['one'])).toHaveLength(1)
  })
})
