// Listwise regression: finds the weights by which the scores of the right candidates exceed those of all others. Pure.

import { solve } from './logistic.ts'

/** The features of each candidate, and the indexes of the right ones; at least one. */
export type Choice = { values: readonly (readonly number[])[]; chosen: readonly number[] }

/** Weight of the penalty on large weights. */
const PENALTY = 1e-3
const MAX_STEPS = 50

/**
 * Returns the weights that minimise the mean of −log of the softmax of the right candidates' scores, by Newton's method.
 * A step that does not reduce the loss is halved.
 */
export function fitListwise(choices: readonly Choice[]): number[] {
  let weights = new Array<number>(choices[0]!.values[0]!.length).fill(0)
  let loss = lossOf(choices, weights)
  for (let step = 0; step < MAX_STEPS; step++) {
    const gradient = weights.map((each) => PENALTY * each)
    const hessian = weights.map((_, i) => weights.map((__, j) => (i === j ? PENALTY : 0)))
    for (const choice of choices) addDerivatives(choice, weights, 1 / choices.length, gradient, hessian)
    const change = solve(hessian, gradient)
    for (let length = 1; ; length /= 2) {
      if (length < 1e-3) return weights
      const moved = weights.map((each, i) => each - length * change[i]!)
      const found = lossOf(choices, moved)
      if (found >= loss) continue
      ;[weights, loss] = [moved, found]
      break
    }
    if (change.every((each) => Math.abs(each) < 1e-4)) break
  }
  return weights
}

const scoresOf = ({ values }: Choice, weights: readonly number[]) =>
  values.map((features) => features.reduce((sum, value, i) => sum + value * weights[i]!, 0))

const highestOf = (scores: readonly number[]) => scores.reduce((most, score) => Math.max(most, score), -Infinity)

function lossOf(choices: readonly Choice[], weights: readonly number[]): number {
  let loss = (PENALTY / 2) * weights.reduce((sum, each) => sum + each * each, 0)
  for (const choice of choices) {
    const scores = scoresOf(choice, weights)
    const highest = highestOf(scores)
    const total = scores.reduce((sum, score) => sum + Math.exp(score - highest), 0)
    const right = choice.chosen.reduce((sum, index) => sum + scores[index]!, 0) / choice.chosen.length
    loss += (Math.log(total) + highest - right) / choices.length
  }
  return loss
}

/** Adds the first and second derivatives of the loss of one choice. */
function addDerivatives(
  choice: Choice,
  weights: readonly number[],
  share: number,
  gradient: number[],
  hessian: number[][],
): void {
  const { values, chosen } = choice
  const size = weights.length
  const scores = scoresOf(choice, weights)
  const highest = highestOf(scores)
  const exponentials = scores.map((score) => Math.exp(score - highest))
  const total = exponentials.reduce((sum, each) => sum + each, 0)
  const mean = new Array<number>(size).fill(0)
  for (const [index, features] of values.entries()) {
    const probability = exponentials[index]! / total
    if (probability < 1e-9) continue
    for (let i = 0; i < size; i++) {
      const weighted = probability * features[i]!
      mean[i]! += weighted
      for (let j = 0; j <= i; j++) hessian[i]![j]! += share * weighted * features[j]!
    }
  }
  for (let i = 0; i < size; i++) {
    gradient[i]! += share * mean[i]!
    for (const index of chosen) gradient[i]! -= (share / chosen.length) * values[index]![i]!
    for (let j = 0; j <= i; j++) hessian[i]![j]! -= share * mean[i]! * mean[j]!
    for (let j = 0; j < i; j++) hessian[j]![i] = hessian[i]![j]!
  }
}
