// The rules' precision and recall on a labelled set, trust by speaker, and robustness against code and hostile text.

import { describe, expect, it } from 'vitest'
import type { ToldTurn } from '../../../src/providers/ports/fact-extractor.ts'
import { createRulesExtractor } from '../../../src/providers/rules/fact-extractor.ts'
import { LABELLED } from './labels.ts'

const AT = new Date('2026-05-13T10:00:00Z')
const ADA = { actor: 'ada', displayName: 'Ada Lovelace', kind: 'HUMAN', at: AT } as const
const BOB: ToldTurn = { id: 'turn_bob', actor: 'bob', displayName: 'Bob', kind: 'HUMAN', at: AT, text: 'Hey Ada!' }
const turn = (text: string, more: Partial<ToldTurn> = {}): ToldTurn => ({ ...ADA, id: 'turn_ada', text, ...more })

const extractor = createRulesExtractor()
async function factsIn(...turns: ToldTurn[]): Promise<string[]> {
  const { facts } = await extractor.extract(turns)
  return facts.map(({ subject, predicate, object }) => [subject, predicate, object].join(' | '))
}
/** Each text as a turn of its own. */
const turns = (texts: string[]) => texts.map((text, i) => turn(text, { id: `turn_${i}` }))

describe('on the labelled set', () => {
  it('at least 95 per cent of the extracted facts are right, and most facts are found', async () => {
    let right = 0
    const wrong: string[] = []
    const missed: string[] = []
    for (const [said, ...labels] of LABELLED) {
      const wanted = labels.map((label) => (label.split(' | ').length === 3 ? label : `Ada Lovelace | ${label}`))
      const found = await factsIn(BOB, turn(said))
      right += found.filter((each) => wanted.includes(each)).length
      wrong.push(...found.filter((each) => !wanted.includes(each)).map((each) => `${each} <- ${said}`))
      missed.push(...wanted.filter((each) => !found.includes(each)).map((each) => `${each} <- ${said}`))
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
    const asked = LABELLED.map(([said]) => said.replace(/[.!]*$/, '?'))
    expect(await factsIn(BOB, ...turns(asked))).toEqual([])
  })

  it('nothing quoted yields a fact, by quotation marks, by > or by a fence', async () => {
    for (const [said] of LABELLED) {
      const cited = `> ${said.replaceAll('\n', '\n> ')}`
      const quotes = [cited, `He wrote “${said.replaceAll('\n', ' ')}”`, `~~~\n${said}\n~~~`]
      expect([said, await factsIn(BOB, ...turns(quotes))]).toEqual([said, []])
    }
  })
})

describe('the speaker of a fact', () => {
  const said = "I live in Berlin. Bob is a plumber. Remember that the vault's colour is red."

  it('is the subject of "I"', async () => {
    expect(await factsIn(BOB, turn('I live in Berlin.', { displayName: 'Grace Hopper' }))).toEqual([
      'Grace Hopper | lives in | Berlin',
    ])
  })

  it('can be an agent, but only people can ask to remember, and tool results yield nothing', async () => {
    const about = ['Ada Lovelace | lives in | Berlin', 'Bob | works as | plumber']
    const asked = "Ada Lovelace | wants remembered | the vault's colour is red"
    expect(await factsIn(BOB, turn(said))).toEqual([...about, asked])
    expect(await factsIn(BOB, turn(said, { kind: 'AGENT' }))).toEqual(about)
    expect(await factsIn(BOB, turn(said, { kind: 'TOOL' }))).toEqual([])
  })

  it('gives more confidence to facts about themselves', async () => {
    const { facts } = await extractor.extract([BOB, turn('I work at Initech. Bob works at Initech.')])
    const sure = facts.map(({ subject, confidence }) => [subject, confidence])
    expect(sure).toEqual([
      ['Ada Lovelace', 0.9],
      ['Bob', 0.63],
    ])
  })
})

it('times are relative to the time of the turn', async () => {
  const text = 'I went to a concert yesterday.'
  expect(await factsIn(turn(text, { at: new Date('2024-03-01T00:30:00Z') }))).toEqual([
    'Ada Lovelace | went to | a concert on 2024-02-29',
  ])
})

describe('a turn of 256 KB', () => {
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
  ])(
    'of %j is processed quickly, and yields few facts',
    async (part) => {
      const { facts } = await extractor.extract([turn(part.repeat(Math.ceil(262_144 / part.length)))])
      expect(facts.length).toBeLessThanOrEqual(16)
    },
    20_000,
  )
})
