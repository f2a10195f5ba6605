// What the lexical index keeps of a turn: its words and its actor's as numbers, and its cues. Made once, when the turn
// is written; after a change here or in providers/words.ts, a migration sets `terms` to null so that all are made anew.

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
  return { terms: terms(`${actor} ${read}`).map(hashed), cues: cuesOf(read, new Set(words(actor))) }
}

/**
 * A string as a signed 32-bit number: FNV-1a over its UTF-16 units. Two of 50,000 terms share a number once in 86,000
 * queries' words: then a turn scores a little better than it should, and nothing else.
 */
export function hashed(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash | 0
}

/** What is mixed into the terms of an owner's rooms, so that one index serves all owners and is read for one. */
export const saltOf = (tenant: string, owner: string): number => hashed(`${tenant}\0${owner}`)

/** Terms as they are stored; salting them again gives them back. The same as the SQL function `salted`. */
export const salted = (terms: readonly number[], salt: number): number[] => terms.map((term) => term ^ salt)
