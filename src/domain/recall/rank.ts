// Ranks candidates by a weighted sum of BM25 score, similarity and other signals. Pure. The scores depend only on the
// query and on turns, facts and summaries that the viewer sees.

import { Cue } from '../indexing/cues.ts'
import { mayReportOn, type Question } from './question.ts'
import { comparedOf, relevanceAmong } from './relevance.ts'

export type RankCandidate = {
  /** Whether the query names the turn's actor or the fact's subject. */
  named: boolean
  /** Creation time of a turn or summary, observation time of a fact; milliseconds since the epoch. */
  at: number
  /** Bits of Cue. */
  cues: number
  /** BM25 score; for a turn, together with its neighbours. 0 if no word matches. */
  bm25: number
  /**
   * Share of the query's terms that the session contains, weighted by inverse document frequency, 0 to 1. For a fact or
   * summary, the share that its own text contains.
   */
  session: number
  /** Share of the query's terms that the candidate's own text contains; weighted like `session`. */
  own: number
  /** Number of terms in the candidate's text. */
  length: number
  /** Cosine of the query and the candidate; null if either has no vector. */
  similarity: number | null
  /**
   * Weighted mean of `similarity` (0 for null) and the cosines of the previous and next turns of the same session. For
   * a fact or summary, its own similarity.
   */
  similarityWithNeighbours: number
  /** Whether the previous turn of the same session ends with a question. */
  answers: boolean
}

/**
 * A candidate with its score. `textScore` is the BM25 score divided by `best` (see `rank`), 0 to 1; null if no word
 * matches. `relevance` is the calibrated probability that the candidate is evidence for the query (relevance.ts).
 */
export type Ranked<T> = { candidate: T; score: number; relevance: number; textScore: number | null }

/** Ranked memories, best first; at equal scores, the newer memory first. */
export type Ranking<T> = {
  /** Number of hits. */
  count: number
  hits: Iterable<Ranked<T>>
}

export const toRanking = <T>(hits: readonly Ranked<T>[]): Ranking<T> => ({ count: hits.length, hits })

/**
 * Weight of each signal; the best word match has 1. Fitted by listwise regression on each pair of three conversations
 * of the benchmark LoCoMo, tested on the third, then rounded. Signs and approximate sizes agree in all three fits.
 */
export const WEIGHTS = {
  /** `similarityWithNeighbours`. It ranks candidates that share no words with the query. */
  similarity: 1,
  /** The query names the turn's actor. Questions about a person are usually answered by that person's turns. */
  actor: 0.5,
  /** The session contains the query's words, even if the turn itself does not. */
  session: 0.4,
  /** The query names a period on which the turn may report (`mayReportOn`). */
  period: 0.7,
  /** The query asks for a time and the turn contains a time. */
  time: 0.5,
  /** The query asks for an amount and the turn contains an amount. */
  amount: 0.2,
  /** The query asks for a name and the turn contains a name. */
  name: 0.2,
  /** The turn ends with a question. Such turns seldom contain an answer. */
  question: -0.1,
  /** The turn follows a turn that ends with a question, so it may be the answer. */
  answer: 0.1,
  /** The turn's length, up to FULL_LENGTH_TERMS. Short turns seldom contain an answer. */
  substance: 0.25,
} as const

/**
 * Number of terms at which `substance` is 1. Values from 12 to 24 change recall by less than half a percentage point.
 */
export const FULL_LENGTH_TERMS = 16

/**
 * Returns the candidates with their scores, best first; at equal scores, the newer candidate first.
 * @param best the BM25 score that counts as 1; defaults to the highest score of the candidates
 */
export function rank<T extends RankCandidate>(
  question: Question,
  candidates: readonly T[],
  best = candidates.reduce((most, candidate) => Math.max(most, candidate.bm25), 0),
): Ranked<T>[] {
  const scored = candidates.map((candidate) => {
    const textScore = candidate.bm25 === 0 ? null : candidate.bm25 / best
    return { candidate, score: (textScore ?? 0) + weightedSignals(question, candidate), textScore }
  })
  scored.sort((a, b) => b.score - a.score || b.candidate.at - a.candidate.at)
  const hasVectors = scored.some(({ candidate }) => candidate.similarity !== null)
  const relevanceOf = relevanceAmong(comparedOf(scored), hasVectors)
  return scored.map((each) => ({ ...each, relevance: relevanceOf(each) }))
}

/** The features that a score depends on in addition to the BM25 score. */
export type Signals = Omit<RankCandidate, 'bm25' | 'own' | 'similarity'>

/** Returns the weighted sum of a candidate's signals. Without weights, similarity is −1 to 1, the others 0 to 1. */
export function weightedSignals(question: Question, candidate: Signals): number {
  const { cues } = candidate
  return (
    WEIGHTS.similarity * candidate.similarityWithNeighbours
    + WEIGHTS.actor * Number(candidate.named)
    + WEIGHTS.session * candidate.session
    + WEIGHTS.period * Number(question.periods.length > 0 && mayReportOn(question.periods, candidate.at))
    + WEIGHTS.time * Number(question.asksTime && (cues & Cue.STATES_TIME) !== 0)
    + WEIGHTS.amount * Number(question.asksAmount && (cues & Cue.STATES_AMOUNT) !== 0)
    + WEIGHTS.name * Number(question.asksName && (cues & Cue.STATES_NAME) !== 0)
    + WEIGHTS.question * Number((cues & Cue.ASKS) !== 0)
    + WEIGHTS.answer * Number(candidate.answers)
    + WEIGHTS.substance * Math.min(1, candidate.length / FULL_LENGTH_TERMS)
  )
}
