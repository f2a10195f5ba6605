// The contract of every embedder. embedder.test.ts runs it on the static embedder, on the OpenAI client with a fake
// server, and on transformers.js in its thread with a fake model.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { dot } from '../../src/runtime/unit-vector.ts'
import { MAX_DIMENSIONS, type Embedder } from '../../src/providers/ports/embedder.ts'

/** Texts of different meaning, which any embedder maps to different vectors. */
const TEXTS = [
  'We adopted a kitten last week',
  'The invoice was paid in full',
  'Our train to Paris leaves at noon',
  'She plays the violin in an orchestra',
  'It rained all day',
]

const lengthOf = (vector: Float32Array) => Math.sqrt(dot(vector, vector))

export function embedderContract(name: string, create: () => Promise<Embedder>): void {
  describe(name, () => {
    let embedder: Embedder
    beforeAll(async () => {
      embedder = await create()
    })
    afterAll(() => embedder.close())

    /** Embeds one text per call. */
    const alone = async (text: string) => (await embedder.embed([text]))[0]!

    it('states its name, its dimension and its preferred batch size', () => {
      expect(embedder.name).toMatch(/^[a-z]+[-:]\S+$/)
      expect(embedder.dimension).toBeGreaterThan(0)
      expect(embedder.dimension).toBeLessThanOrEqual(MAX_DIMENSIONS)
      expect(embedder.batch).toBeGreaterThan(0)
    })

    it('returns unit vectors of its dimension, each in a separate array', async () => {
      const vectors = await embedder.embed(TEXTS)
      expect(vectors).toHaveLength(TEXTS.length)
      for (const vector of vectors) {
        expect(vector).toBeInstanceOf(Float32Array)
        expect(vector).toHaveLength(embedder.dimension)
        expect(lengthOf(vector)).toBeCloseTo(1, 4)
      }
      expect(new Set(vectors.map(({ buffer }) => buffer)).size).toBe(TEXTS.length)
      const second = Float32Array.from(vectors[1]!)
      vectors[0]!.fill(7)
      expect(vectors[1]).toEqual(second)
      expect(await alone(TEXTS[0]!)).not.toEqual(vectors[0])
    })

    it('returns vectors in the order of the texts, and the same vector for the same text', async () => {
      const single = await Promise.all(TEXTS.map(alone))
      const order = [3, 0, 4, 4, 2, 1, 0]
      const together = await embedder.embed(order.map((i) => TEXTS[i]!))
      together.forEach((vector, at) => {
        order.forEach((_, i) => {
          const similarity = dot(vector, single[i % TEXTS.length]!)
          if (i % TEXTS.length === order[at]) expect(similarity).toBeCloseTo(1, 4)
          else expect(similarity).toBeLessThan(0.99)
        })
      })
    })

    it('accepts more texts than its preferred batch size', async () => {
      const texts = Array.from({ length: 2 * embedder.batch + 1 }, (_, i) => TEXTS[i % TEXTS.length]!)
      const vectors = await embedder.embed(texts)
      expect(vectors).toHaveLength(texts.length)
      const last = await alone(texts.at(-1)!)
      expect(dot(vectors.at(-1)!, last)).toBeCloseTo(1, 4)
    })

    it('returns no vectors for no texts', async () => {
      expect(await embedder.embed([])).toEqual([])
    })

    it.each([
      ['an empty text', ''],
      ['spaces', ' \n\t '],
    ])('returns all zeros for %s', async (_, text) => {
      const [before, vector, after] = await embedder.embed([TEXTS[0]!, text, TEXTS[1]!])
      expect(vector).toEqual(new Float32Array(embedder.dimension))
      expect(dot(before!, await alone(TEXTS[0]!))).toBeCloseTo(1, 4)
      expect(dot(after!, await alone(TEXTS[1]!))).toBeCloseTo(1, 4)
    })

    it.each([
      ['prose', 'We adopted a kitten last week. '],
      ['one word', 'a'],
      ['emoji', '😀'],
      ['ideographs', '語'],
      ['control tokens', '<|endoftext|>'],
    ])('accepts 256 KiB of %s, and returns a unit vector or all zeros', async (_, part) => {
      const vector = await alone(part.repeat(Math.ceil(262_144 / part.length)))
      expect(vector).toHaveLength(embedder.dimension)
      expect([0, 1]).toContain(Math.round(lengthOf(vector) * 1e4) / 1e4)
    })

    it('rejects with the reason of an abort signal', async () => {
      const reason = new Error('aborted by the test')
      await expect(embedder.embed(TEXTS, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const embedding = embedder.embed(
        Array.from({ length: 100 }, () => TEXTS.join(' ').repeat(200)),
        abort.signal,
      )
      abort.abort(reason)
      await expect(embedding).rejects.toBe(reason)
      expect(await alone(TEXTS[0]!)).toHaveLength(embedder.dimension)
    })

    it('answers concurrent calls, each with the vectors of its texts', async () => {
      const batches = Array.from({ length: 20 }, (_, i) => [TEXTS[i % 5]!, TEXTS[(i + 1) % 5]!])
      const single = await Promise.all(TEXTS.map(alone))
      const answers = await Promise.all(batches.map((texts) => embedder.embed(texts)))
      answers.forEach(([first, second], i) => {
        expect(dot(first!, single[i % 5]!)).toBeCloseTo(1, 4)
        expect(dot(second!, single[(i + 1) % 5]!)).toBeCloseTo(1, 4)
      })
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.embed([TEXTS[0]!])
      await closed.close()
      await closed.close()
      const failure: unknown = await closed.embed(TEXTS).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CallFailed)
      expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
    })
  })
}
