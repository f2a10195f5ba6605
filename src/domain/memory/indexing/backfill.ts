// Computes index entries of stored rows that have none, in batches: those of turns, and of other rows by the functions that
// the caller gives.

import { createYield } from '../../../runtime/yield.ts'
import { readUnindexedTurns, writeTerms } from '../../../store/sql/memory/indexing/turn-terms.ts'
import { salted } from '../../../text/words/hashed-terms.ts'
import type { Platform } from '../../kernel/platform.ts'
import { indexEntry, MAX_INDEXED_UNITS } from './index-entry.ts'

/** Maximum number of rows per read and write. */
const BATCH = 500

type Backfill<Row, Entry> = {
  /** Returns at most `limit` rows without an entry. */
  read(limit: number): Promise<Row[]>
  entryOf(row: Row): Entry
  /** Returns the number of entries that it wrote. Skips rows that another transaction has locked. */
  write(entries: readonly Entry[]): Promise<number>
}

/**
 * Writes the entries of all rows that have none, and returns their number. Several processes may run it concurrently. If
 * it is interrupted, the next call continues with the remaining rows.
 */
export async function backfill<Row, Entry>({ read, entryOf, write }: Backfill<Row, Entry>): Promise<number> {
  let count = 0
  for (;;) {
    const rows = await read(BATCH)
    if (rows.length === 0) return count
    const entries: Entry[] = []
    const yieldIfDue = createYield()
    for (const row of rows) {
      entries.push(entryOf(row))
      await yieldIfDue()
    }
    const written = await write(entries)
    count += written
    // If no entry could be written, another process is writing the same ones.
    if (rows.length < BATCH || written === 0) return count
  }
}

/**
 * Indexes the turns of all tenants that have no lexical index entry, such as turns written by an earlier version of the
 * server, and returns their number. New turns are indexed when they are written (turn/append.ts).
 */
export const indexTurns = ({ db }: Pick<Platform, 'db'>): Promise<number> =>
  backfill({
    read: (limit) => readUnindexedTurns(db, limit, MAX_INDEXED_UNITS),
    entryOf({ id, actor, text, createdAt, salt }) {
      const { terms, cues } = indexEntry(actor, text, { at: createdAt })
      return { id, terms: salted(terms, salt), cues }
    },
    write: (turns) => writeTerms(db, turns),
  })
