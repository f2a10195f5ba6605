// The lexical index entry of a turn: hashes of the terms of its text and actor, and its cues. Computed when the turn is
// written. A change that alters entries, here, in cues.ts or in the files of text/ that both import, needs a migration
// that sets `terms` of all turns to null, so that the entries are recomputed.

import { hashTerm } from '../../text/term-hash.ts'
import { terms, words } from '../../text/words.ts'
import { cuesOf } from './cues.ts'

/** Maximum number of UTF-16 units of a text that are indexed: about 10,000 words, which take 5 ms. */
export const MAX_INDEXED_UNITS = 65_536

type IndexEntry = { terms: number[]; cues: number }

/**
 * Computes the index entry. `terms` are the hashes of the stems of the actor and the text, in order and with
 * repetitions; their number is the turn's length for ranking. Only the first MAX_INDEXED_UNITS of the text are indexed.
 */
export function indexEntry(actor: string, text: string): IndexEntry {
  const indexed = text.slice(0, MAX_INDEXED_UNITS)
  return { terms: terms(`${actor} ${indexed}`).map(hashTerm), cues: cuesOf(indexed, new Set(words(actor))) }
}
