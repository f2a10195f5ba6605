// Indexes turns that have no lexical index entry, such as turns written by an earlier version of the server. New turns
// are indexed when they are written (turn/append.ts).

import { readUnindexedTurns, writeTerms, type TurnTerms } from '../../store/sql/indexing/index-turns.ts'
import type { Platform } from '../platform.ts'
import { indexEntry, MAX_INDEXED_UNITS } from './index-entry.ts'
import { salted } from '../../text/term-hash.ts'
import { createYield } from '../../yield.ts'

/** Maximum number of turns per read and write. */
const BATCH = 500

/**
 * Indexes the unindexed turns of all tenants and returns the number of turns that it indexed. Several processes may run
 * it concurrently. If it is interrupted, the next call continues with the remaining turns.
 */
export async function indexTurns({ db }: Pick<Platform, 'db'>): Promise<number> {
  let count = 0
  for (;;) {
    const unindexed = await readUnindexedTurns(db, BATCH, MAX_INDEXED_UNITS)
    if (unindexed.length === 0) return count
    const turns: TurnTerms[] = []
    const yieldIfDue = createYield()
    for (const { id, actor, text, salt } of unindexed) {
      const { terms, cues } = indexEntry(actor, text)
      turns.push({ id, terms: salted(terms, salt), cues })
      await yieldIfDue()
    }
    const written = await writeTerms(db, turns)
    count += written
    // If no turn could be written, another process is indexing the same turns.
    if (unindexed.length < BATCH || written === 0) return count
  }
}
