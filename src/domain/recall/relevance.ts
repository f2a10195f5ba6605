// Estimates how likely each ranked candidate is evidence for the query: a logistic function of features that ranking
// has computed. Pure; like the scores, it depends only on the query and on memories that the viewer sees.

import { COEFFICIENTS, type RelevanceCoefficients } from './relevance-coefficients.ts'

/** Number of best candidates with which a candidate is compared. Ranking more does not change a relevance. */
const COMPARED = 20
/**
 * Weight of a score in `share`: e to the power of SHARPNESS × score. 3 to 5 change the log loss by less than 1 %.
 */
const SHARPNESS = 4
/** Score of the candidates that a small scope lacks, so that a weak match is not relevant because it is the only one. */
const ABSENT_SCORE = 1

export type RelevanceFeatures = Omit<RelevanceCoefficients, 'intercept'>

/** Part of `Ranked` in rank.ts. */
type Scored = { candidate: { own: number; sitting: number; similarity: number | null }; score: number }

/** Returns the features of ranked candidates, best first. */
export function relevanceFeatures(ranked: readonly Scored[]): RelevanceFeatures[] {
  const weightOf = (score: number) => Math.exp(SHARPNESS * score)
  const compared = ranked.slice(0, COMPARED)
  let all = (COMPARED - compared.length) * weightOf(ABSENT_SCORE)
  for (const { score } of compared) all += weightOf(score)
  return ranked.map(({ candidate: { own, sitting }, score }) => ({
    share: SHARPNESS * score - Math.log(all),
    own,
    sitting,
    score,
  }))
}

/** Returns the logistic function of the features, above 0 and below 1. */
function relevanceOf(features: RelevanceFeatures, coefficients: RelevanceCoefficients): number {
  let sum = coefficients.intercept
  for (const name of Object.keys(features) as (keyof RelevanceFeatures)[]) sum += coefficients[name] * features[name]
  return 1 / (1 + Math.exp(-sum))
}

/** Adds the relevance to ranked candidates, best first. */
export function withRelevance<T extends Scored>(ranked: readonly T[]): (T & { relevance: number })[] {
  const hasVectors = ranked.some(({ candidate }) => candidate.similarity !== null)
  const coefficients = COEFFICIENTS[hasVectors ? 'vectors' : 'words']
  const features = relevanceFeatures(ranked)
  return ranked.map((each, i) => ({ ...each, relevance: relevanceOf(features[i]!, coefficients) }))
}
