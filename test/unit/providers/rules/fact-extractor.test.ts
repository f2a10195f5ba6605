// The extraction rules: precision and recall on a labelled set, facts by kind of speaker, and hostile text.

import { describe, expect, it } from 'vitest'
import type { ExtractorTurn } from '../../../../src/providers/ports/fact-extractor.ts'
import { createRulesExtractor } from '../../../../src/providers/rules/fact-extractor.ts'
import { LABELLED } from './labels.ts'

const AT = new Date('2026-05-13T10:00:00Z')
const ADA = { actor: 'ada', displayName: 'Ada Lovelace', kind: 'HUMAN', at: AT } as const
const BOB: ExtractorTurn = { id: 'turn_bob', actor: 'bob', displayName: 'Bob', kind: 'HUMAN', at: AT, text: 'Hey Ada!' }
const turn = (text: string, more: Partial<ExtractorTurn> = {}): ExtractorTurn => ({
  ...ADA,
  id: 'turn_ada',
  text,
  ...more,
})

const extractor = createRulesExtractor()
async function factsIn(...turns: ExtractorTurn[]): Promise<string[]> {
  const { facts } = await extractor.extract(turns)
  return facts.map(({ subject, predicate, object }) => [subject, predicate, object].join(' | '))
}
/** One turn for each text. */
const turns = (texts: string[]) => texts.map((text, i) => turn(text, { id: `turn_${i}` }))

describe('on the labelled set', () => {
  it('at least 95 per cent of the extracted facts are right, and most facts are found', async () => {
    let right = 0
    const wrong: string[] = []
    const missed: string[] = []
    for (const [text, ...labels] of LABELLED) {
      const expected = labels.map((label) => (label.split(' | ').length === 3 ? label : `Ada Lovelace | ${label}`))
      const found = await factsIn(BOB, turn(text))
      right += found.filter((each) => expected.includes(each)).length
      wrong.push(...found.filter((each) => !expected.includes(each)).map((each) => `${each} <- ${text}`))
      missed.push(...expected.filter((each) => !found.includes(each)).map((each) => `${each} <- ${text}`))
    }
    console.log(
      `rules, of ${LABELLED.length} texts: precision ${right}/${right + wrong.length}, `
        + `recall ${right}/${right + missed.length}`,
      { wrong, missed },
    )
    expect(LABELLED.length).toBeGreaterThanOrEqual(350)
    expect(right).toBeGreaterThanOrEqual(160)
    expect(wrong.length * 19).toBeLessThanOrEqual(right)
    expect(missed.length).toBeLessThanOrEqual(12)
  })

  it('no question yields a fact', async () => {
    const questions = LABELLED.map(([text]) => text.replace(/[.!]*$/, '?'))
    expect(await factsIn(BOB, ...turns(questions))).toEqual([])
  })

  it('no text quoted by quotation marks, by > or by a fence yields a fact', async () => {
    for (const [text] of LABELLED) {
      const cited = `> ${text.replaceAll('\n', '\n> ')}`
      const quotes = [cited, `He wrote “${text.replaceAll('\n', ' ')}”`, `~~~\n${text}\n~~~`]
      expect([text, await factsIn(BOB, ...turns(quotes))]).toEqual([text, []])
    }
  })
})

describe('the speaker of a fact', () => {
  const text = "I live in Berlin. Bob is a plumber. Remember that the vault's colour is red."

  it('is the subject of "I"', async () => {
    expect(await factsIn(BOB, turn('I live in Berlin.', { displayName: 'Grace Hopper' }))).toEqual([
      'Grace Hopper | lives in | Berlin',
    ])
  })

  it('is a person or an agent; only a person can ask to remember, and a tool result yields no facts', async () => {
    const statements = ['Ada Lovelace | lives in | Berlin', 'Bob | works as | plumber']
    const reminder = "Ada Lovelace | wants remembered | the vault's colour is red"
    expect(await factsIn(BOB, turn(text))).toEqual([...statements, reminder])
    expect(await factsIn(BOB, turn(text, { kind: 'AGENT' }))).toEqual(statements)
    expect(await factsIn(BOB, turn(text, { kind: 'TOOL' }))).toEqual([])
  })

  it('gets a higher confidence in facts about itself than in facts about others', async () => {
    const { facts } = await extractor.extract([BOB, turn('I work at Initech. Bob works at Initech.')])
    const confidences = facts.map(({ subject, confidence }) => [subject, confidence])
    expect(confidences).toEqual([
      ['Ada Lovelace', 0.9],
      ['Bob', 0.63],
    ])
  })
})

it('a time in a fact is relative to the time of the turn', async () => {
  const text = 'I went to a concert yesterday.'
  expect(await factsIn(turn(text, { at: new Date('2024-03-01T00:30:00Z') }))).toEqual([
    'Ada Lovelace | went to | a concert on 2024-02-29',
  ])
})

describe('a turn of 256 KiB', () => {
  it.each([
    'I live in ',
    'I love tea. ',
    'my my ',
    'I ',
    '" ',
    "' ",
    '> ',
    '`',
    'and I ',
    ', I',
    'A',
    'so ',
    'hey ',
    '<a',
    '😀',
    '\n',
    'I have a a a ',
    'My favorite a ',
    '. . ',
    'yesterday ',
    'not ',
    'very ',
    'Ada ',
    'I really ',
    '“',
    '(',
    '!',
    ': ',
    'helps me ',
    'is my ',
    'after I ',
    'an old, ',
    'Rex, my ',
    'gonna ',
    'last ',
  ])('of repeated %j is processed within the time limit, and yields at most 16 facts', async (part) => {
    const { facts } = await extractor.extract([turn(part.repeat(Math.ceil(262_144 / part.length)))])
    expect(facts.length).toBeLessThanOrEqual(16)
  })

  it.each(['my favorite ', 'X is my favorite ', 'I work in ', 'I love ', 'I usually ', 'I went to '])(
    'of sentences of %j and a word of hundreds of letters is processed within the time limit',
    async (beginning) => {
      const sentence = `${beginning}${'a'.repeat(370)}. `
      const { facts } = await extractor.extract([turn(sentence.repeat(Math.ceil(262_144 / sentence.length)))])
      expect(facts.length).toBeLessThanOrEqual(16)
    },
  )

  it('of many lines is read in several iterations of the event loop', async () => {
    let iterations = 0
    let isDone = false
    const count = () => {
      iterations += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await extractor.extract([turn('no fact\n'.repeat(32_768)), BOB])
    isDone = true
    expect(iterations).toBeGreaterThan(2)
  })
})
