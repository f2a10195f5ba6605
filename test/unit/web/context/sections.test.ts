// The sections of a context.

import { describe, expect, it } from 'vitest'
import type { ContextItem } from '../../../../src/client/index.ts'
import { omissionsOf, sectionsOf, usualReasonOf } from '../../../../src/web/context/sections.ts'
import { item, messageOf, omitted } from './items.ts'

/** `tokenCount`: defaults to the sum of the messages. */
function contextOf(items: ContextItem[], stablePrefixTokens: number, tokenCount?: number) {
  const messages = items.filter(({ included }) => included).map(messageOf)
  const sum = messages.reduce((tokens, message) => tokens + message.tokenCount, 0)
  return { items, messages, stablePrefixTokens, tokenCount: tokenCount ?? sum }
}

const whole = contextOf(
  [
    item('SYSTEM_PROMPT', 10),
    item('FACT', 5, 'f1'),
    item('RECENT', 20, 't1'),
    item('RECENT', 30, 't2'),
    item('FACT', 7, 'f2'),
    item('PROFILE', 8, 'ada'),
    item('RECALLED', 9, 't0'),
    item('RECENT', 4, 't3'),
    omitted('RECENT', 100, 't-1'),
  ],
  65,
)

describe('sectionsOf', () => {
  it.each([
    ['no messages', contextOf([omitted('FACT', 3, 'f1')], 0), []],
    [
      'one section that is stable as a whole',
      contextOf([item('RECENT', 1, 't1'), item('RECENT', 2, 't2')], 3),
      [['RECENT 0', 'Recent turns', 3, true, 2]],
    ],
    [
      'sections before and after the end of the stable prefix',
      whole,
      [
        ['SYSTEM_PROMPT 0', 'System prompt', 10, true, 1],
        ['FACT 0', 'Facts', 5, true, 1],
        ['RECENT 0', 'Recent turns', 50, true, 2],
        ['FACT 1', 'More facts', 7, false, 1],
        ['PROFILE 0', 'More profiles', 8, false, 1],
        ['RECALLED 0', 'Recalled turns', 9, false, 1],
        ['RECENT 1', 'Newest turn', 4, false, 1],
      ],
    ],
    [
      'two groups of facts without turns between them',
      contextOf([item('FACT', 5, 'f1'), item('FACT', 6, 'f2')], 5),
      [
        ['FACT 0', 'Facts', 5, true, 1],
        ['FACT 1', 'More facts', 6, false, 1],
      ],
    ],
    [
      'the end of a prefix whose messages have more tokens than the whole',
      contextOf(
        [item('RECENT', 40, 't1'), item('RECENT', 40, 't2'), item('RECALLED', 20, 't0'), item('RECENT', 10, 't3')],
        72,
        99,
      ),
      [
        ['RECENT 0', 'Recent turns', 80, true, 2],
        ['RECALLED 0', 'Recalled turns', 20, false, 1],
        ['RECENT 1', 'Newest turn', 10, false, 1],
      ],
    ],
    [
      'facts as the only section before the newest turn, and not stable',
      contextOf([item('SYSTEM_PROMPT', 5), item('FACT', 5, 'f1'), item('RECENT', 6, 't1')], 5),
      [
        ['SYSTEM_PROMPT 0', 'System prompt', 5, true, 1],
        ['FACT 0', 'More facts', 5, false, 1],
        ['RECENT 0', 'Newest turn', 6, false, 1],
      ],
    ],
  ])('returns %s', (_, context, expected) => {
    const sections = sectionsOf(context)
    expect(sections.map((each) => [each.key, each.label, each.tokens, each.isStable, each.entries.length])).toEqual(
      expected,
    )
  })

  it('joins each message with its item', () => {
    for (const { entries } of sectionsOf(whole)) {
      for (const { message, item: its } of entries) expect(message.sourceIds).toEqual(its.sourceIds)
    }
  })
})

describe('usualReasonOf', () => {
  it.each([
    [['a'], 'a'],
    [['b', 'a', 'a'], 'a'],
    [['b', 'a', 'a', 'b'], 'b'],
  ])('of %j is %j', (reasons, expected) => {
    const entries = reasons.map((reason) => {
      const its = { ...item('RECENT', 1), reason }
      return { item: its, message: messageOf(its) }
    })
    expect(usualReasonOf(entries)).toBe(expected)
  })
})

describe('omissionsOf', () => {
  it('returns the items that were left out, the greatest first', () => {
    const items = [item('FACT', 50, 'f1'), omitted('FACT', 3, 'f2'), omitted('RECENT', 9, 't1')]
    expect(omissionsOf({ items }).map(({ tokenCount }) => tokenCount)).toEqual([9, 3])
  })
})
