// The logarithmic scale of the budget slider.

/** The least and the greatest budget on the slider, and the least and the greatest one that the server accepts. */
export const [SLIDER_MIN, SLIDER_MAX, BUDGET_MIN, BUDGET_MAX] = [500, 32_000, 1, 2_000_000]

/** Number of steps of the slider: 10 for each doubling of the budget. */
export const STEPS = 60

/** Rounds to a number that is easy to read, but finely enough that no two steps are equal. */
function round(budget: number): number {
  const unit = budget < 1_000 ? 10 : budget < 5_000 ? 50 : budget < 10_000 ? 100 : 500
  return Math.round(budget / unit) * unit
}

/** Returns the budget at a step of the slider. */
export const budgetAt = (step: number): number => round(SLIDER_MIN * (SLIDER_MAX / SLIDER_MIN) ** (step / STEPS))

/** Returns the step of the slider that is nearest to the budget. */
export function stepOf(budget: number): number {
  const inRange = Math.min(Math.max(budget, SLIDER_MIN), SLIDER_MAX)
  return Math.round((Math.log(inRange / SLIDER_MIN) / Math.log(SLIDER_MAX / SLIDER_MIN)) * STEPS)
}

/** Reads a typed budget; null if the server would refuse it. */
export function parseBudget(text: string): number | null {
  const budget = /^\d+$/.test(text.trim()) ? Number(text) : NaN
  return budget >= BUDGET_MIN && budget <= BUDGET_MAX ? budget : null
}
