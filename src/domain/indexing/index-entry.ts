// Computes the lexical index entry of a turn when the turn is written: hashes of the terms of its text and actor, and
// its cues. If a change to this file, cues.ts or the files of text/ that they import alters the entries, add a
// migration that sets `terms` of all turns to null, so that index-turns.ts recomputes the entries.

import { hashTerm } from '../../text/term-hash.ts'
import { readText, termsOf } from '../../text/words.ts'
import { cuesOf } from './cues.ts'

/** Maximum number of UTF-16 units of a text that are indexed: about 10,000 words. Indexing them takes about 5 ms. */
export const MAX_INDEXED_UNITS = 65_536

type IndexEntry = { terms: number[]; cues: number }

/**
 * Computes the index entry. `terms` contains the hashes of the stems of the actor and the text, in order and with
 * repetitions; its length is the turn's length for ranking. Indexes only the first MAX_INDEXED_UNITS of the text.
 */
export function indexEntry(actor: string, text: string): IndexEntry {
  const name = readText(actor)
  const read = readText(text.slice(0, MAX_INDEXED_UNITS))
  const terms = [...termsOf(name, read.language), ...termsOf(read, read.language)].map(hashTerm)
  return { terms, cues: cuesOf(text.slice(0, MAX_INDEXED_UNITS), new Set(name.plain), read) }
}
