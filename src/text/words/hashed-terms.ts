// The index terms as the lexical index stores them: hashes them to numbers, and counts how often requested ones occur in
// texts. Pure. Counting uses flat arrays, because a search counts the terms of thousands of texts, most of which contain
// none of them.

/**
 * Hashes a term to a signed 32-bit number: FNV-1a over its UTF-16 units. With 50,000 distinct terms, about one query
 * term in 86,000 has the same hash as another term. The only effect is that some turns score slightly too high.
 */
export function hashTerm(term: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193)
  return hash | 0
}

/**
 * Returns the salt of the terms in an owner's conversations, so that one index can be searched for a single owner. With
 * the owner '', returns the salt of the terms of the tenant's facts.
 */
export const saltOf = (tenant: string, owner: string): number => hashTerm(`${tenant}\0${owner}`)

/** Salts hashed terms for storage. Salting them again restores them. Same result as the SQL function `salted`. */
export const salted = (terms: readonly number[], salt: number): number[] => terms.map((term) => term ^ salt)

/** The occurrences of requested terms in a list of texts, in one entry for each term that a text contains. */
export type TermCounts = {
  /** Index of each text's first entry, followed by the total number of entries. Entries of a text are consecutive. */
  starts: Int32Array
  /** The number of each entry's term. */
  terms: Int32Array
  /** The number of occurrences in each entry. */
  counts: Int32Array
}

/** Size of the table that rejects most other terms without a look-up; a power of 2. */
const FILTER_SIZE = 4_096
/** Initial capacity for entries. */
const INITIAL_ENTRIES = 256

const doubled = (array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(2 * array.length)
  larger.set(array)
  return larger
}

/** Collects TermCounts text by text: call `add` for each term of a text, then `endText`. */
export class TermCounter {
  readonly #requested: ReadonlyMap<number, number>
  readonly #filter = new Uint8Array(FILTER_SIZE)
  readonly #starts: Int32Array
  #terms = new Int32Array(INITIAL_ENTRIES)
  #counts = new Int32Array(INITIAL_ENTRIES)
  #texts = 0
  #entries = 0

  /** @param requested the number of each requested term, by the term's hash @param texts number of texts */
  constructor(requested: ReadonlyMap<number, number>, texts: number) {
    this.#requested = requested
    this.#starts = new Int32Array(texts + 1)
    for (const hash of requested.keys()) this.#filter[hash & (FILTER_SIZE - 1)] = 1
  }

  /** Counts an occurrence of a term in the current text. */
  add(hash: number): void {
    if (this.#filter[hash & (FILTER_SIZE - 1)] === 0) return
    const term = this.#requested.get(hash)
    if (term === undefined) return
    for (let entry = this.#starts[this.#texts]!; entry < this.#entries; entry++) {
      if (this.#terms[entry] !== term) continue
      this.#counts[entry]! += 1
      return
    }
    if (this.#entries === this.#terms.length) {
      this.#terms = doubled(this.#terms)
      this.#counts = doubled(this.#counts)
    }
    this.#terms[this.#entries] = term
    this.#counts[this.#entries] = 1
    this.#entries += 1
  }

  endText(): void {
    this.#texts += 1
    this.#starts[this.#texts] = this.#entries
  }

  /** Returns the counts, after the last text has ended. */
  finish(): TermCounts {
    return { starts: this.#starts, terms: this.#terms, counts: this.#counts }
  }
}
