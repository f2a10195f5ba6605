// Ranks candidates by a weighted sum of BM25 score, similarity and other signals. Pure; every input depends only on the
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
   * Share of the query, weighted by inverse document frequency, that the session covers, 0 to 1. For a fact or summary,
   * the share that its own text covers.
   */
  session: number
  /** Share of the query that the candidate's own text covers; weighted like `session`. */
  own: number
  /** Number of terms. */
  length: number
  /** Cosine of the query and the candidate; null if either has no vector (yet). */
  similarity: number | null
  /**
   * Weighted mean of `similarity` (0 for null) and the cosines of the previous and next turn of the same session; for a
   * fact or summary, its own similarity.
   */
  similarityWithNeighbours: number
  /** Whether the previous turn of the same session ends with a question. */
  answers: boolean
}

/**
 * `textScore` is relative to `best` in `rank`, 0 to 1; null if no word matches. `relevance` is the calibrated
 * probability that the candidate is evidence for the query (relevance.ts).
 */
export type Ranked<T> = { candidate: T; score: number; relevance: number; textScore: number | null }

/** Ranked memories, best first; at equal scores, the newer first. */
export type Ranking<T> = {
  /** Number of hits. */
  count: number
  hits: Iterable<Ranked<T>>
}

export const toRanking = <T>(hits: readonly Ranked<T>[]): Ranking<T> => ({ count: hits.length, hits })

/**
 * Weight of each signal, relative to the best word match (1). Fitted by listwise regression on each pair of three
 * LoCoMo conversations, tested on the third, then rounded. Signs and rough sizes agree in all three fits.
 */
export const WEIGHTS = {
  /** Cosine with the query. It ranks candidates that share no words with the query. */
  similarity: 1,
  /** The query names the turn's actor: that person usually answers questions about himself or herself. */
  actor: 0.5,
  /** The session contains the query's words, even if the turn itself does not. */
  session: 0.4,
  /** The query names a period on which the turn may report (`mayReportOn`). */
  period: 0.7,
  /** The query asks for a time and the turn contains one. */
  time: 0.5,
  /** The query asks for an amount and the turn contains one. */
  amount: 0.2,
  /** The query asks for a name and the turn contains one. */
  name: 0.2,
  /** The turn is a question: questions seldom contain answers. */
  question: -0.1,
  /** The turn follows a question, so it may be the answer. */
  answer: 0.1,
  /** The turn's length: short turns seldom contain an answer. */
  substance: 0.25,
} as const

/** Number of terms at which `substance` is 1. 12 to 24 change recall by less than half a point. */
export const FULL_LENGTH_TERMS = 16

/**
 * Returns the candidates with their scores, best first; at equal scores, the newer first. `best` is the BM25 score that
 * counts as 1. It defaults to the highest of the candidates.
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

/** The features that a score depends on besides BM25. */
export type Signals = Omit<RankCandidate, 'bm25' | 'own' | 'similarity'>

/** Returns the weighted sum of a candidate's signals. Unweighted, similarity is from −1 to 1, the others from 0 to 1. */
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
