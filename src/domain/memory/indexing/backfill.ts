// Computes index entries of stored rows that have none, in batches.

import { createYield } from '../../../runtime/yield.ts'

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
