// The coefficients of relevance.ts. `npm run bench:relevance` fits and evaluates them on the conversations of the
// benchmarks LoCoMo and REALTALK, and prints this table.

/** The intercept of a logistic function, and the weights of a candidate's features. */
export type RelevanceCoefficients = {
  intercept: number
  /** Weight of the logarithm of the candidate's share among the best candidates (relevance.ts). */
  share: number
  /** Weight of the share of the query's terms that the candidate itself contains, 0 to 1. */
  own: number
  /** Weight of the share of the query's terms that the candidate's session contains, 0 to 1. */
  session: number
  /** Weight of the candidate's score. */
  score: number
  /** Weight of a feature that is 1 if the candidate is an echo (relevance.ts), otherwise 0. */
  echo: number
}

/**
 * `vectors` applies if any candidate has a similarity, and was fitted with the embedder `static`. `words` applies
 * otherwise.
 */
export const COEFFICIENTS: Record<'vectors' | 'words', RelevanceCoefficients> = {
  vectors: { intercept: -2.17, share: 0.97, own: 1.36, session: 0.81, score: 0.56, echo: -0.67 },
  words: { intercept: -1.66, share: 1.11, own: 1.74, session: 0.75, score: 0.48, echo: -0.61 },
}
