// The tokeniser, the stop list and the terms of the lexical index.

import { describe, expect, it } from 'vitest'
import { stem } from '../../../../src/text/words/stems.ts'
import { STOP_WORDS } from '../../../../src/text/words/stop-words.ts'
import { queryTerms, terms, words } from '../../../../src/text/words/words.ts'

describe('words', () => {
  it.each([
    ["I'm sure O'Brien didn’t see Deborah`s café", ['i', 'sure', 'obrien', 'did', 'see', 'deborah', 'cafe']],
    ['well-known, 1st & 5 o’clock', ['well', 'known', '1st', '5', 'oclock']],
    ['Straße ＦＵＬＬ ﬁne', ['straße', 'full', 'fine']],
    ['東京タワー', ['東京', 'タワー']],
    ['我昨天去了医院', ['我', '昨天', '去了', '医院']],
    ['เมื่อวานไปโรงพยาบาล', ['เมื่อ', 'วาน', 'ไป', 'โรง', 'พยาบาล']],
    ['iPhoneを買う', ['iphone', 'を', '買う']],
    ['대학교에서 꽃은', ['대학', '학교', '꽃은']],
    ["l'eau de l’orto dell'amica", ['eau', 'de', 'orto', 'amica']],
    ['Ещё мой', ['еще', 'мой']],
    ['Soooo goood', ['so', 'good']],
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

  it.each([
    ['English', 'likes liked tulips', ['like', 'like', 'tulip']],
    ['German', 'die Blumen am Zaun', ['de:blum', 'de:zaun']],
    ['French', 'les pommes sont mûres', ['fr:pomm', 'fr:mur']],
    ['Spanish', 'las canciones de ayer', ['es:cancion', 'es:ayer']],
    ['Russian', 'мои тюльпаны', ['тюльпа']],
    ['chat English', 'im sure they dont, i cant and youre right', ['sure', 'right']],
    ['Korean', '튤립을 심었다', ['튤립', '심었', '었다']],
    ['mixed scripts', 'the iPhone 15 von мама', ['iphon', '15', 'von', 'мам']],
  ])('of %s are stems without function words', (_, text, expected) => {
    expect(terms(text)).toEqual(expected)
  })

  it.each([
    ['Blumen', 'Ich mag die Blume sehr'],
    ['тюльпан', 'красные тюльпаны'],
    ['canción', 'me gustan las canciones'],
    ['cancion', 'una canción para ti'],
    ['tulips', 'a tulip'],
    ['laptop', 'Der Laptop ist kaputt'],
    ['gatti', 'il gatto è sul tetto'],
    ['Lefevre', 'le docteur Lefèvre est là'],
  ])('of the query %j contain one of the text %j', (query, text) => {
    const found = new Set(terms(text))
    expect(queryTerms(query).map((alternatives) => alternatives.filter((each) => found.has(each)).length)).toEqual([1])
  })

  it('of a query do not match other words by the stem of another language', () => {
    // The French stem of "cares" is "car".
    expect(queryTerms('who cares?').flat()).not.toContain('car')
  })

  it('have a stop list that contains only words that the tokeniser yields', () => {
    const lists = Object.values(STOP_WORDS).flatMap((list) => [...list])
    expect(lists.filter((word) => words(word)[0] !== word)).toEqual([])
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
