// Estimates the probability that a ranked candidate is evidence for the query, by a logistic function of features that
// ranking has computed. Pure. Like the scores, it depends only on the query and on memories that the viewer sees.

import { COEFFICIENTS, type RelevanceCoefficients } from './relevance-coefficients.ts'

/** Number of best candidates with which each candidate is compared. Candidates below them change no relevance. */
export const COMPARED = 20
/** A score has the weight e^(SHARPNESS × score) in `share`. Values from 3 to 5 change the log loss by less than 1 %. */
const SHARPNESS = 4
/**
 * Assumed score of each missing candidate if fewer than COMPARED are ranked: the mean score of the last of COMPARED hits
 * in one session (`npm run bench:relevance`). Without it, a weak match would be relevant only because it has no
 * competitors.
 */
const ABSENT_SCORE = 0.6

export type RelevanceFeatures = Omit<RelevanceCoefficients, 'intercept'>

/** The fields of `Ranked` (rank.ts) on which the relevance depends. */
type Scored = { candidate: { own: number; echo: boolean; similarity: number | null }; score: number }

/**
 * Returns the candidates with which each candidate is compared: the first COMPARED that are not echoes. An echo would
 * lower the share of every candidate that answers the query.
 */
export const comparedOf = <T extends Scored>(ranked: readonly T[]): T[] =>
  ranked.filter(({ candidate }) => !candidate.echo).slice(0, COMPARED)

const weightOf = (score: number) => Math.exp(SHARPNESS * score)

/**
 * Returns the sum of the weights of COMPARED candidates. If there are fewer, each missing one has the weight of
 * ABSENT_SCORE.
 */
const weightOfAll = (compared: readonly Scored[]) =>
  compared.reduce((sum, { score }) => sum + weightOf(score), (COMPARED - compared.length) * weightOf(ABSENT_SCORE))

function featuresIn(all: number, each: Scored): RelevanceFeatures {
  const { candidate, score } = each
  return {
    share: SHARPNESS * score - Math.log(candidate.echo ? all + weightOf(score) : all),
    own: candidate.own,
    score,
  }
}

/**
 * Returns the features of ranked candidates, best first.
 * @internal Exported for the fit of the coefficients (scripts/bench/relevance.ts).
 */
export function relevanceFeatures(ranked: readonly Scored[]): RelevanceFeatures[] {
  const all = weightOfAll(comparedOf(ranked))
  return ranked.map((each) => featuresIn(all, each))
}

/** Returns the logistic function of the features, above 0 and below 1. */
function relevanceOf(features: RelevanceFeatures, coefficients: RelevanceCoefficients): number {
  const { intercept, share, own, score } = coefficients
  const sum = intercept + share * features.share + own * features.own + score * features.score
  return 1 / (1 + Math.exp(-sum))
}

/**
 * Returns a function that computes the relevance of a candidate, above 0 and below 1.
 * @param compared see `comparedOf` @param hasVectors whether any ranked candidate has a similarity
 */
export function relevanceAmong(compared: readonly Scored[], hasVectors: boolean): (each: Scored) => number {
  const all = weightOfAll(compared)
  const coefficients = COEFFICIENTS[hasVectors ? 'vectors' : 'words']
  return (each) => relevanceOf(featuresIn(all, each), coefficients)
}
