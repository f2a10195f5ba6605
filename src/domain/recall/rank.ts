// Puts candidates in order: a weighted sum of what the words, the vectors and the circumstances say. Pure; every input
// is a function of the query, the turn, the turns around it, its sitting, and counts over what the viewer may see.

import { Cue } from '../indexing/cues.ts'
import { toldAbout, type Question } from './question.ts'

export type RankCandidate = {
  /** Whether the query names who said it. */
  named: boolean
  /** When it was said, ms. */
  at: number
  /** Bits of Cue. */
  cues: number
  /** BM25 of the turn with its surroundings. */
  text: number
  /** Share of the query that the whole sitting holds, 0 to 1. */
  sitting: number
  /** Terms in it. */
  length: number
  /** Cosine of the query and the turn; null where it has no vector (yet). */
  similarity: number | null
  /** Cosines of the turns next to it in the same sitting. */
  beside: readonly number[]
  /** Whether the turn before it, in the same sitting, ends as a question. */
  answers: boolean
}

/** `textScore`: 0 to 1, relative to the best match among the candidates; null where not one word matches. */
export type Ranked<T> = { candidate: T; score: number; textScore: number | null }

/**
 * What each signal may add, relative to the words of the best match (1). Found by a listwise regression on two LoCoMo
 * conversations and tried on the third, in turn; then rounded. All keep their sign and rough size in each of the three.
 */
export const WEIGHTS = {
  /** Meaning without shared words. Small where words decide; it decides where none is shared. */
  similarity: 1,
  /** What is asked about somebody is mostly told by them. */
  speaker: 0.5,
  /** The sitting is about it: the turn may use other words than its first mention. */
  sitting: 0.4,
  /** A time is named and the turn was said then: the strongest hint there is, after the words. */
  period: 0.7,
  /** A time is asked for and the turn tells one; */
  time: 0.5,
  /** so with an amount, */
  amount: 0.2,
  /** and with a name. */
  name: 0.2,
  /** A question seldom answers one; */
  question: -0.1,
  /** what follows a question often does. */
  answer: 0.1,
  /** A turn of few words says little. */
  substance: 0.25,
} as const

type Signal = keyof typeof WEIGHTS
const SIGNALS = Object.keys(WEIGHTS) as Signal[]

/** A turn of this many terms has said enough. 12 to 24 changed recall by less than half a point. */
export const ENOUGH_TERMS = 16
/** The share of each turn beside it in a turn's similarity: short turns mean little alone. */
const BESIDE = 0.5

/**
 * The candidates with their scores, best first; of equal ones the newer first. Weights are given to measure them.
 * `best`: the match by words that is worth 1.
 */
export function rank<T extends RankCandidate>(
  question: Question,
  candidates: readonly T[],
  weights: Record<Signal, number> = WEIGHTS,
  best = candidates.reduce((most, { text }) => Math.max(most, text), 0),
): Ranked<T>[] {
  return candidates
    .map((candidate) => {
      const textScore = candidate.text === 0 ? null : candidate.text / best
      const values = signals(question, candidate)
      let score = textScore ?? 0
      for (const name of SIGNALS) score += weights[name] * values[name]
      return { candidate, score, textScore }
    })
    .sort((a, b) => b.score - a.score || b.candidate.at - a.candidate.at)
}

/** Each signal of a candidate, 0 to 1 (similarity −1 to 1), before its weight. */
function signals(question: Question, candidate: RankCandidate): Record<Signal, number> {
  const { cues, beside } = candidate
  const meaning = beside.reduce((sum, each) => sum + BESIDE * each, candidate.similarity ?? 0)
  return {
    similarity: meaning / (1 + BESIDE * beside.length),
    speaker: Number(candidate.named),
    sitting: candidate.sitting,
    period: Number(toldAbout(question.periods, candidate.at)),
    time: Number(question.asksTime && (cues & Cue.TELLS_TIME) !== 0),
    amount: Number(question.asksAmount && (cues & Cue.TELLS_AMOUNT) !== 0),
    name: Number(question.asksName && (cues & Cue.TELLS_NAME) !== 0),
    question: Number((cues & Cue.ASKS) !== 0),
    answer: Number(candidate.answers),
    substance: Math.min(1, candidate.length / ENOUGH_TERMS),
  }
}
