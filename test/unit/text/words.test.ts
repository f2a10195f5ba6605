// The tokeniser, the stop list and the terms of the lexical index.

import { describe, expect, it } from 'vitest'
import { STOP_WORDS, stem, terms, words } from '../../../src/text/words.ts'

describe('words', () => {
  it.each([
    ["I'm sure O'Brien didn’t see Deborah`s café", ['i', 'sure', 'obrien', 'did', 'see', 'deborah', 'cafe']],
    ['well-known, 1st & 5 o’clock', ['well', 'known', '1st', '5', 'oclock']],
    ['Straße ＦＵＬＬ ﬁne', ['straße', 'full', 'fine']],
    ['東京タワー', ['東京', '京タ', 'タワ', 'ワー']],
    ['木', ['木']],
    ['Привет, мир', ['привет', 'мир']],
    ['😀 … --', []],
    ['', []],
    ['x'.repeat(65), []],
    ['x'.repeat(64), ['x'.repeat(64)]],
  ])('are found in %j', (text, expected) => {
    expect(words(text)).toEqual(expected)
  })

  it.each([
    ['apostrophes', "a'"],
    ['letters', 'x'],
    ['accents', '\u0301'],
    ['ligatures that become 18 letters', '\ufdfa'],
    ['ideographs', '語'],
    ['short words', 'a '],
    ['unpaired surrogates', '\ud83d'],
  ])('are found in 256 KiB of %s within the time limit', (_, part) => {
    expect(terms(part.repeat(262_144 / Buffer.byteLength(part)))).toBeDefined()
  })
})

describe('the terms of the lexical index', () => {
  it('are stems without stop words, with repetitions', () => {
    expect(terms('The runners were running and running to the ponies')).toEqual(['runner', 'run', 'run', 'poni'])
  })

  it('have a stop list that contains only words that the tokeniser yields', () => {
    expect([...STOP_WORDS].filter((word) => words(word)[0] !== word)).toEqual([])
  })
})

describe('a stem', () => {
  it.each([
    ['東京', '東京'],
    ['h2o', 'h2o'],
    ['is', 'is'],
    ['2nds', '2nds'],
    ['ponies', 'poni'],
  ])('of %s is %s', (word, expected) => {
    expect(stem(word)).toBe(expected)
  })

  it('does not depend on the words stemmed before', () => {
    const before = stem('controlling')
    for (let i = 0; i < 25_000; i++) stem(`word${i}`)
    expect(stem('controlling')).toBe(before)
  })
})
