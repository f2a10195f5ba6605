// Computes the lexical index entry of a turn when the turn is written: hashes of the terms of its text and actor, and
// its cues. If a change to this file, cues.ts or the files of text/ that they import alters the entries, add a
// migration that sets `terms` of all turns to null, so that backfill.ts recomputes the entries.

import { hashTerm } from '../../../text/words/hashed-terms.ts'
import { readText, termsOf } from '../../../text/words/words.ts'
import { cuesOf } from './cues.ts'
import { dateTerms } from './date-terms.ts'

/** Maximum number of UTF-16 units of a text that are indexed: about 10,000 words. Indexing them takes about 5 ms. */
export const MAX_INDEXED_UNITS = 65_536

type IndexEntry = { terms: number[]; cues: number }

/**
 * Returns the text by which a turn is found: the captions of its files, then its text. The SQL function searched_text
 * returns the same. @param parts as they are stored; null for a single text part
 * @internal Exported for tests.
 */
export function searchedText(text: string, parts: unknown): string {
  if (!Array.isArray(parts)) return text
  const captions = parts.flatMap((part: { type?: unknown; caption?: unknown } | null) =>
    part?.type === 'file' && typeof part.caption === 'string' ? [part.caption] : [],
  )
  return captions.length === 0 ? text : [...captions, text].join('\n')
}

/**
 * Computes the index entry. `terms` contains the hashes of the stems of the actor and the searched text, in order and with
 * repetitions, and of the days that it names; its length is the turn's length for ranking. Indexes only the first
 * MAX_INDEXED_UNITS of the text.
 * @param at creation time of the turn, to which "yesterday" refers; now by default
 */
export function indexEntry(
  actor: string,
  text: string,
  { parts = null, at = new Date() }: { parts?: unknown; at?: Date } = {},
): IndexEntry {
  const searched = searchedText(text, parts).slice(0, MAX_INDEXED_UNITS)
  const name = readText(actor)
  const read = readText(searched)
  const dates = dateTerms(searched, read.language, at)
  const terms = [...termsOf(name, read.language), ...termsOf(read, read.language), ...dates].map(hashTerm)
  return { terms, cues: cuesOf(searched, new Set(name.plain), read) }
}
