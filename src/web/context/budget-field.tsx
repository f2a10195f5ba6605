// The field for the token budget: a logarithmic slider, and a number.

import { useEffect, useId, useState } from 'react'
import { formatNumber } from '../kit/text.ts'
import { BUDGET_MAX, BUDGET_MIN, budgetAt, parseBudget, SLIDER_MAX, SLIDER_MIN, stepOf, STEPS } from './budget.ts'

export function BudgetField({ budget, onChange }: { budget: number; onChange(budget: number): void }) {
  const id = useId()
  const [text, setText] = useState(String(budget))
  useEffect(() => setText(String(budget)), [budget])
  const isWrong = parseBudget(text) === null
  return (
    <div className="budget">
      <label htmlFor={id}>Token budget</label>
      <input
        className="number"
        inputMode="numeric"
        aria-label="Token budget, as a number"
        aria-invalid={isWrong}
        aria-describedby={isWrong ? `${id}-wrong` : undefined}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          const typed = parseBudget(target.value)
          if (typed !== null) onChange(typed)
        }}
        onBlur={() => setText(String(budget))}
      />
      <input
        id={id}
        type="range"
        min={0}
        max={STEPS}
        value={stepOf(budget)}
        aria-valuetext={`${formatNumber(budget)} tokens`}
        onChange={({ target }) => onChange(budgetAt(Number(target.value)))}
      />
      <span className="ends muted number" aria-hidden="true">
        <span>{formatNumber(SLIDER_MIN)}</span>
        <span>{formatNumber(SLIDER_MAX)}</span>
      </span>
      {isWrong && (
        <p className="hint" id={`${id}-wrong`}>
          A whole number from {formatNumber(BUDGET_MIN)} to {formatNumber(BUDGET_MAX)}.
        </p>
      )}
    </div>
  )
}
