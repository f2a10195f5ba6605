// The statistics of `npm run bench:relevance`.

import { describe, expect, it } from 'vitest'
import { brierScore, fitLogistic, logLoss, predict, reliability } from '../../../../scripts/bench/logistic.ts'

describe('logistic regression', () => {
  it('finds the weights that generated the samples', () => {
    const weights = [-1, 2, -0.5]
    // Each combination of values occurs in proportion to its probability.
    const samples = [-2, -1, 0, 1, 2].flatMap((x) =>
      [-3, 0, 3].flatMap((y) => {
        const positives = Math.round(10_000 * predict(weights, [x, y]))
        return Array.from({ length: 10_000 }, (_, i) => ({ values: [x, y], isPositive: i < positives }))
      }),
    )
    fitLogistic(samples).forEach((each, i) => expect(each).toBeCloseTo(weights[i]!, 2))
  })

  it('finds a finite weight for a feature that occurs with one outcome only', () => {
    const samples = Array.from({ length: 100 }, (_, i) => ({ values: [Number(i < 10)], isPositive: i >= 50 }))
    const [, weight] = fitLogistic(samples)
    expect(weight).toBeGreaterThan(-5)
    expect(weight).toBeLessThan(-1)
  })
})

describe('calibration', () => {
  const predictions = [
    { probability: 0.05, isPositive: false },
    { probability: 0.85, isPositive: true },
    { probability: 0.89, isPositive: false },
    { probability: 1, isPositive: true },
  ]

  it('is shown for each tenth of the scale that contains predictions', () => {
    expect(reliability(predictions)).toEqual([
      { from: 0, count: 1, predicted: 0.05, actual: 0 },
      { from: 0.8, count: 2, predicted: expect.closeTo(0.87), actual: 0.5 },
      { from: 0.9, count: 1, predicted: 1, actual: 1 },
    ])
  })

  it('is scored by Brier score and log loss', () => {
    expect(brierScore(predictions)).toBeCloseTo((0.05 ** 2 + 0.15 ** 2 + 0.89 ** 2) / 4)
    expect(logLoss(predictions.slice(0, 2))).toBeCloseTo(-(Math.log(0.95) + Math.log(0.85)) / 2)
  })
})
