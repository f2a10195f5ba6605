// The index terms of days: a turn and a query share one if they name the same day or month.

import { describe, expect, it } from 'vitest'
import { dateQueryTerms, dateTerms } from '../../../../../src/domain/memory/indexing/date-terms.ts'

/** A Friday. */
const AT = new Date('2023-05-12T09:00:00Z')
/** Half a year later. */
const ASKED = new Date('2023-11-20T09:00:00Z')

describe('a turn of 12 May 2023', () => {
  it.each([
    ['I went there yesterday.', ['@2023-05-11', '@2023-05']],
    ['We met last Friday', ['@2023-05-05', '@2023-05']],
    ['on March 3rd', ['@2023-03-03', '@2023-03']],
    ['on 20 December', ['@2022-12-20', '@2022-12']],
    ['on 20 December 2021', ['@2021-12-20', '@2021-12']],
    ['in June', ['@2023-06']],
    ['last month', ['@2023-04']],
    ['last year', []],
    ['in the summer of 2022', []],
    ['no date', []],
  ])('has for %j the terms %j', (text, expected) => {
    expect(dateTerms(text, 'en', AT)).toEqual(expected)
  })

  it('has the days of a week, and at most 24 terms', () => {
    expect(dateTerms('last week', 'en', AT).slice(0, 3)).toEqual(['@2023-05-01', '@2023-05', '@2023-05-02'])
    expect(dateTerms('last week', 'en', AT)).toHaveLength(8)
    const many = Array.from({ length: 30 }, (_, n) => `2022-0${1 + (n % 9)}-${(10 + n / 2) | 0}`).join(' ')
    expect(dateTerms(many, 'en', AT)).toHaveLength(24)
  })

  it.each([
    ['I went there yesterday.', 'What happened on 11 May?', true],
    ['I went there yesterday.', 'What happened on May 11, 2023?', true],
    ['I went there yesterday.', 'What happened in May 2023?', true],
    ['I went there yesterday.', 'What happened on 12 May 2023?', false],
    ['Last week we were in Rome', 'Where were they on 3 May?', true],
    ['Last month we were in Rome', 'Where were they in April?', true],
    ['Last month we were in Rome', 'Where were they on 3 April?', false],
    ['Gestern waren wir in Rom', 'Was war am 11. Mai?', false],
  ])('that says %j is found by %j: %s', (text, query, expected) => {
    const terms = new Set(dateTerms(text, 'en', AT))
    expect(
      dateQueryTerms(query, 'en', ASKED)
        .flat()
        .some((term) => terms.has(term)),
    ).toBe(expected)
  })

  it('names days in the language of the text', () => {
    expect(dateTerms('Gestern waren wir in Rom', 'de', AT)).toEqual(['@2023-05-11', '@2023-05'])
    expect(dateTerms('昨日、東京に行った', null, AT)).toEqual(['@2023-05-11', '@2023-05'])
  })
})
