// Scores facts and summaries, which have no neighbouring turns. Uses the same weighted sum as for turns, so that all
// kinds can be ranked together. Each fact or summary is a session of its own and has full `substance` (rank.ts). Pure.

import { bm25, queryShare, inverseDocumentFrequencies, type Statistics } from './bm25.ts'
import type { QueryTerms } from '../search/query.ts'
import type { Question } from './question.ts'
import { FULL_LENGTH_TERMS, rank, type RankCandidate, type Ranked } from './rank.ts'

export type StandaloneMemory = Pick<RankCandidate, 'named' | 'at' | 'cues' | 'similarity' | 'importance'> & {
  /** Unsalted hashes of all terms of the text, repetitions included. */
  terms: readonly number[]
}

/** Returns the number of occurrences of each query term in `terms`, by the query term's index. */
export function countsOf(queryTerms: QueryTerms, terms: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const term of terms) {
    const number = queryTerms.get(term)
    if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1)
  }
  return counts
}

/** Returns the BM25 score of each text, in the given order. */
function scoresOf(queryTerms: QueryTerms, statistics: Statistics, terms: readonly (readonly number[])[]): number[] {
  const idf = inverseDocumentFrequencies(statistics)
  return terms.map((own) => {
    const counts = countsOf(queryTerms, own)
    return counts.size === 0 ? 0 : bm25(idf, counts, own.length, statistics.averageLength)
  })
}

/** Ranks memories, best first. */
export function rankStandalone<T extends StandaloneMemory>(
  question: Question,
  queryTerms: QueryTerms,
  statistics: Statistics,
  memories: readonly T[],
): Ranked<T & RankCandidate>[] {
  const idf = inverseDocumentFrequencies(statistics)
  const scores = scoresOf(
    queryTerms,
    statistics,
    memories.map(({ terms }) => terms),
  )
  const candidates = memories.map((each, i): T & RankCandidate => {
    const own = queryShare(idf, new Set(countsOf(queryTerms, each.terms).keys()))
    return {
      ...each,
      bm25: scores[i]!,
      matched: own,
      session: own,
      own,
      length: FULL_LENGTH_TERMS,
      similarityWithNeighbours: each.similarity ?? 0,
      answers: false,
      echo: false,
    }
  })
  return rank(question, candidates)
}
