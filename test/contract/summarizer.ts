// What every summarizer does, whatever it is made of.

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

    it('writes something in the place of turns, and says what wrote it', async () => {
      const { content, model } = await summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 200 })
      expect(content).not.toBe('')
      expect(model).toBe(summarizer.model)
    })

    it.each([1, 5, 20, 60])('never takes more than %d tokens', async (maxTokens) => {
      const long = Array.from({ length: 40 }, (_, n) =>
        said('cy', `Item ${n} of the boat's list is ${'a rope '.repeat(n)}.`),
      )
      for (const previous of [null, 'ada: The boat is blue.\nbob: It has two masts.']) {
        const { content } = await summarizer.summarize({ previous, turns: [...TURNS, ...long], maxTokens })
        expect(countInline(content)).toBeLessThanOrEqual(maxTokens)
      }
    })

    it('takes any text: emoji, one endless word, nothing', async () => {
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

    it('makes nothing of nothing', async () => {
      expect((await summarizer.summarize({ previous: null, turns: [], maxTokens: 50 })).content).toBe('')
    })

    it('stops when it is told to', async () => {
      const stopped = AbortSignal.abort(new Error('enough'))
      const asked = summarizer.summarize({ previous: null, turns: TURNS, maxTokens: 50 }, stopped)
      await expect(asked).rejects.toThrow('enough')
    })

    it('does nothing once it is closed', async () => {
      const other = await create()
      await other.close()
      await other.close()
      await expect(other.summarize({ previous: null, turns: TURNS, maxTokens: 50 })).rejects.toThrow(/is closed/)
    })
  })
}
