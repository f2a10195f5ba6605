// Invariants of every context (see faults in cases.ts) over random conversations with Unicode, tool calls, pinned turns
// and budgets as small as one token.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Assembled } from '../../../../../../src/domain/memory/context/message.ts'
import type { ContextTurn } from '../../../../../../src/domain/memory/context/perspective.ts'
import type { ContentPart } from '../../../../../../src/domain/turn/content.ts'
import { BudgetTooSmall, InvalidInput } from '../../../../../../src/errors.ts'
import { casesOf } from '../../../../../support/long.ts'
import { cases, contextOf, faults, type Case } from '../cases.ts'

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
  })

  it('is deterministic', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        expect(JSON.stringify(await contextOf(given))).toBe(JSON.stringify(await contextOf(structuredClone(given))))
      }),
      { numRuns: casesOf(200) },
    )
  })

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
  })

  it('requires no quotation of a turn to answer that the newest turn includes as its tool call', async () => {
    const turn = (position: number, actor: string, role: ContextTurn['role'], part: ContentPart) => ({
      id: `turn_${position}`,
      position,
      actor,
      role,
      status: 'COMMITTED',
      text: '',
      tokenCount: 0,
      createdAt: new Date(0),
      parts: [part],
    })
    const call = turn(1, 'bot', 'ASSISTANT', { type: 'toolCall', callId: 'c', name: 'search', arguments: { q: 'x' } })
    const result = turn(2, 'search', 'TOOL', {
      type: 'toolResult',
      callId: 'c',
      name: 'search',
      result: 'y',
      callPosition: 1,
      callTurnId: 'turn_1',
    })
    const [given] = fc.sample(cases, { seed: 1, numRuns: 1 }) as [Case]
    const perspective = { as: null, needsNames: false, names: new Map() }
    const none = { perspective, systemPrompt: null, profiles: [], facts: [], summaries: [], kept: [], isWhole: false }
    const material = { ...given.material, ...none, recent: [call, result], answered: call }
    const request = { ...given.request, maxMessages: null, maxChars: null, tokenBudget: 1, k: null }
    const error = await contextOf({ material, request })
    if (!(error instanceof BudgetTooSmall)) throw new Error('The budget suffices.')
    const context = await contextOf({ material, request: { ...request, tokenBudget: error.required } })
    expect(context).toMatchObject({
      tokenCount: error.required,
      messages: [{ sourceIds: ['turn_1'] }, { sourceIds: ['turn_2'] }],
    })
  })

  const whole = cases.filter(({ material }) => material.isWhole)
  const contextWith = ({ material, request }: Case, tokenBudget: number) => {
    const unlimited = { ...request, maxMessages: null, maxChars: null, recentTurns: null }
    return contextOf({ material, request: { ...unlimited, tokenBudget } })
  }
  const isSummarised = (context: Assembled | Error) =>
    !(context instanceof Error) && context.items.some(({ kind }) => kind === 'SUMMARY')

  it('contains no summary if all turns fit', async () => {
    await fc.assert(
      fc.asyncProperty(whole, async (given) => {
        const context = await contextWith(given, 2_000_000)
        if (context instanceof Error) throw context
        expect(isSummarised(context)).toBe(false)
        // Four times the tokens fit everything, although each section is limited to a share.
        expect(isSummarised(await contextWith(given, 4 * context.tokenCount))).toBe(false)
      }),
      { numRuns: casesOf(300) },
    )
  })

  it('contains a summary if not all turns fit but a summary does', async () => {
    // The seed is fixed, because a few random cases may all have summaries that are too long.
    const summarised = fc.sample(whole, { seed: 30, numRuns: 40 }).map(async (given) => {
      const budgets = [60, 120, 250, 500, 1_000]
      return (await Promise.all(budgets.map((budget) => contextWith(given, budget)))).some(isSummarised)
    })
    expect((await Promise.all(summarised)).filter(Boolean).length).toBeGreaterThanOrEqual(10)
  })

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
  })
})
