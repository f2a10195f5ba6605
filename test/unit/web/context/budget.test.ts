// The logarithmic scale of the budget slider.

import { describe, expect, it } from 'vitest'
import {
  BUDGET_MAX,
  budgetAt,
  parseBudget,
  SLIDER_MAX,
  SLIDER_MIN,
  stepOf,
  STEPS,
} from '../../../../src/web/context/budget.ts'

describe('budgetAt', () => {
  it.each([
    [0, SLIDER_MIN],
    [10, 1_000],
    [30, 4_000],
    [50, 16_000],
    [STEPS, SLIDER_MAX],
  ])('returns for step %i the budget %i', (step, budget) => expect(budgetAt(step)).toBe(budget))

  it('returns a greater budget for each step, which leads back to the step', () => {
    const steps = Array.from({ length: STEPS + 1 }, (_, step) => step)
    const budgets = steps.map(budgetAt)
    expect(budgets).toEqual([...new Set(budgets)].toSorted((a, b) => a - b))
    expect(budgets.map(stepOf)).toEqual(steps)
  })
})

describe('stepOf', () => {
  it.each([
    [1, 0],
    [100_000, STEPS],
  ])('returns the nearest end for %i', (budget, step) => expect(stepOf(budget)).toBe(step))
})

describe('parseBudget', () => {
  it.each([
    ['4000', 4_000],
    [' 1 ', 1],
    ['2000000', BUDGET_MAX],
    ['2000001', null],
    ['0', null],
    ['', null],
    ['4,000', null],
    ['-5', null],
    ['1e3', null],
  ])('reads %j as %j', (text, budget) => expect(parseBudget(text)).toBe(budget))
})
