// What the lexical index keeps of a turn: its words and its actor's as numbers, and its cues. Made once, when the turn
// is written; after a change here or in text/words.ts, a migration sets `terms` to null so that all are made anew.

import { hashTerm } from '../../text/term-hash.ts'
import { terms, words } from '../../text/words.ts'
import { cuesOf } from './cues.ts'

/** Units of a text that are read: some 10,000 words, in 5 ms. */
export const READ = 65_536

type IndexEntry = { terms: number[]; cues: number }

/**
 * `terms` has the stems of the actor and of the text, in order, as often as they stand there, as hashes: a turn's
 * length is theirs. Of a text, the first 65,536 UTF-16 units count.
 */
export function indexEntry(actor: string, text: string): IndexEntry {
  const read = text.slice(0, READ)
  return { terms: terms(`${actor} ${read}`).map(hashTerm), cues: cuesOf(read, new Set(words(actor))) }
}
