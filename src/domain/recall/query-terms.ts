// The terms of a query.

import { hashTerm } from '../../text/term-hash.ts'
import { terms } from '../../text/words.ts'

/** Maximum number of distinct terms searched for, from the beginning of the query. */
const MAX_TERMS = 32

/** Index of each query term, by the term's hash (term-hash.ts). */
export type QueryTerms = ReadonlyMap<number, number>

/** Returns the query's first MAX_TERMS distinct terms. */
export function toTerms(query: string): QueryTerms {
  const distinct = [...new Set(terms(query))].slice(0, MAX_TERMS)
  return new Map(distinct.map((term, index) => [hashTerm(term), index]))
}
