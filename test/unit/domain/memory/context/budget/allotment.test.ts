// Division of the budget among the sections of a context. No database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allot, inStepsOf, type Section } from '../../../../../../src/domain/memory/context/budget/allotment.ts'
import {
  DEFAULT_SHARES,
  fits,
  NOTHING,
  spaceOf,
  sum,
  type Size,
} from '../../../../../../src/domain/memory/context/budget/budget.ts'

const SECTIONS = Object.keys(DEFAULT_SHARES) as Section[]
const size = (tokens: number, messages = 1) => spaceOf(tokens, messages, 10 * tokens)
const needing = (tokens: Partial<Record<Section, number>>) =>
  Object.fromEntries(
    SECTIONS.map((section) => [section, size(tokens[section] ?? 0, tokens[section] ? 1 : 0)]),
  ) as Record<Section, Size>
const defaults = {
  space: size(1_000, 20),
  newest: NOTHING,
  shares: DEFAULT_SHARES,
  least: { summary: NOTHING, relevant: NOTHING },
  wholeFirst: false,
}
const allotted = (needs: Partial<Record<Section, number>>, more: Partial<Parameters<typeof allot>[0]> = {}) =>
  Object.fromEntries(
    Object.entries(allot({ ...defaults, needs: needing(needs), ...more })).flatMap(([section, { OPENAI }]) =>
      OPENAI > 0 ? [[section, OPENAI]] : [],
    ),
  )
const LOTS = 10_000
const everything = Object.fromEntries(SECTIONS.map((section) => [section, LOTS]))

describe('the space of a section', () => {
  it('is its share if all sections need more', () => {
    expect(allotted(everything)).toEqual({
      profile: 100,
      facts: 50,
      relevant: 100,
      pinned: 100,
      recalled: 250,
      summary: 200,
      recent: 200,
    })
    expect(Object.values(DEFAULT_SHARES).reduce((total, share) => total + share, 0)).toBeCloseTo(1)
  })

  it('grows by what other sections leave, the most valuable section first, except for facts before the turns', () => {
    expect(allotted({ recent: LOTS })).toEqual({ recent: 1_000 })
    expect(allotted({ recent: LOTS, summary: 450 })).toEqual({ summary: 450, recent: 550 })
    expect(allotted({ recent: LOTS, summary: 450, recalled: 700 })).toEqual({
      recalled: 600,
      summary: 200,
      recent: 200,
    })
    expect(allotted({ facts: LOTS, profile: 300, recent: 500 })).toEqual({ facts: 50, profile: 300, recent: 500 })
  })

  it('is never less than the shortest summary, and the newest turn counts as recent', () => {
    const tight = { newest: size(850), least: { summary: size(90), relevant: size(50) } }
    expect(allotted({ ...everything, summary: 400 }, tight)).toEqual({ summary: 90, relevant: 60, recent: 850 })
  })

  it('goes to recent turns before recalled ones if the whole conversation is to be included', () => {
    const needs = { recalled: 700, recent: 600 }
    expect(allotted(needs, { wholeFirst: true })).toEqual({ recalled: 400, recent: 600 })
    expect(allotted(needs)).toEqual({ recalled: 700, recent: 300 })
  })

  it('never exceeds the budget together with the others, and is less than needed only if the budget is used up', () => {
    const tokens = fc.oneof(fc.nat(200), fc.nat(3_000))
    fc.assert(
      fc.property(
        fc.record(Object.fromEntries(SECTIONS.map((section) => [section, tokens])) as Record<Section, typeof tokens>),
        fc.nat(1_000),
        fc.nat(300),
        fc.boolean(),
        (needs, newest, shortest, wholeFirst) => {
          const given = allot({
            ...defaults,
            needs: needing(needs),
            newest: size(newest),
            least: { summary: size(shortest, 0), relevant: size(shortest, 0) },
            wholeFirst,
          })
          expect(fits(sum(Object.values(given)), defaults.space)).toBe(true)
          const used = sum(Object.values(given)).OPENAI
          for (const section of SECTIONS) {
            const own = given[section].OPENAI - (section === 'recent' ? newest : 0)
            expect(own).toBeLessThanOrEqual(needs[section])
            if (section !== 'facts' && own < needs[section]) expect(used).toBe(1_000)
          }
        },
      ),
    )
  })
})

describe('a need in steps', () => {
  it('is rounded up to a sixteenth of the space', () => {
    expect(inStepsOf(size(1_600), size(1, 3))).toEqual(spaceOf(100, 3, 1_000))
    expect(inStepsOf(size(1_600), size(100)).OPENAI).toBe(100)
    expect(inStepsOf(size(1_600), size(101)).OPENAI).toBe(200)
  })
})
