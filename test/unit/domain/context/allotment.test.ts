// Division of the budget among the sections of a context. No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allot } from '../../../../src/domain/context/allotment.ts'
import { DEFAULT_SHARES, fits, spaceOf, NOTHING } from '../../../../src/domain/context/budget.ts'

const size = (tokens: number, messages: number) => ({ ...spaceOf(tokens, messages, 10 * tokens) })
const defaults = { all: size(1_000, 20), fixed: NOTHING, newest: NOTHING, shares: DEFAULT_SHARES, withRecall: true }
const tokensAndMessages = (limits: ReturnType<typeof allot>) =>
  Object.fromEntries(Object.entries(limits).map(([section, { OPENAI, messages }]) => [section, [OPENAI, messages]]))

describe('section limits', () => {
  it('are cumulative, and reserve a share and one message for recalled turns', () => {
    expect(tokensAndMessages(allot(defaults))).toEqual({
      profile: [100, 19],
      facts: [200, 19],
      summary: [1_000, 20],
      pinned: [650, 19],
      window: [800, 19],
    })
  })

  it('give the share of recalled turns to the other sections when recall is off', () => {
    expect(tokensAndMessages(allot({ ...defaults, withRecall: false }))).toEqual({
      profile: [125, 20],
      facts: [250, 20],
      summary: [1_000, 20],
      pinned: [812, 20],
      window: [1_000, 20],
    })
  })

  it('divide the space left by the fixed messages, and reserve space for the newest turn except in the window', () => {
    const limits = allot({ ...defaults, fixed: size(200, 2), newest: size(700, 1) })
    expect(tokensAndMessages(limits)).toEqual({
      profile: [80, 17],
      facts: [100, 17],
      summary: [100, 17],
      pinned: [100, 17],
      window: [640, 17],
    })
  })

  it('never exceed the remaining budget and, except for summaries, never decrease from one section to the next', () => {
    const sizes = fc
      .record({ tokens: fc.nat(2_000), messages: fc.nat(40) })
      .map((each) => size(each.tokens, each.messages))
    fc.assert(
      fc.property(sizes, sizes, fc.boolean(), (fixed, newest, withRecall) => {
        const all = size(5_000, 100)
        const { profile, facts, pinned, window } = allot({ ...defaults, all, fixed, newest, withRecall })
        const remaining = Object.fromEntries(
          Object.entries(all).map(([key, value]) => [key, value - fixed[key as 'chars']]),
        )
        expect(fits(profile, facts) && fits(facts, pinned) && fits(pinned, window)).toBe(true)
        expect(fits(window, remaining as typeof all)).toBe(true)
      }),
    )
  })
})
