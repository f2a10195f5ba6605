// Writes the audit log. An operation that changes data appends its line in its own transaction. Refused calls and reads
// are collected in memory and written together within FLUSH_MS.

import { insertAuditLines, lockAuditHead } from '../../../store/sql/trust/audit-lines.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Db, Tx } from '../../../store/db/db.ts'
import { withTransaction } from '../../../store/db/tx.ts'
import { chain } from './integrity.ts'
import { Coalescer, type Counted } from './coalesce.ts'
import type { AuditRecord } from './line.ts'

/** Milliseconds until collected records are written. A killed process loses the records that are not written yet. */
export const FLUSH_MS = 1_000

export type AuditLog = {
  /**
   * Appends lines in the transaction, in order. Call it last: it locks the tenant's audit log until the transaction
   * ends. All records must be of one tenant.
   */
  append(tx: Tx, records: readonly AuditRecord[]): Promise<void>
  /** Collects a record, which is written within FLUSH_MS. Equal records become one line with a count. Never throws. */
  note(record: AuditRecord): void
  /** Writes the collected records. */
  flush(): Promise<void>
  /** Writes the collected records, and stops the timer. */
  close(): Promise<void>
}

type AuditDeps = {
  clock: Clock
  db: Db
  /** HMAC key of the line hashes; null for hashes without a key. */
  key: Buffer | null
  log: Record<'warn' | 'error', (details: object, message: string) => void>
}

/** Returns the details as JSON with sorted keys, so that equal details have equal texts. */
const canonicalDetails = (details: AuditRecord['details']): string | null =>
  details === null
    ? null
    : JSON.stringify(Object.fromEntries(Object.entries(details).sort(([a], [b]) => (a < b ? -1 : 1))))

/** Appends the lines, which must be of one tenant, to the chain of that tenant. */
async function appendCounted(tx: Tx, key: Buffer | null, counted: readonly Counted[]): Promise<void> {
  const tenant = counted[0]?.tenant
  if (tenant === undefined) return
  const end = await lockAuditHead(tx, tenant)
  const lines = counted.map((each) => ({ ...each, details: canonicalDetails(each.details) }))
  await insertAuditLines(tx, chain(key, end, lines))
}

export function createAuditLog({ clock, db, key, log }: AuditDeps): AuditLog {
  const collected = new Coalescer()
  let writing = Promise.resolve()
  let timer: NodeJS.Timeout | null = null

  async function write(): Promise<void> {
    const { lines, dropped } = collected.take(clock.performance.now())
    if (dropped > 0) log.error({ dropped }, 'dropped records of the audit log: too many tenants have records to write')
    for (const counted of lines.values()) {
      try {
        await withTransaction(db, counted[0]!.tenant, (tx) => appendCounted(tx, key, counted))
      } catch (err) {
        log.error({ err, lines: counted.length }, 'could not write the audit log')
      }
    }
  }

  const flush = () => {
    if (timer) clock.clearTimeout(timer)
    timer = null
    writing = writing.then(write)
    return writing
  }

  return {
    append: (tx, records) =>
      appendCounted(
        tx,
        key,
        records.map((record) => ({ ...record, at: new Date(), count: 1 })),
      ),
    note(record) {
      collected.add(record, clock.performance.now())
      timer ??= clock.setTimeout(() => void flush(), FLUSH_MS).unref()
    },
    flush,
    close: flush,
  }
}
