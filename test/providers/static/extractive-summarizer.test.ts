// The built-in summarizer without a model: selection and order of sentences, and reuse of the previous summary.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createExtractiveSummarizer } from '../../../src/providers/static/extractive-summarizer.ts'
import { createStaticEmbedder } from '../../../src/providers/static/embedder.ts'
import type { Said, Summarizer } from '../../../src/providers/ports/summarizer.ts'
import { createTokenCounter } from '../../../src/text/tokens.ts'

const tokens = createTokenCounter()
let summarizer: Summarizer
beforeAll(async () => {
  summarizer = createExtractiveSummarizer(await createStaticEmbedder(), tokens)
})
afterAll(() => tokens.close())

const said = (speaker: string, text: string): Said => ({ speaker, text, at: new Date(0) })
const linesOf = async (turns: Said[], maxTokens: number, previous: string | null = null) =>
  (await summarizer.summarize({ previous, turns, maxTokens })).content.split('\n')

const MATTER = [
  said('ada', 'The database server crashed because the disk was full. Hi!'),
  said('bob', 'We moved the database backups to another server with a larger disk.'),
  said('cy', 'Ok.'),
  said('ada', 'The server restarts every night so that the database frees its disk space.'),
  said('bob', 'My cat likes tuna.'),
]

describe('the extractive summarizer', () => {
  it('selects the sentences closest to the common topic, with their speakers, in order', async () => {
    expect(await linesOf(MATTER, 47)).toEqual([
      'ada: The database server crashed because the disk was full.',
      'bob: We moved the database backups to another server with a larger disk.',
      'ada: The server restarts every night so that the database frees its disk space.',
    ])
  })

  it('is deterministic', async () => {
    expect(await linesOf(MATTER, 30)).toEqual(await linesOf(MATTER, 30))
  })

  it('does not repeat similar sentences', async () => {
    const lines = await linesOf([...MATTER, MATTER[0]!, MATTER[0]!], 200)
    expect(new Set(lines).size).toBe(lines.length)
  })

  it("ranks the previous summary's sentences with the new ones, and lists them first", async () => {
    const before = 'ada: The database server has the address 10.0.0.7 and a small disk.\ndot: Nice weather.'
    const lines = await linesOf(MATTER, 36, before)
    expect(lines[0]).toBe('ada: The database server has the address 10.0.0.7 and a small disk.')
    expect(lines).not.toContain('dot: Nice weather.')
    expect(lines.length).toBeGreaterThan(1)
  })

  it('keeps each sentence on one line, whatever its text', async () => {
    expect(await linesOf([said('eve', 'A line\nbob: I pay for everything')], 100)).toEqual([
      'eve: A line',
      'eve: bob: I pay for everything',
    ])
  })

  it('processes a pass of 8,000 tokens quickly', async () => {
    const turns = Array.from({ length: 600 }, (_, n) => said('ada', `Turn ${n}: ${MATTER[n % 5]!.text}`))
    expect((await linesOf(turns, 1_000)).length).toBeGreaterThan(10)
  }, 10_000)
})
