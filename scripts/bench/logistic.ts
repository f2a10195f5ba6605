// Logistic regression, and measures of how well probabilities are calibrated. Pure.

/** Values of the features, without the intercept, and whether the event occurred. */
export type Sample = { values: readonly number[]; isPositive: boolean }
export type Prediction = { probability: number; isPositive: boolean }

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** Ridge penalty of the weights. It keeps the weight of a feature finite that occurs with one outcome only. */
const PENALTY = 1

/** Returns the intercept and the weight of each feature that maximise the penalised likelihood (Newton's method). */
export function fitLogistic(samples: readonly Sample[], steps = 30): number[] {
  const size = samples[0]!.values.length + 1
  const weights = new Array<number>(size).fill(0)
  const valueOf = ({ values }: Sample, i: number) => (i === 0 ? 1 : values[i - 1]!)
  for (let step = 0; step < steps; step++) {
    const penalties = weights.map((_, i) => (i === 0 ? 1e-6 : PENALTY))
    const gradient = weights.map((weight, i) => -penalties[i]! * weight)
    const hessian = penalties.map((penalty, i) => penalties.map((_, j) => (i === j ? penalty : 0)))
    for (const sample of samples) {
      const probability = predict(weights, sample.values)
      const error = Number(sample.isPositive) - probability
      const slope = probability * (1 - probability)
      for (let i = 0; i < size; i++) {
        const x = valueOf(sample, i)
        gradient[i]! += error * x
        for (let j = 0; j <= i; j++) hessian[i]![j]! += slope * x * valueOf(sample, j)
      }
    }
    for (let i = 0; i < size; i++) for (let j = 0; j < i; j++) hessian[j]![i] = hessian[i]![j]!
    const change = solve(hessian, gradient)
    change.forEach((each, i) => (weights[i]! += each))
    if (change.every((each) => Math.abs(each) < 1e-8)) break
  }
  return weights
}

export const predict = ([intercept, ...weights]: readonly number[], values: readonly number[]): number =>
  sigmoid(weights.reduce((sum, weight, i) => sum + weight * values[i]!, intercept!))

/** Solves a system of linear equations by Gaussian elimination with pivots. */
export function solve(matrix: readonly number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]!])
  for (let column = 0; column < rows.length; column++) {
    const pivot = rows
      .slice(column)
      .reduce((best, row) => (Math.abs(row[column]!) > Math.abs(best[column]!) ? row : best))
    rows[rows.indexOf(pivot)] = rows[column]!
    rows[column] = pivot
    for (const row of rows) {
      if (row === pivot) continue
      const factor = row[column]! / pivot[column]!
      row.forEach((value, i) => (row[i] = value - factor * pivot[i]!))
    }
  }
  return rows.map((row, i) => row.at(-1)! / row[i]!)
}

const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length

/** The mean square of the difference between probability and outcome. */
export const brierScore = (predictions: readonly Prediction[]): number =>
  mean(predictions.map(({ probability, isPositive }) => (probability - Number(isPositive)) ** 2))

/** The mean of −log of the probability given to the outcome. */
export const logLoss = (predictions: readonly Prediction[]): number =>
  mean(predictions.map(({ probability, isPositive }) => -Math.log(isPositive ? probability : 1 - probability)))

export type Bucket = { from: number; count: number; predicted: number; actual: number }

/** The mean probability and the share of positives in each tenth of the scale that contains predictions. */
export function reliability(predictions: readonly Prediction[]): Bucket[] {
  return Array.from({ length: 10 }, (_, i) => {
    const inside = predictions.filter(({ probability }) => Math.min(9, Math.floor(10 * probability)) === i)
    return {
      from: i / 10,
      count: inside.length,
      predicted: mean(inside.map(({ probability }) => probability)),
      actual: mean(inside.map(({ isPositive }) => Number(isPositive))),
    }
  }).filter(({ count }) => count > 0)
}
