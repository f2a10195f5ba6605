// Invariants of every context (see faults in cases.ts) over random conversations with Unicode, tool calls, pinned turns
// and budgets as small as one token.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Context } from '../../../src/domain/context/message.ts'
import { BudgetTooSmall, InvalidInput } from '../../../src/errors.ts'
import { casesOf } from '../../support/long.ts'
import { cases, contextOf, faults } from './cases.ts'

const RUNS = { numRuns: casesOf(2_000) }

describe('the context of a random conversation', () => {
  it('stays within the budget, pairs calls with results, and reports every omission', async () => {
    let built = 0
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const context = await contextOf(given)
        if (context instanceof Error) return
        built += 1
        expect([...faults(given, context)]).toEqual([])
      }),
      RUNS,
    )
    expect(built).toBeGreaterThan(casesOf(400))
  }, 120_000)

  it('is deterministic', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        expect(JSON.stringify(await contextOf(given))).toBe(JSON.stringify(await contextOf(structuredClone(given))))
      }),
      { numRuns: casesOf(200) },
    )
  }, 60_000)

  it('fails if the budget is too small, and succeeds with the required budget that the error names', async () => {
    let tooSmall = 0
    await fc.assert(
      fc.asyncProperty(cases, async ({ material, request }) => {
        const given = {
          material,
          request: { ...request, maxMessages: null, maxChars: null, tokenBudget: Math.min(request.tokenBudget, 80) },
        }
        const error = await contextOf(given)
        if (!(error instanceof BudgetTooSmall)) return
        tooSmall += 1
        expect(error.required).toBeGreaterThan(given.request.tokenBudget)
        const enough = { material, request: { ...given.request, tokenBudget: error.required } }
        const context = await contextOf(enough)
        if (context instanceof Error) throw context
        expect([...faults(enough, context)]).toEqual([])
        expect(context.tokenCount).toBe(error.required)
        const less = await contextOf({ material, request: { ...given.request, tokenBudget: error.required - 1 } })
        expect(less).toBeInstanceOf(BudgetTooSmall)
      }),
      { numRuns: 300 },
    )
    expect(tooSmall).toBeGreaterThan(50)
  }, 60_000)

  it('contains a summary only if not all turns fit', async () => {
    const outcomes = { whole: 0, summarised: 0 }
    await fc.assert(
      fc.asyncProperty(
        cases.filter(({ material }) => material.isWhole),
        fc.integer({ min: 60, max: 1_500 }),
        async ({ material, request }, tokenBudget) => {
          const given = { ...request, maxMessages: null, maxChars: null, recentTurns: null }
          const contextWith = (budget: number) =>
            contextOf({ material, request: { ...given, tokenBudget: budget } }) as Promise<Context>
          const isSummarised = ({ items }: Context) => items.some(({ kind }) => kind === 'SUMMARY')
          const whole = await contextWith(2_000_000)
          expect(isSummarised(whole)).toBe(false)
          // Four times the tokens fit everything, although each section is limited to a share.
          expect(isSummarised(await contextWith(4 * whole.tokenCount))).toBe(false)
          const context = await contextWith(tokenBudget)
          if (context instanceof Error) return
          outcomes[isSummarised(context) ? 'summarised' : 'whole'] += 1
        },
      ),
      { numRuns: casesOf(300) },
    )
    expect(Math.min(outcomes.whole, outcomes.summarised)).toBeGreaterThan(0)
  }, 120_000)

  it('fails if the limit of messages or characters is too small', async () => {
    const kinds = new Set<string>()
    await fc.assert(
      fc.asyncProperty(cases, async ({ material, request }) => {
        const context = await contextOf({
          material,
          request: { ...request, tokenBudget: 2_000_000, maxMessages: 1, maxChars: 40 },
        })
        if (context instanceof InvalidInput) for (const { path } of context.issues) kinds.add(path.join('.'))
        else if (context instanceof Error) throw context
        else expect(context.messages.length).toBeLessThanOrEqual(1)
      }),
      { numRuns: 200 },
    )
    expect([...kinds].sort()).toEqual(['maxChars', 'maxMessages'])
  }, 60_000)
})
