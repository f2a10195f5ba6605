// How the page writes times, counts and errors.

import { describe, expect, it } from 'vitest'
import { ColloquyError } from '../../../../src/client/index.ts'
import { countOf, dayOf, errorText, percentOf, shorten } from '../../../../src/web/kit/text.ts'

const NOW = new Date(2026, 2, 1, 0, 30)
const at = (month: number, day: number, hour: number) => new Date(2026, month - 1, day, hour).toISOString()

describe('texts', () => {
  it('name today and yesterday by the days of the local time zone', () => {
    expect(dayOf(at(3, 1, 0), NOW)).toBe('Today')
    expect(dayOf(at(2, 28, 23), NOW)).toBe('Yesterday')
    expect(dayOf(at(2, 27, 23), NOW)).toContain('2026')
  })

  it('count one and many', () => {
    expect([countOf(1, 'turn'), countOf(0, 'turn'), countOf(2, 'summary', 'summaries')]).toEqual([
      '1 turn',
      '0 turns',
      '2 summaries',
    ])
  })

  it.each([
    [null, 1, '–'],
    [0, 1, '0%'],
    [0.1234, 1, '12.3%'],
    [0.1234, 0, '12%'],
    [1, 1, '100%'],
  ])('write the share %s with %d decimals as %s', (share, digits, text) => expect(percentOf(share, digits)).toBe(text))

  it('shorten to one line', () => {
    expect(shorten('one\n two', 20)).toBe('one two')
    expect(shorten('one two three', 8)).toBe('one two…')
  })

  it('say what failed, with the first problem of the input', () => {
    const issues = [{ path: ['title'], message: 'title: is too long' }]
    expect(errorText(new ColloquyError('INVALID_INPUT', 'The input is invalid.', { issues }))).toBe(
      'The input is invalid. title: is too long',
    )
    const same = [{ path: ['title'], message: 'is too long' }]
    expect(errorText(new ColloquyError('INVALID_INPUT', 'title: is too long', { issues: same }))).toBe(
      'title: is too long',
    )
    expect(errorText(new Error('no'))).toBe('no')
    expect(errorText('text')).toBe('text')
  })
})
