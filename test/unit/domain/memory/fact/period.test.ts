// The times at which facts are true, and which facts are about the same time.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  combine,
  connected,
  endOf,
  hadEnded,
  overlap,
  spanOf,
  type Span,
} from '../../../../../src/domain/memory/fact/period.ts'

const day = (n: number) => new Date(Date.UTC(2026, 0, n))
const ms = (n: number) => day(n).getTime()
const fact = (observed: number, from: number | null = null, to: number | null = null) => ({
  trust: 1,
  observedAt: day(observed),
  validFrom: from === null ? null : day(from),
  validTo: to === null ? null : day(to),
})

describe('the span of a fact', () => {
  it.each<[string, ReturnType<typeof fact>, Span]>([
    ['begins when it was observed, and has no end', fact(5), { from: ms(5), to: Infinity }],
    ['begins with validFrom, before the observation', fact(5, 2), { from: ms(2), to: Infinity }],
    ['begins with validFrom, after the observation', fact(5, 9), { from: ms(9), to: Infinity }],
    ['ends with validTo', fact(5, 2, 8), { from: ms(2), to: ms(8) }],
    ['has no beginning if it had ended when it was observed', fact(5, null, 4), { from: -Infinity, to: ms(4) }],
    ['has no beginning if it ended when it was observed', fact(5, null, 5), { from: -Infinity, to: ms(5) }],
  ])('%s', (_, given, span) => expect(spanOf(given)).toEqual(span))
})

it('spans overlap if they have a time in common; the end of a span does not belong to it', () => {
  const cases: [Span, Span, boolean][] = [
    [{ from: 1, to: 5 }, { from: 4, to: 9 }, true],
    [{ from: 1, to: 5 }, { from: 5, to: 9 }, false],
    [{ from: -Infinity, to: 5 }, { from: -Infinity, to: 1 }, true],
    [{ from: 1, to: Infinity }, { from: 7, to: 8 }, true],
  ]
  for (const [a, b, expected] of cases) expect([overlap(a, b), overlap(b, a)]).toEqual([expected, expected])
})

it('a fact has ended from the time validTo on', () => {
  expect([3, 4, 5].map((n) => hadEnded(fact(1, null, 4), day(n)))).toEqual([false, true, true])
  expect(hadEnded(fact(1), day(9))).toBe(false)
})

it('a contradicted fact ends when the other one began, if it was true before', () => {
  const end = (contradicted: ReturnType<typeof fact>, by: ReturnType<typeof fact>) => endOf(contradicted, spanOf(by))
  expect(end(fact(1), fact(5))).toEqual(day(5))
  expect(end(fact(1), fact(5, 3))).toEqual(day(3))
  expect(end(fact(4), fact(5, 3))).toBe(null)
  expect(end(fact(1, null, 4), fact(5))).toBe(null)
  expect(end(fact(1), fact(9, null, 8))).toBe(null)
})

describe('facts with the same statement', () => {
  const parts = (...facts: ReturnType<typeof fact>[]) =>
    connected(facts).map((part) => part.map((each) => facts.indexOf(each)))

  it('are about one time without periods', () => {
    expect(parts(fact(1), fact(30), fact(7))).toEqual([[0, 1, 2]])
  })

  it('are about several times if their periods are apart', () => {
    expect(parts(fact(30, 10, 12), fact(30, 1, 5), fact(30, 4, 9), fact(30))).toEqual([[0], [1, 2], [3]])
  })

  it('end with the first known end after they were observed', () => {
    const [opened, closed, again] = [fact(3, 1), fact(8, null, 20), fact(30)]
    expect(parts(opened, closed, again)).toEqual([[0, 1], [2]])
    expect(combine([opened, closed]).period).toEqual({ validFrom: day(1), validTo: day(20) })
    // Observed after that end, the fact goes on.
    expect(combine([fact(25, 1), closed]).period).toEqual({ validFrom: day(1), validTo: null })
  })

  it('keep their periods if a less trusted fact states another one', () => {
    const own = fact(3)
    const [claimed, repeated] = [
      { ...fact(9, null, 8), trust: 0 },
      { ...fact(9), trust: 0 },
    ]
    expect(parts(claimed, own, repeated)).toEqual([[1, 2], [0]])
  })

  const number = fc.integer({ min: 1, max: 12 })
  const anyFact = fc
    .tuple(number, fc.option(number), fc.option(number), fc.nat({ max: 1 }))
    .map(([observed, from, length, trust]) => {
      const given = fact(observed, from, length === null ? null : (from ?? 0) + length)
      return { ...given, trust }
    })

  it('are in one part each, in their order, and parts that are merged are apart and stay so', () => {
    fc.assert(
      fc.property(fc.array(anyFact, { minLength: 1, maxLength: 10 }), (facts) => {
        const all = connected(facts)
        expect(new Set(all.flat())).toEqual(new Set(facts))
        expect(all.flat()).toHaveLength(facts.length)
        for (const part of all) expect(part).toEqual(facts.filter((each) => part.includes(each)))
        const trustOf = (part: typeof facts) => Math.max(...part.map(({ trust }) => trust))
        for (const [i, a] of all.entries()) {
          for (const b of all.slice(i + 1).filter((part) => trustOf(part) === trustOf(a))) {
            expect(overlap(combine(a).span, combine(b).span)).toBe(false)
          }
        }
        const merged = all.map((part) => ({
          ...combine(part).period,
          trust: trustOf(part),
          observedAt: new Date(Math.max(...part.map(({ observedAt }) => observedAt.getTime()))),
        }))
        for (const { validFrom, validTo } of merged) if (validFrom && validTo) expect(validFrom < validTo).toBe(true)
        expect(connected(merged)).toHaveLength(merged.length)
      }),
      { numRuns: 1_000 },
    )
  })
})
