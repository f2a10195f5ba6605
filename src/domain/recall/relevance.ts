// Estimates how likely each ranked candidate is evidence for the query: a logistic function of features that ranking
// has computed. Pure; like the scores, it depends only on the query and on memories that the viewer sees.

import { Cue } from '../indexing/cues.ts'
import { COEFFICIENTS, type RelevanceCoefficients } from './relevance-coefficients.ts'

/** Number of best candidates that each candidate is compared with. Ranking more candidates changes no relevance. */
const COMPARED = 20
/** Weight of a score in `share`: e^(SHARPNESS × score). Values from 3 to 5 change the log loss by less than 1 %. */
const SHARPNESS = 4
/**
 * Assumed score of each missing candidate if fewer than COMPARED are ranked. Without it, a weak match would be relevant
 * only because it has no competitors.
 */
const ABSENT_SCORE = 1

export type RelevanceFeatures = Omit<RelevanceCoefficients, 'intercept'>

/** Part of `Ranked` in rank.ts. */
type Scored = { candidate: { own: number; sitting: number; cues: number; similarity: number | null }; score: number }

/**
 * Whether a candidate is a question that contains the whole query. It is often the turn from which the query was
 * copied, and would lower the share of every candidate that answers it.
 */
const isEcho = ({ candidate: { own, cues } }: Scored) => (cues & Cue.ASKS) !== 0 && own > 0.999

/** Returns the features of ranked candidates, best first. Echoes are not compared with other candidates. */
export function relevanceFeatures(ranked: readonly Scored[]): RelevanceFeatures[] {
  const weightOf = (score: number) => Math.exp(SHARPNESS * score)
  const compared: Scored[] = []
  for (const each of ranked) {
    if (compared.length === COMPARED) break
    if (!isEcho(each)) compared.push(each)
  }
  let all = (COMPARED - compared.length) * weightOf(ABSENT_SCORE)
  for (const { score } of compared) all += weightOf(score)
  return ranked.map((each) => {
    const { candidate, score } = each
    const echo = isEcho(each)
    return {
      share: SHARPNESS * score - Math.log(echo ? all + weightOf(score) : all),
      own: candidate.own,
      sitting: candidate.sitting,
      score,
      echo: Number(echo),
    }
  })
}

/** Returns the logistic function of the features, above 0 and below 1. */
function relevanceOf(features: RelevanceFeatures, coefficients: RelevanceCoefficients): number {
  const { intercept, share, own, sitting, score, echo } = coefficients
  const sum =
    intercept
    + share * features.share
    + own * features.own
    + sitting * features.sitting
    + score * features.score
    + echo * features.echo
  return 1 / (1 + Math.exp(-sum))
}

/** Returns the relevance of each of the ranked candidates, which are sorted best first. */
export function relevancesOf(ranked: readonly Scored[]): number[] {
  const hasVectors = ranked.some(({ candidate }) => candidate.similarity !== null)
  const coefficients = COEFFICIENTS[hasVectors ? 'vectors' : 'words']
  return relevanceFeatures(ranked).map((features) => relevanceOf(features, coefficients))
}
