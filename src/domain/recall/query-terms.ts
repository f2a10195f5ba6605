// Extracts the terms of a query, and selects the terms by which a large scope is searched.

import { hashTerm } from '../../text/term-hash.ts'
import { terms } from '../../text/words.ts'

/** Maximum number of distinct terms of a query. Further terms are ignored. */
const MAX_TERMS = 32

/** Index of each query term, by the term's hash (term-hash.ts). */
export type QueryTerms = ReadonlyMap<number, number>

/** Returns the query's first MAX_TERMS distinct terms. */
export function toTerms(query: string): QueryTerms {
  const distinct = [...new Set(terms(query))].slice(0, MAX_TERMS)
  return new Map(distinct.map((term, index) => [hashTerm(term), index]))
}

/** A term is common if it occurs in more than this share of the turns of a large scope. */
const COMMON_SHARE = 0.1
/** Maximum number of turns found per term. A term that reaches it is common, too. */
export const MAX_POSTINGS = 10_000

/**
 * Returns the indexes of the terms by which a large scope is searched, ascending: the terms that occur and are not
 * common. If all terms that occur are common, returns all of them.
 * @param frequencies number of turns that contain each term @param turns number of turns in the scope
 */
export function termsToSearch(frequencies: readonly number[], turns: number): number[] {
  const present = [...frequencies.keys()].filter((index) => frequencies[index]! > 0)
  const rare = present.filter((index) => frequencies[index]! <= Math.min(COMMON_SHARE * turns, MAX_POSTINGS - 1))
  return rare.length > 0 ? rare : present
}
