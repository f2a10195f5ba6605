// Selects lines for an extractive summary: decisions, open issues and next steps by importance, and lines of the topic
// by their similarity to the centroid of all lines, without repetitions.

import { dot, unit } from '../../runtime/unit-vector.ts'
import { hasDate, type Heading } from '../../text/dates/minutes.ts'

/** Fraction of centrality lost by a candidate whose similarity to a selected one is 1 (maximal marginal relevance). */
const SIMILARITY_PENALTY = 0.7
/** Number of words below which a sentence has a lower centrality, because short sentences are less informative. */
const FULL_WORDS = 8
/** Factor of the centrality of a question, which is less informative than its answer. */
const QUESTION_FACTOR = 0.5
/** Maximum number of selected lines with which the lines of the topic are compared. The most important are kept. */
const MAX_COMPARED = 50

/**
 * Importance of a sentence under a heading, from which its age is subtracted (0 for the newest, 1 for the oldest), and
 * the importance of a date in it.
 */
const IMPORTANCE: Record<Exclude<Heading, 'Topic'>, number> = { Decisions: 3, 'Open issues': 3, 'Next steps': 1.5 }
const DATE_IMPORTANCE = 1

/** A line that may be selected, its heading, and its weight in the centroid. */
export type Candidate = { line: string; heading: Heading; weight: number }

/** The candidates with their vectors, and the indices of those chosen under the other three headings. */
type Selection = { candidates: readonly Candidate[]; vectors: readonly Float32Array[]; settled: readonly number[] }

/** Returns the number of tokens that a line adds to a summary. */
type CostOf = (line: string) => Promise<number>

/** Returns the text of a line, without the speaker. */
export const textOf = (line: string) => line.slice(line.indexOf(': ') + 1).trim()

/**
 * Returns the centrality of each candidate: its similarity to the centroid, or 0 if that is negative. Lower for short
 * candidates and questions, higher for lines of the previous summary.
 */
export function centralities(candidates: readonly Candidate[], vectors: readonly Float32Array[]): number[] {
  const centroid = new Float32Array(vectors[0]?.length ?? 0)
  vectors.forEach((vector, i) => {
    for (let d = 0; d < centroid.length; d++) centroid[d]! += candidates[i]!.weight * vector[d]!
  })
  unit(centroid)
  return candidates.map(({ line, weight }, i) => {
    const words = line.split(' ').length - 1
    const factor = (weight > 1 ? 1.2 : 1) * (line.endsWith('?') ? QUESTION_FACTOR : 1)
    return Math.max(0, dot(vectors[i]!, centroid)) * Math.min(1, words / FULL_WORDS) * factor
  })
}

/** Returns the indices of the candidates under the three headings other than the topic, most important first. */
export function settledFirst(candidates: readonly Candidate[], centrality: readonly number[]): number[] {
  const score = ({ line, heading }: Candidate, i: number) =>
    heading === 'Topic'
      ? 0
      : IMPORTANCE[heading]
        + (hasDate(textOf(line)) ? DATE_IMPORTANCE : 0)
        + centrality[i]! / 2
        - (candidates.length - i) / candidates.length
  const scores = candidates.map(score)
  return [...candidates.keys()]
    .filter((i) => candidates[i]!.heading !== 'Topic')
    .toSorted((a, b) => scores[b]! - scores[a]! || a - b)
}

/** Returns the given indices, in order, whose lines fit into `maxTokens`, without repeated lines; and their tokens. */
export async function fitting(
  candidates: readonly Candidate[],
  order: readonly number[],
  maxTokens: number,
  costOf: CostOf,
): Promise<{ chosen: number[]; used: number }> {
  const chosen: number[] = []
  const lines = new Set<string>()
  let used = 0
  for (const i of order) {
    const { line } = candidates[i]!
    if (used >= maxTokens) break
    if (lines.has(textOf(line))) continue
    const cost = await costOf(line)
    if (used + cost > maxTokens) continue
    used += cost
    lines.add(textOf(line))
    chosen.push(i)
  }
  return { chosen, used }
}

/**
 * Returns the indices of the topic's best candidates that fit into `maxTokens`, best first, without repetitions of the
 * settled ones.
 */
export async function chooseTopic(
  { candidates, vectors, settled }: Selection,
  maxTokens: number,
  costOf: CostOf,
): Promise<number[]> {
  const centrality = centralities(candidates, vectors)
  const remaining = new Set([...candidates.keys()].filter((i) => candidates[i]!.heading === 'Topic'))
  const similarity = candidates.map((_, i) =>
    Math.max(0, ...settled.slice(0, MAX_COMPARED).map((each) => dot(vectors[i]!, vectors[each]!))),
  )
  const chosen: number[] = []
  let tokensLeft = maxTokens
  while (remaining.size > 0 && tokensLeft > 0) {
    let best = -1
    let bestScore = -Infinity
    for (const i of remaining) {
      const score = centrality[i]! * (1 - SIMILARITY_PENALTY * Math.max(0, similarity[i]!))
      if (score > bestScore) [best, bestScore] = [i, score]
    }
    remaining.delete(best)
    const cost = await costOf(candidates[best]!.line)
    if (cost > tokensLeft) continue
    tokensLeft -= cost
    chosen.push(best)
    for (const i of remaining) {
      if (candidates[i]!.line === candidates[best]!.line) remaining.delete(i)
      else similarity[i] = Math.max(similarity[i]!, dot(vectors[i]!, vectors[best]!))
    }
  }
  return chosen
}
