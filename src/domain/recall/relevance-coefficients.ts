// The coefficients of relevance.ts. `npm run bench:relevance` fits and evaluates them on the conversations of LoCoMo and
// REALTALK, and prints this table.

/** Weights in a logistic function; those of the features of a candidate, and the intercept. */
export type RelevanceCoefficients = {
  intercept: number
  /** Of the logarithm of the candidate's share of the weight of the best candidates. */
  share: number
  /** Of the shares of the query that the candidate itself and its sitting contain, 0 to 1. */
  own: number
  sitting: number
  /** Of the candidate's score. */
  score: number
}

/** `vectors`: some candidates have a similarity; fitted with the embedder `static`. `words`: none has. */
export const COEFFICIENTS: Record<'vectors' | 'words', RelevanceCoefficients> = {
  vectors: { intercept: -2.07, share: 0.98, own: 1.26, sitting: 0.9, score: 0.53 },
  words: { intercept: -1.6, share: 1.12, own: 1.66, sitting: 0.82, score: 0.45 },
}
