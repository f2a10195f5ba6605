// The contract of every summarizer. summarizer.test.ts runs it on the extractive summarizer, and on the OpenAI client
// with a fake server.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SummarizerTurn, Summarizer } from '../../src/providers/ports/summarizer.ts'
import { countInline } from '../../src/text/tokens.ts'

const at = new Date('2026-05-01T09:00:00Z')
const turn = (speaker: string, text: string): SummarizerTurn => ({ speaker, at, text })

const TURNS: SummarizerTurn[] = [
  turn('ada', 'Shall we sail to the island in May? The boat needs a new sail first.'),
  turn('bob', 'Yes. I will book the boat for 12 May, and the harbour has a sailmaker.'),
  turn('ada', 'Good. Who brings food for the trip?'),
  turn('bob', 'No idea. Lunch was great.'),
]

export function summarizerContract(name: string, create: () => Promise<Summarizer>): void {
  describe(`summarizer contract: ${name}`, () => {
    let summarizer: Summarizer
    beforeAll(async () => {
      summarizer = await create()
    })
    afterAll(() => summarizer.close())

    it('returns a summary of the turns, and the name of its model', async () => {
      const { content, model } = await summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 200 })
      expect(content).not.toBe('')
      expect(model).toBe(summarizer.model)
    })

    it.each([1, 5, 20, 60])('never exceeds %d tokens', async (maxTokens) => {
      const long = Array.from({ length: 40 }, (_, n) =>
        turn('cy', `Item ${n} of the boat's list is ${'a rope '.repeat(n)}.`),
      )
      for (const previous of [null, 'ada: The boat is blue.\nbob: It has two masts.']) {
        const { content } = await summarizer.summarize({ previous, turns: [...TURNS, ...long], maxTokens })
        expect(countInline(content)).toBeLessThanOrEqual(maxTokens)
      }
    })

    it('accepts any text: emoji, a very long word, an empty text', async () => {
      const turns = [
        turn('ada', '👩‍👩‍👧'.repeat(500)),
        turn('bob', 'x'.repeat(50_000)),
        turn('cy', ''),
        turn('dot', '```\n"'),
      ]
      const { content } = await summarizer.summarize({ previous: null, turns, maxTokens: 50 })
      expect(content.isWellFormed()).toBe(true)
      expect(countInline(content)).toBeLessThanOrEqual(50)
    })

    it('returns an empty summary for no turns', async () => {
      expect((await summarizer.summarize({ previous: null, turns: [], maxTokens: 50 })).content).toBe('')
    })

    it('returns a title of one line', async () => {
      const title = await summarizer.title(TURNS)
      expect(title).toMatch(/^\S.*\S$/)
      expect(await summarizer.title([])).toBeNull()
    })

    it('rejects with the reason of an abort signal', async () => {
      const aborted = AbortSignal.abort(new Error('enough'))
      await expect(summarizer.title(TURNS, aborted)).rejects.toThrow('enough')
      const summarizing = summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 50 }, aborted)
      await expect(summarizing).rejects.toThrow('enough')
    })

    it('rejects calls after close', async () => {
      const closed = await create()
      await closed.close()
      await closed.close()
      await expect(closed.summarize({ previous: null, turns: TURNS, maxTokens: 50 })).rejects.toThrow(/is closed/)
      await expect(closed.title(TURNS)).rejects.toThrow(/is closed/)
    })
  })
}
