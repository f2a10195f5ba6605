// The settings of the numbers of turns after which automatic jobs run.

import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { problemsOf } from '../../support/environment.ts'

describe('the thresholds of automatic jobs', () => {
  const NAMES = ['THREAD_SUMMARY_EVERY_N', 'FACT_EXTRACTION_EVERY_N', 'USER_SUMMARY_EVERY_N']

  it.each(NAMES)('include %s, a whole number from 0 to 100000', (name) => {
    for (const value of ['0', '1', '100000']) {
      expect(Object.values(loadConfig({ [name]: value }).automatic)).toContain(Number(value))
    }
    for (const value of ['-1', '100001', '1.5', 'never']) {
      expect(problemsOf({ [name]: value })).toEqual([`${name} is "${value}": must be a whole number from 0 to 100000`])
    }
  })
})

describe('AUTOMATIC_TITLES', () => {
  it.each([
    [{}, true],
    [{ AUTOMATIC_TITLES: 'false' }, false],
    [{ AUTOMATIC_TITLES: '1' }, true],
  ])('%j sets automatic titles to %s', (environment, titles) => {
    expect(loadConfig(environment).automatic.titles).toBe(titles)
  })
})
