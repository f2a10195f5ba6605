// The input of buildContext that follows from the settings of the panel.

import { describe, expect, it } from 'vitest'
import { formatNumber } from '../../../../src/web/kit/text.ts'
import { describe as describeSettings, inputOf, type Settings } from '../../../../src/web/context/settings.ts'

const settings: Settings = {
  actor: 'bot',
  budget: 4_000,
  strategy: null,
  facts: false,
  profiles: false,
  recall: null,
  query: '',
}

describe('inputOf', () => {
  it.each([
    [{}, { tokenBudget: 4_000, strategy: null, includeFacts: false, semanticRecall: null, query: null }],
    [
      { strategy: 'SIMPLE' as const, profiles: true },
      { strategy: 'SIMPLE', includeProfile: true },
    ],
    [
      { recall: 'OWNER' as const, query: ' tea ' },
      { semanticRecall: { scope: 'OWNER' }, query: 'tea' },
    ],
    [
      { facts: true, query: 'tea' },
      { includeFacts: true, query: 'tea' },
    ],
    [{ facts: true, query: '  ' }, { query: null }],
    // The server refuses a query without facts and recall.
    [{ query: 'tea' }, { query: null }],
  ])('returns for %j', (changes, expected) => expect(inputOf({ ...settings, ...changes })).toMatchObject(expected))
})

describe('the description of the settings', () => {
  it.each([
    [{}, `${formatNumber(4_000)} tokens · default strategy`],
    [
      { strategy: 'HYBRID' as const, facts: true, profiles: true, recall: 'CONVERSATION' as const, query: 'tea' },
      `${formatNumber(4_000)} tokens · hybrid · facts · profiles · recall in this conversation · query “tea”`,
    ],
    [{ query: 'tea' }, `${formatNumber(4_000)} tokens · default strategy`],
  ])('describes %j', (changes, text) => expect(describeSettings({ ...settings, ...changes })).toBe(text))
})
