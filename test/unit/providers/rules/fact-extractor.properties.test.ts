// Properties of the extraction: each turn and each line alone, objects made of the turn's words, the spelling of chats, and
// doubts, hypotheses and reports that take every fact away.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_FACTS_PER_TURN, type ExtractorTurn } from '../../../../src/providers/ports/fact-extractor.ts'
import { createRulesExtractor } from '../../../../src/providers/rules/fact-extractor.ts'
import { verbOf } from '../../../../src/providers/rules/sentences/verbs.ts'
import { LABELLED } from './labels.ts'

const extractor = createRulesExtractor()
const SPEAKER = 'Ada Lovelace'
const people = ['Bob']
const turnOf = (text: string, i = 0): ExtractorTurn => ({
  ...{ id: `turn_${i}`, actor: 'ada', displayName: SPEAKER, kind: 'HUMAN', text },
  at: new Date('2026-05-13T10:00:00Z'),
})
const factsOf = async (...texts: string[]) => (await extractor.extract(texts.map(turnOf), { people })).facts
const withoutTurn = async (text: string) =>
  (await factsOf(text)).map(({ subject, predicate, object, confidence, validFrom, validTo }) =>
    JSON.stringify([subject, predicate, object, confidence, validFrom ?? null, validTo ?? null]),
  )

const sentence = fc.constantFrom(...LABELLED.map(([text]) => text))
/** Sentences that do not change how the next line is read, as code fences and headings of lists do. */
const plain = fc.constantFrom(...LABELLED.map(([text]) => text).filter((text) => !/[\n`:>]|^Hi|^Hey|^Hello/.test(text)))

describe('the facts', () => {
  it('of a turn do not depend on the other turns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sentence, { maxLength: 6 }), async (texts) => {
        const apart = await Promise.all(texts.map((text, i) => extractor.extract([turnOf(text, i)], { people })))
        expect(await factsOf(...texts)).toEqual(apart.flatMap(({ facts }) => facts))
      }),
      { numRuns: 60 },
    )
  })

  it('of lines are those of each line, without duplicates', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plain, { maxLength: 6 }), async (lines) => {
        const apart = (await Promise.all(lines.map(withoutTurn))).flat()
        expect(await withoutTurn(lines.join('\n'))).toEqual([...new Set(apart)].slice(0, MAX_FACTS_PER_TURN))
      }),
      { numRuns: 60 },
    )
  })

  it('have objects made of the words of the turn, of the speaker and of dates', async () => {
    const words = (text: string) =>
      text
        .toLowerCase()
        .normalize('NFC')
        .match(/[\p{L}\p{N}]+/gu) ?? []
    // Words that replace others: "oneself" for "myself", "a" for "this", "in the week of" for "last week".
    const added = new Set([...words(SPEAKER), ...words('a an and to oneself alone s died who'), ...words(DATES)])
    for (const [text] of LABELLED) {
      const said = new Set(words(text.replaceAll(/(\p{L})\1{2,}/gu, '$1')))
      for (const { object } of await factsOf(text)) {
        const strange = words(object).filter(
          (word) => !said.has(word) && !added.has(word) && !/^\d+$/.test(word) && !isFormOf(word, said),
        )
        expect([text, object, strange]).toEqual([text, object, []])
      }
    }
  })
})
const DATES = `on in the week weekend of january february march april may june july august september october november
  december`
/** Whether the word is another form of a verb that was said. */
const isFormOf = (word: string, said: ReadonlySet<string>) => {
  const lemma = verbOf(word)?.lemma
  return lemma !== undefined && [...said].some((each) => verbOf(each)?.lemma === lemma)
}

describe('the language of chats', () => {
  /** Sentences with facts, which are not changed by what surrounds them. */
  const stated = LABELLED.filter(([text, ...facts]) => facts.length > 0 && /^[\p{L}\p{N} ,'’-]+[.!]?$/u.test(text))

  it.each([
    ['a reaction at the end', (text: string) => `${text.replace(/[.!]$/, '')} lol`],
    ['a reaction at the beginning', (text: string) => `haha ${text}`],
    ['an emoji', (text: string) => `${text} 😄`],
    ['no full stop', (text: string) => text.replace(/[.!]$/, '')],
    ['no apostrophe', (text: string) => text.replaceAll(/\b(I|don|can|doesn|haven)['’](m|ve|t)\b/g, '$1$2')],
    ['"i" for "I"', (text: string) => text.replaceAll(/\bI\b/g, 'i')],
  ])('with %s states the same facts', async (_, change) => {
    for (const [text] of stated)
      expect([text, await withoutTurn(change(text))]).toEqual([text, await withoutTurn(text)])
  })
})

describe('no fact is found', () => {
  // A doubt does not extend to what comes after "after": "I think I slept well after we visited Rome".
  const stated = LABELLED.filter(
    ([text, ...facts]) =>
      facts.length > 0 && !text.includes(' after ') && /^(?:I|I'm|I've|My|We)\b[^.,!;]*[.!]?$/.test(text),
  )

  it.each([
    'I think',
    'Maybe',
    'I wish',
    'She said that',
    'Imagine',
    'What if',
    'If',
    'Suppose',
    'I guess',
    'Apparently',
  ])('after %j', async (doubt) => {
    expect(stated.length).toBeGreaterThan(80)
    for (const [text] of stated) expect([text, await withoutTurn(`${doubt} ${text}`)]).toEqual([text, []])
  })

  it('in a sentence that someone else says about "you"', async () => {
    for (const [text] of stated.filter(([text]) => !/ (?:my|our)\b/.test(text))) {
      const asked = text
        .replace(/^I'm\b/, "You're")
        .replace(/^I've\b/, "You've")
        .replace(/^I\b/, 'You')
      if (asked !== text) expect([asked, await withoutTurn(asked)]).toEqual([asked, []])
    }
  })
})
