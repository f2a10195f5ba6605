// Scores facts and summaries, which have no neighbouring turns, by the same sum as turns, so that all kinds can be put
// in one order. Each is its own sitting and is never too short. Pure.

import { bm25, coverage, rarities, type Statistics } from './bm25.ts'
import type { QueryTerms } from './gather.ts'
import type { Question } from './question.ts'
import { ENOUGH_TERMS, rank, type RankCandidate, type Ranked } from './rank.ts'

export type StandaloneMemory = Pick<RankCandidate, 'named' | 'at' | 'cues' | 'similarity'> & {
  /** All its terms as hashes, not salted; repetitions included. */
  terms: readonly number[]
}

/** How often each of the query's terms, by its number, stands among those. */
export function countsOf(asked: QueryTerms, terms: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const term of terms) {
    const number = asked.get(term)
    if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1)
  }
  return counts
}

/** How the words of each match, in the order given. */
export function scoresOf(asked: QueryTerms, statistics: Statistics, terms: readonly (readonly number[])[]): number[] {
  const rarity = rarities(statistics)
  return terms.map((own) => {
    const counts = countsOf(asked, own)
    return counts.size === 0 ? 0 : bm25(rarity, counts, own.length, statistics.averageLength)
  })
}

/**
 * Best first. The best match by words is worth the share of the query that it holds, weighed by rarity: 1 where it
 * holds all of it. So one that shares but a name with the query does not weigh as much as the turn that answers it.
 */
export function rankStandalone<T extends StandaloneMemory>(
  question: Question,
  asked: QueryTerms,
  statistics: Statistics,
  found: readonly T[],
): Ranked<T & RankCandidate>[] {
  const rarity = rarities(statistics)
  const scores = scoresOf(
    asked,
    statistics,
    found.map(({ terms }) => terms),
  )
  const candidates = found.map((each, place): T & RankCandidate => ({
    ...each,
    text: scores[place]!,
    sitting: coverage(rarity, new Set(countsOf(asked, each.terms).keys())),
    length: ENOUGH_TERMS,
    beside: [],
    answers: false,
  }))
  const best = candidates.toSorted((a, b) => b.text - a.text)[0]
  return rank(question, candidates, undefined, best && best.text > 0 ? best.text / best.sitting : 0)
}
