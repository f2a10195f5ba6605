// The contract of every summarizer.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Said, Summarizer } from '../../src/providers/ports/summarizer.ts'
import { countInline } from '../../src/text/tokens.ts'

const at = new Date('2026-05-01T09:00:00Z')
const said = (speaker: string, text: string): Said => ({ speaker, at, text })

const TURNS: Said[] = [
  said('ada', 'Shall we sail to the island in May? The boat needs a new sail first.'),
  said('bob', 'Yes. I will book the boat for 12 May, and the harbour has a sailmaker.'),
  said('ada', 'Good. Who brings food for the trip?'),
  said('bob', 'No idea. Lunch was great.'),
]

export function summarizerContract(name: string, create: () => Promise<Summarizer>): void {
  describe(`summarizer contract: ${name}`, () => {
    let summarizer: Summarizer
    beforeAll(async () => {
      summarizer = await create()
    })
    afterAll(() => summarizer.close())

    it('returns a summary of the turns, and states its name', async () => {
      const { content, model } = await summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 200 })
      expect(content).not.toBe('')
      expect(model).toBe(summarizer.model)
    })

    it.each([1, 5, 20, 60])('never exceeds %d tokens', async (maxTokens) => {
      const long = Array.from({ length: 40 }, (_, n) =>
        said('cy', `Item ${n} of the boat's list is ${'a rope '.repeat(n)}.`),
      )
      for (const previous of [null, 'ada: The boat is blue.\nbob: It has two masts.']) {
        const { content } = await summarizer.summarize({ previous, turns: [...TURNS, ...long], maxTokens })
        expect(countInline(content)).toBeLessThanOrEqual(maxTokens)
      }
    })

    it('accepts any text: emoji, one endless word, an empty text', async () => {
      const turns = [
        said('ada', '👩‍👩‍👧'.repeat(500)),
        said('bob', 'x'.repeat(50_000)),
        said('cy', ''),
        said('dot', '```\n"'),
      ]
      const { content } = await summarizer.summarize({ previous: null, turns, maxTokens: 50 })
      expect(content.isWellFormed()).toBe(true)
      expect(countInline(content)).toBeLessThanOrEqual(50)
    })

    it('returns an empty summary for no turns', async () => {
      expect((await summarizer.summarize({ previous: null, turns: [], maxTokens: 50 })).content).toBe('')
    })

    it('stops for an abort signal', async () => {
      const stopped = AbortSignal.abort(new Error('enough'))
      const asked = summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 50 }, stopped)
      await expect(asked).rejects.toThrow('enough')
    })

    it('rejects after close', async () => {
      const other = await create()
      await other.close()
      await other.close()
      await expect(other.summarize({ previous: null, turns: TURNS, maxTokens: 50 })).rejects.toThrow(/is closed/)
    })
  })
}
