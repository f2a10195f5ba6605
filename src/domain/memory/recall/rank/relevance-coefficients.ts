// The coefficients of relevance.ts. `npm run bench:relevance` fits and evaluates them on the conversations of the
// benchmarks LoCoMo and REALTALK, and prints this table.

/** The intercept of a logistic function, and the weights of a candidate's features. */
export type RelevanceCoefficients = {
  intercept: number
  /** Weight of the logarithm of the candidate's share among the best candidates (relevance.ts). */
  share: number
  /** Weight of the share of the query's terms that the candidate itself contains, 0 to 1. */
  own: number
  /** Weight of the candidate's score. */
  score: number
}

/**
 * `vectors` applies if any candidate has a similarity, and was fitted with the embedder `static`. `words` applies
 * otherwise.
 */
export const COEFFICIENTS: Record<'vectors' | 'words', RelevanceCoefficients> = {
  vectors: { intercept: -1.89, share: 1.18, own: 0.89, score: 1.28 },
  words: { intercept: -1.44, share: 1.3, own: 1.22, score: 1.29 },
}
