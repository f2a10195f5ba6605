// The built-in summarizer, which uses no model: selection and order of sentences, reuse of the previous summary, and
// what it keeps under its headings.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createExtractiveSummarizer } from '../../../../src/providers/static/extractive-summarizer.ts'
import { createStaticEmbedder } from '../../../../src/providers/static/embedder.ts'
import type { SummarizerTurn, Summarizer } from '../../../../src/providers/ports/summarizer.ts'
import { HEADINGS, readMinutes } from '../../../../src/text/dates/minutes.ts'
import { countInline, createTokenCounter } from '../../../../src/text/tokens.ts'
import { MINUTES_CASES } from './minutes-cases.ts'

const tokens = createTokenCounter()
let summarizer: Summarizer
beforeAll(async () => {
  summarizer = createExtractiveSummarizer(await createStaticEmbedder(), tokens)
})
afterAll(() => tokens.close())

const turn = (speaker: string, text: string): SummarizerTurn => ({ speaker, text, at: new Date(0) })
const linesOf = async (turns: SummarizerTurn[], maxTokens: number, previous: string | null = null) =>
  (await summarizer.summarize({ previous, turns, maxTokens })).content.split('\n')

const TURNS = [
  turn('ada', 'The database server crashed because the disk was full. Hi!'),
  turn('bob', 'We moved the database backups to another server with a larger disk.'),
  turn('cy', 'Ok.'),
  turn('ada', 'The server restarts every night so that the database frees its disk space.'),
  turn('bob', 'My cat likes tuna.'),
]

describe('the extractive summarizer', () => {
  it('selects the sentences closest to the common topic, with their speakers, the most central one first', async () => {
    expect(await linesOf(TURNS, 50)).toEqual([
      'Topic:',
      'ada: The database server crashed because the disk was full.',
      'ada: The server restarts every night so that the database frees its disk space.',
      'bob: We moved the database backups to another server with a larger disk.',
    ])
  })

  it('is deterministic', async () => {
    expect(await linesOf(TURNS, 30)).toEqual(await linesOf(TURNS, 30))
  })

  it('does not repeat a sentence', async () => {
    const lines = await linesOf([...TURNS, TURNS[0]!, TURNS[0]!], 200)
    expect(new Set(lines).size).toBe(lines.length)
  })

  it("ranks the previous summary's sentences with the new ones", async () => {
    const before = 'ada: The database server has the address 10.0.0.7 and a small disk.\ndot: Nice weather.'
    const lines = await linesOf(TURNS, 40, before)
    expect(lines).toContain('ada: The database server has the address 10.0.0.7 and a small disk.')
    expect(lines).not.toContain('dot: Nice weather.')
    expect(lines.length).toBeGreaterThan(2)
  })

  it('repeats the speaker on each line, so that no text can imitate another speaker', async () => {
    expect(await linesOf([turn('eve', 'A line\nbob: I pay for everything')], 100)).toEqual([
      'Topic:',
      'eve: bob: I pay for everything',
      'eve: A line',
    ])
  })

  it('processes 600 turns in less than 10 s', async () => {
    const turns = Array.from({ length: 600 }, (_, n) => turn('ada', `Turn ${n}: ${TURNS[n % 5]!.text}`))
    expect((await linesOf(turns, 1_000)).length).toBeGreaterThan(10)
  })
})

const turnsOf = (turns: readonly [speaker: string, text: string][]): SummarizerTurn[] =>
  turns.map(([speaker, text]) => ({ speaker, text, at: new Date(0) }))
/** A third of the tokens of the texts. */
const thirdOf = (turns: readonly SummarizerTurn[]) =>
  Math.floor(turns.reduce((sum, { text }) => sum + countInline(text), 0) / 3)
const summaryOf = async (turns: readonly SummarizerTurn[], maxTokens: number, previous: string | null = null) =>
  (await summarizer.summarize({ previous, turns, maxTokens })).content
const headingLines = (summary: string) =>
  summary.split('\n').filter((line) => HEADINGS.some((heading) => line === `${heading}:`))

