// Index terms as numbers: what the lexical index stores and what a query is compared by. Pure.

/**
 * Hashes a term to a signed 32-bit number: FNV-1a over its UTF-16 units. With 50,000 distinct terms, one query in about
 * 86,000 meets two terms with the same number: then a turn scores slightly too high, and nothing else happens.
 */
export function hashTerm(term: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193)
  return hash | 0
}

/** The salt mixed into the terms of an owner's conversations, so that one index serves all owners and can be read for one. */
export const saltOf = (tenant: string, owner: string): number => hashTerm(`${tenant}\0${owner}`)

/** Salts hashed terms for storage. Salting them again restores them. Equals the SQL function `salted`. */
export const salted = (terms: readonly number[], salt: number): number[] => terms.map((term) => term ^ salt)
