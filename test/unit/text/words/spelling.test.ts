// Typing errors in English words are corrected; names, rare words and words of other languages are not changed.

import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { corrected, MAX_UNKNOWN } from '../../../../src/text/words/spelling.ts'
import { queryTerms, terms } from '../../../../src/text/words/words.ts'

describe('corrected words', () => {
  it.each([
    ['recieve', 'receive'],
    ['freinds', 'friends'],
    ['becuase', 'because'],
    ['alergic', 'allergic'],
    ['haloween', 'halloween'],
    ['tommorrow', 'tomorrow'],
    ['planss', 'plans'],
    ['sufferinng', 'suffering'],
    ['enviroment', 'environment'],
    ['educaton', 'education'],
    ['restarant', 'restaurant'],
  ])('%s is corrected to %s', (word, expected) => {
    expect(corrected([word])).toEqual([expected])
  })

  it.each(
    `peanuts hedgehogs quilting snuggled overcooked debouncing weirder prisma vitest redis kubectl esports hokage satay
    zumba ramen wraith pgvector melanie parma param bryon form from then than quite quiet trail trial`.split(/\s+/),
  )('%s is not changed', (word) => {
    expect(corrected([word])).toEqual([word])
  })

  it('are not corrected again, and keep their first letter', () => {
    const word = fc.string({ unit: fc.constantFrom(...'aeinrstlo'), minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), (words) => {
        const once = corrected(words)
        expect(corrected(once)).toEqual(once)
        expect(once.map((each) => each[0])).toEqual(words.map((each) => each[0]))
      }),
    )
  })

  it('are the first unknown ones of a text', () => {
    const unknown = Array.from({ length: MAX_UNKNOWN - 1 }, (_, n) => `qxqz${'qz'.repeat(1 + (n % 5))}`)
    expect(corrected([...unknown, 'recieve', 'freinds']).slice(-2)).toEqual(['receive', 'freinds'])
    expect(corrected([...unknown, 'receive', 'friends', 'freinds']).at(-1)).toBe('friends')
  })
})

describe('the terms of a text', () => {
  const shared = (text: string, query: string) => {
    const found = new Set(terms(text))
    return queryTerms(query).filter((alternatives) => alternatives.some((term) => found.has(term))).length
  }

  it.each([
    ['I am alergic to peanuts.', 'allergic', 1],
    ['I am allergic to peanuts.', 'alergic', 1],
    ['I am alergic to peanuts.', 'alergic', 1],
    ['Do you recieve my mails?', 'recieved', 1],
    ['We met Chistopher at the station.', 'Wo ist Chistopher, und was macht er?', 1],
    ['Ich habe das Rezept von meiner Freundin.', 'rezept', 1],
    ['Wir haben gestern die Enviroment-Seite gelesen.', 'environment', 0],
  ])('%s meets the query %s', (text, query, expected) => {
    expect(shared(text, query)).toBe(expected)
  })
})
