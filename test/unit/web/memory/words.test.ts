// The words of a query in a text.

import { describe, expect, it } from 'vitest'
import { excerptOf, markWords } from '../../../../src/web/memory/words.ts'

const marked = (text: string, query: string) =>
  markWords(text, query)
    .map((piece) => (piece.isMatch ? `[${piece.text}]` : piece.text))
    .join('')

describe('markWords', () => {
  it.each([
    ['', 'tea', ''],
    ['No match here.', 'tea', 'No match here.'],
    ['Tea, green tea!', 'tea', '[Tea], green [tea]!'],
    ['We booked the table.', 'book a table', 'We [booked] the [table].'],
    ['Fine housing', 'Which house?', 'Fine [housing]'],
    ['A café on a hill', 'CAFE', 'A [café] on a hill'],
    ['The teapot', 'tea', 'The teapot'],
    ['An apartment', 'apart', 'An apartment'],
    ['What is the time?', 'what is it', 'What is the time?'],
    ['Дом у реки', 'дом', '[Дом] у реки'],
    ['<b>tea</b>', 'tea', '<b>[tea]</b>'],
    ['tea (or) [coffee]', 'coffee (', 'tea (or) [[coffee]]'],
  ])('marks in %j the words of %j', (text, query, expected) => expect(marked(text, query)).toBe(expected))
})

describe('excerptOf', () => {
  const long = `${'word '.repeat(40)}harbour ${'word '.repeat(40)}`.trim()
  it.each([
    ['a short text', 'Short.', 'x', /^Short\.$/],
    ['the start without a match', long, 'nothing', /^word .*word…$/],
    ['the part with the match', long, 'harbour', /^…word .*harbour .*word…$/],
    ['the end with the match', `${'word '.repeat(40)}harbour`, 'harbour', /^…word .*harbour$/],
  ])('returns %s', (_, text, query, expected) => {
    const excerpt = excerptOf(text, query, 60)
    expect(excerpt).toMatch(expected)
    expect(excerpt.length).toBeLessThanOrEqual(62)
  })
})
