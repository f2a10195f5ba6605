// Periods of statements, and the moments at which they begin and end.

import { describe, expect, it } from 'vitest'
import { readPeriod } from '../../../../src/providers/rules/periods.ts'

/** A Wednesday. */
const TURN_TIME = new Date('2026-05-13T10:00:00Z')
const day = (date: Date | null) => date?.toISOString().slice(0, 10) ?? null
const read = (text: string, isOngoing = true) => {
  const period = readPeriod(text, TURN_TIME, isOngoing)
  return period && [period.rest, day(period.from), day(period.to), period.since]
}

describe('a period', () => {
  it.each([
    ['in Oslo since 2019', 'in Oslo', '2019-01-01', null, '2019'],
    ['vegan since May 2020', 'vegan', '2020-05-01', null, 'May 2020'],
    ['in Rome since last March', 'in Rome', '2026-03-01', null, 'March 2026'],
    ['at Acme since two years ago', 'at Acme', '2024-01-01', null, '2024'],
    ['in Rome since yesterday', 'in Rome', '2026-05-12', null, 'on 2026-05-12'],
    ['chess for five years', 'chess', '2021-01-01', null, '2021'],
    ['in Ghent for about six months', 'in Ghent', '2025-11-01', null, 'November 2025'],
    ['at Acme from 2015 to 2018', 'at Acme', '2015-01-01', '2018-01-01', ''],
    ['at Acme between March 2015 and June 2018 as a cook', 'at Acme as a cook', '2015-03-01', '2018-06-01', ''],
    ['in Rome until last May', 'in Rome', null, '2025-05-01', ''],
    ['in Rome till 2 May 2021', 'in Rome', null, '2021-05-02', ''],
    ['in Rome for two years until 2020', 'in Rome', '2018-01-01', '2020-01-01', ''],
    ['in Rome for three months until June 2020, then in Oslo', 'in Rome, then in Oslo', '2020-03-01', '2020-06-01', ''],
  ])('%s', (text, rest, from, to, since) => {
    expect(read(text)).toEqual([rest, from, to, since])
  })

  it.each([
    'in Oslo',
    'for years',
    'since forever',
    'from home',
    'for my aunt',
    'until I die',
    'between jobs',
    'from 2018 to 2015',
  ])('is none in %j', (text) => {
    expect(read(text)).toBeNull()
  })

  it('of a length alone is read only if it lasts until the turn', () => {
    expect(read('in Rome for two years', false)).toBeNull()
    expect(read('in Rome for two years', true)).toEqual(['in Rome', '2024-01-01', null, '2024'])
  })
})
