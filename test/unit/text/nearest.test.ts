// The known name that a misspelt name probably means.

import { expect, it } from 'vitest'
import { nearest } from '../../../src/text/nearest.ts'

const KNOWN = ['turn', 'turns', 'title', 'tokenBudget', 'a', 'conversationId']

it.each<[given: string, expected: string | null]>([
  ['title', 'title'],
  ['titel', 'title'],
  ['trun', 'turn'],
  ['tuns', 'turns'],
  ['TOKENBUDGET', 'tokenBudget'],
  ['tokenbudgt', 'tokenBudget'],
  ['conversation', 'conversationId'],
  ['conversatoinID', 'conversationId'],
  ['b', null],
  ['metadata', null],
  ['', null],
  ['title'.repeat(100), null],
])('%s is probably %s', (given, expected) => {
  expect(nearest(given, KNOWN)).toBe(expected)
})

it('is null if no name is known', () => {
  expect(nearest('title', [])).toBeNull()
})