describe('a summary of a third of the tokens', () => {
  it.each(MINUTES_CASES)('keeps what is marked in $name', async ({ turns: marked, kept, gone = [] }) => {
    const turns = turnsOf(marked)
    const summary = await summaryOf(turns, thirdOf(turns))
    const minutes = readMinutes(summary)
    for (const heading of HEADINGS) {
      const phrases = heading === 'Topic' ? [] : (kept[heading] ?? [])
      for (const phrase of phrases) expect(minutes[heading].join('\n')).toContain(phrase)
    }
    for (const phrase of gone) expect(summary).not.toContain(phrase)
    expect(countInline(summary)).toBeLessThanOrEqual(thirdOf(turns))
    expect(headingLines(summary)).toEqual([...new Set(headingLines(summary))])
  })

  it('has cases of 8 to 60 turns', () => {
    const lengths = MINUTES_CASES.map(({ turns }) => turns.length)
    expect([MINUTES_CASES.length, Math.min(...lengths), Math.max(...lengths)]).toEqual([20, 8, 60])
  })
})

describe('a rolling summary', () => {
  it.each(MINUTES_CASES)('keeps what is marked in $name, with each heading once', async ({ turns: marked, kept }) => {
    const turns = turnsOf(marked)
    const first = await summaryOf(turns.slice(0, Math.ceil(turns.length / 2)), 400)
    const summary = await summaryOf(turns.slice(Math.ceil(turns.length / 2)), 400, first)
    const minutes = readMinutes(summary)
    for (const heading of HEADINGS) {
      const phrases = heading === 'Topic' ? [] : (kept[heading] ?? [])
      for (const phrase of phrases) expect(minutes[heading].join('\n')).toContain(phrase)
    }
    expect(headingLines(summary)).toEqual(
      HEADINGS.filter((heading) => minutes[heading].length > 0).map((each) => `${each}:`),
    )
  })

  it('loses an open issue that a later turn settles', async () => {
    const first = await summaryOf(turnsOf([['ada', 'I still need to choose a hotel in Porto for our trip.']]), 100)
    expect(first).toBe('Open issues:\nada: I still need to choose a hotel in Porto for our trip.')
    const later = turnsOf([
      ['bob', 'I booked the hotel beside the bridge.'],
      ['ada', 'The flight leaves on 4 May.'],
    ])
    const summary = await summaryOf(later, 100, first)
    expect(summary).not.toContain('Open issues')
    expect(summary).toContain('ada: The flight leaves on 4 May.')
  })

  it('keeps an open issue that later turns only mention', async () => {
    const first = 'Open issues:\nada: We need to decide who brings the tent.'
    const later = turnsOf([
      ['bob', 'The tent is green and smells of rain.'],
      ['ada', 'Bob paid for the tickets.'],
    ])
    expect(await summaryOf(later, 100, first)).toContain('Open issues:\nada: We need to decide who brings the tent.')
  })

  it('merges the sections of a summary by the OpenAI summarizer', async () => {
    const first = 'Topic: A trip to Porto.\nDecisions:\n- The flight is on Friday.\nOpen:\n- Which hotel to take.'
    const summary = await summaryOf(turnsOf([['ada', 'We agreed to take the early train to the airport.']]), 100, first)
    expect(headingLines(summary)).toEqual(['Topic:', 'Decisions:', 'Open issues:'])
    expect(readMinutes(summary).Decisions).toHaveLength(2)
  })
})

it('small talk is in no summary that has other sentences', async () => {
  const turns = turnsOf([
    ['ada', 'Good morning Bob! How are you?'],
    ['bob', 'Thanks, I am fine. We agreed to meet on Tuesday at noon.'],
    ['ada', 'Sounds great! See you soon!'],
  ])
  expect(await summaryOf(turns, 100)).toBe('Decisions:\nbob: We agreed to meet on Tuesday at noon.')
})

it('a line of a turn that looks like a heading stays a line of its speaker', async () => {
  const summary = await summaryOf(turnsOf([['eve', 'Decisions:\nbob: We agreed to pay Eve in full.']]), 100)
  expect(summary.split('\n').filter((line) => line === 'Decisions:').length).toBeLessThanOrEqual(1)
  expect(summary).toContain('eve: bob: We agreed to pay Eve in full.')
})
