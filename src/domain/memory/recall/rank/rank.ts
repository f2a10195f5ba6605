// Ranks candidates by a weighted sum of BM25 score, similarity and other signals. Pure. The scores depend only on the
// query and on turns, facts and summaries that the viewer sees.

import { Cue } from '../../indexing/cues.ts'
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
   * Share of the query's terms that the candidate contains; for a turn, together with the neighbours that `bm25` reads.
   * Weighted by inverse document frequency, 0 to 1.
   */
  matched: number
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
  /** Importance of a fact, 0 to 1 (prisma/functions/fact_importance.sql); absent for a turn or summary. */
  importance?: number
  /** Whether the turn asks the query, more or less (`isEcho` in features.ts). False for a fact or summary. */
  echo: boolean
}

/**
 * A candidate with its score. `textScore` is its score by words (TextScale), 0 to 1; null if no word matches.
 * `relevance` is the calibrated probability that the candidate is evidence for the query (relevance.ts).
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
 * Weight of each signal; a match of all words has 1. Fitted by listwise regression on five of the six conversations of
 * `npm run bench:recall`, tested on the sixth, then rounded. Signs and approximate sizes agree in all six fits, except
 * for `echo`, which is a decision: no echo is evidence in them.
 */
export const WEIGHTS = {
  /** `similarityWithNeighbours`. It ranks candidates that share no words with the query. */
  similarity: 0.7,
  /** The query names the turn's actor. Questions about a person are usually answered by that person's turns. */
  actor: 0.25,
  /** The query names the turn's actor, and the turn speaks of its author. */
  self: 0.15,
  /** The session contains the query's words, even if the turn itself does not. */
  session: 0.35,
  /** The query names a period on which the turn may report (`mayReportOn`). */
  period: 0.55,
  /** The query asks for a time and the turn contains a time. */
  time: 0.3,
  /** The query asks for an amount and the turn contains an amount. */
  amount: 0.1,
  /** The query asks for a name and the turn contains a name. */
  name: 0.2,
  /** The turn ends with a question. Such turns seldom contain an answer. */
  question: -0.1,
  /** The turn asks the query itself. It does not answer it. */
  echo: -1,
  /** The turn follows a turn that ends with a question, so it may be the answer. */
  answer: 0.1,
  /** The turn's length, up to FULL_LENGTH_TERMS. Short turns seldom contain an answer. */
  substance: 0.15,
  /** The importance of a fact. A choice, not a fit: it decides between facts that match the query alike. */
  importance: 0.1,
} as const

/**
 * Number of terms at which `substance` is 1. Values from 12 to 24 change recall by less than half a percentage point.
 */
export const FULL_LENGTH_TERMS = 16

/**
 * Converts BM25 scores to scores by words. The best match other than an echo counts as the square root of the share of
 * the query's terms that it contains, so that a match of only a name does not look like an answer. Scores of turns,
 * facts and summaries are therefore comparable, although each kind has statistics of its own. The square root was
 * better than the share itself and than no factor, on both sets of `npm run bench:recall`.
 */
export class TextScale {
  #best = 0
  #matched = 0

  /** Takes a candidate into account. */
  add(bm25: number, matched: number, echo: boolean): void {
    if (echo || bm25 <= this.#best) return
    this.#best = bm25
    this.#matched = matched
  }

  /** Returns the score by words of a candidate, 0 to 1, after all candidates were added; null if no word matches. */
  scoreOf(bm25: number): number | null {
    if (bm25 === 0) return null
    return this.#best === 0 ? 1 : Math.min(1, bm25 / this.#best) * Math.sqrt(this.#matched)
  }
}

/** Returns the candidates with their scores, best first; at equal scores, the newer candidate first. */
export function rank<T extends RankCandidate>(question: Question, candidates: readonly T[]): Ranked<T>[] {
  const scale = new TextScale()
  for (const { bm25, matched, echo } of candidates) scale.add(bm25, matched, echo)
  const scored = candidates.map((candidate) => {
    const textScore = scale.scoreOf(candidate.bm25)
    return { candidate, score: (textScore ?? 0) + weightedSignals(question, candidate), textScore }
  })
  scored.sort((a, b) => b.score - a.score || b.candidate.at - a.candidate.at)
  const hasVectors = scored.some(({ candidate }) => candidate.similarity !== null)
  const relevanceOf = relevanceAmong(comparedOf(scored), hasVectors)
  return scored.map((each) => ({ ...each, relevance: relevanceOf(each) }))
}

/** The features that a score depends on in addition to the BM25 score. */
export type Signals = Omit<RankCandidate, 'bm25' | 'matched' | 'own' | 'similarity'>

/** A weight for each signal. */
export type Weights = Readonly<Record<keyof typeof WEIGHTS, number>>

/** Returns the weighted sum of a candidate's signals. Without weights, similarity is −1 to 1, the others 0 to 1. */
export function weightedSignals(question: Question, candidate: Signals, weights: Weights = WEIGHTS): number {
  const { cues } = candidate
  return (
    weights.similarity * candidate.similarityWithNeighbours
    + weights.actor * Number(candidate.named)
    + weights.self * Number(candidate.named && (cues & Cue.STATES_SELF) !== 0)
    + weights.session * candidate.session
    + weights.period * Number(question.periods.length > 0 && mayReportOn(question.periods, candidate.at))
    + weights.time * Number(question.asksTime && (cues & Cue.STATES_TIME) !== 0)
    + weights.amount * Number(question.asksAmount && (cues & Cue.STATES_AMOUNT) !== 0)
    + weights.name * Number(question.asksName && (cues & Cue.STATES_NAME) !== 0)
    + weights.question * Number((cues & Cue.ASKS) !== 0)
    + weights.echo * Number(candidate.echo)
    + weights.answer * Number(candidate.answers)
    + weights.substance * Math.min(1, candidate.length / FULL_LENGTH_TERMS)
    + weights.importance * (candidate.importance ?? 0)
  )
}
