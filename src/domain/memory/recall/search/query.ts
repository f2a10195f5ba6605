// Reads a query: extracts its terms, selects the terms by which a large scope is searched, and embeds it.

import { CallFailed } from '../../../../providers/ports/call-failed.ts'
import { hashTerm } from '../../../../text/words/hashed-terms.ts'
import { queryTerms, readText } from '../../../../text/words/words.ts'
import type { QueryVector } from '../../../../store/vectors/vector-search.ts'
import { dateQueryTerms } from '../../indexing/date-terms.ts'
import type { RecallDeps } from '../deps.ts'

/** Maximum number of distinct terms of a query. Further terms are ignored. */
const MAX_TERMS = 32

/**
 * The terms of a query. A term has one or more alternatives, which count as occurrences of the same term: the index
 * terms that a word has in texts of different languages. Iterates the hashes of all alternatives, with the index of
 * their term. A Map from hashes to indexes is valid if it has one hash for each term.
 */
export type QueryTerms = Iterable<readonly [hash: number, index: number]> & {
  /** Number of terms. */
  readonly size: number
  /** Returns the index of the term that has this hash (hashed-terms.ts); undefined if there is none. */
  get(hash: number): number | undefined
}

/**
 * Returns the first MAX_TERMS distinct terms of the query: of the days that it names, then its words. A hash that two
 * terms share belongs to the first.
 * @param now the time to which "yesterday" refers
 */
export function toTerms(query: string, now: Date): QueryTerms {
  const dates = dateQueryTerms(query, readText(query).language, now)
  const terms = [...dates, ...queryTerms(query)].slice(0, MAX_TERMS)
  const indexes = new Map<number, number>()
  for (const [index, alternatives] of terms.entries()) {
    for (const hash of alternatives.map(hashTerm)) if (!indexes.has(hash)) indexes.set(hash, index)
  }
  return { size: terms.length, get: (hash) => indexes.get(hash), [Symbol.iterator]: () => indexes[Symbol.iterator]() }
}

/** Returns the hashes of each term, by the term's index. */
export function hashesOf(terms: QueryTerms): number[][] {
  const hashes = Array.from({ length: terms.size }, (): number[] => [])
  for (const [hash, index] of terms) hashes[index]!.push(hash)
  return hashes
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

/** Timeout for embedding a query, in milliseconds. If it expires, the search uses words only. */
const EMBED_TIMEOUT_MS = 3_000

/** Embeds the query. Returns null if its vector is all zeros or the embedder fails; the search then uses words only. */
export async function embedQuery(
  deps: Pick<RecallDeps, 'embedding' | 'log'>,
  text: string,
): Promise<QueryVector | null> {
  const embedder = deps.embedding.serving()
  try {
    const [query] = await embedder.embed([text], AbortSignal.timeout(EMBED_TIMEOUT_MS))
    return query!.every((component) => component === 0) ? null : { embedder: embedder.name, query: query! }
  } catch (err) {
    if (!(err instanceof CallFailed) && (err as Error).name !== 'TimeoutError') throw err
    deps.log.warn({ err, embedder: embedder.name }, 'could not embed a query; searching by its words only')
    return null
  }
}
