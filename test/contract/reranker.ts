// The contract of every reranker. reranker.test.ts runs it on the client of both kinds of servers with a fake server, and
// on transformers.js in its thread with a fake model.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import type { Reranker } from '../../src/providers/ports/reranker.ts'

const QUERY = 'Which kitten did we adopt?'
/** The first text answers the query; the others have nothing to do with it. */
const TEXTS = ['We did adopt a kitten', 'The invoice is paid', 'A train leaves at noon', 'She plays the violin']

export function rerankerContract(name: string, create: () => Promise<Reranker>): void {
  describe(name, () => {
    let reranker: Reranker
    beforeAll(async () => {
      reranker = await create()
    })
    afterAll(() => reranker.close())

    /** Scores one text per call. */
    const alone = async (text: string) => (await reranker.score(QUERY, [text]))[0]!

    it('states its name', () => {
      expect(reranker.name).toMatch(/^[a-z]+(:\S+)?$/)
    })

    it('gives the text that answers the query the highest score', async () => {
      const scores = await reranker.score(QUERY, TEXTS)
      expect(scores.every(Number.isFinite)).toBe(true)
      expect(scores.indexOf(Math.max(...scores))).toBe(0)
      expect(scores.filter((score) => score === scores[0])).toHaveLength(1)
    })

    it('returns scores in the order of the texts, and the same score for the same text', async () => {
      const order = [3, 0, 1, 0, 2]
      const scores = await reranker.score(
        QUERY,
        order.map((i) => TEXTS[i]!),
      )
      expect(scores).toHaveLength(order.length)
      for (const [at, i] of order.entries()) expect(scores[at]).toBeCloseTo(await alone(TEXTS[i]!), 4)
    })

    it('scores 200 texts', async () => {
      const texts = Array.from({ length: 200 }, (_, i) => (i === 150 ? TEXTS[0]! : `${TEXTS[1 + (i % 3)]} ${i}`))
      const scores = await reranker.score(QUERY, texts)
      expect(scores).toHaveLength(200)
      expect(scores.indexOf(Math.max(...scores))).toBe(150)
    })

    it('returns no scores for no texts', async () => {
      expect(await reranker.score(QUERY, [])).toEqual([])
    })

    it.each([
      ['prose', 'We adopted a kitten last week. '],
      ['one word', 'a'],
      ['emoji', '😀'],
      ['ideographs', '語'],
      ['control tokens', '[SEP]<|endoftext|>'],
    ])('accepts 256 KiB of %s, as text and as query', async (_, part) => {
      const long = part.repeat(Math.ceil(262_144 / part.length))
      expect(await reranker.score(QUERY, [TEXTS[0]!, long])).toHaveLength(2)
      expect(await reranker.score(long, [TEXTS[0]!])).toEqual([expect.any(Number)])
    })

    it('rejects with the reason of an abort signal', async () => {
      const reason = new Error('aborted by the test')
      await expect(reranker.score(QUERY, TEXTS, AbortSignal.abort(reason))).rejects.toBe(reason)
      const abort = new AbortController()
      const long = Array.from({ length: 200 }, () => TEXTS.join(' ').repeat(40))
      const scoring = reranker.score(QUERY, long, abort.signal)
      abort.abort(reason)
      await expect(scoring).rejects.toBe(reason)
      expect(await alone(TEXTS[0]!)).toEqual(expect.any(Number))
    })

    it('answers concurrent calls, each with the scores of its texts', async () => {
      const single = await Promise.all(TEXTS.map(alone))
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => reranker.score(QUERY, [TEXTS[i % 4]!, TEXTS[(i + 1) % 4]!])),
      )
      for (const [i, [first, second]] of answers.entries()) {
        expect(first).toBeCloseTo(single[i % 4]!, 4)
        expect(second).toBeCloseTo(single[(i + 1) % 4]!, 4)
      }
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.score(QUERY, TEXTS)
      await closed.close()
      await closed.close()
      const failure: unknown = await closed.score(QUERY, TEXTS).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CallFailed)
      expect(failure).toMatchObject({ message: expect.stringContaining('closed'), retryable: false })
    })
  })
}
