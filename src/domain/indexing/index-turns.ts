// Indexes by their words the turns that were written before there was such an index. New ones are indexed when they are
// written (turn/append.ts), so this soon has nothing to do.

import { readUnindexedTurns, writeTerms, type TurnTerms } from '../../store/sql/indexing/index-turns.ts'
import type { Platform } from '../platform.ts'
import { indexEntry, READ } from './index-entry.ts'
import { salted } from '../../text/term-hash.ts'
import { createYield } from '../../yield.ts'

/** Turns that are read and written at once. */
const BATCH = 500

/**
 * Indexes what is not indexed yet, in any tenant; how many turns. Several processes may do so at once, and it may be
 * broken off at any time: what is written is right, what is not is found again.
 */
export async function indexTurns({ db }: Pick<Platform, 'db'>): Promise<number> {
  let count = 0
  for (;;) {
    const found = await readUnindexedTurns(db, BATCH, READ)
    if (found.length === 0) return count
    const turns: TurnTerms[] = []
    const yieldIfDue = createYield()
    for (const { id, actor, text, salt } of found) {
      const { terms, cues } = indexEntry(actor, text)
      turns.push({ id, terms: salted(terms, salt), cues })
      await yieldIfDue()
    }
    const written = await writeTerms(db, turns)
    count += written
    // Where none could be written, somebody else is at them.
    if (found.length < BATCH || written === 0) return count
  }
}
