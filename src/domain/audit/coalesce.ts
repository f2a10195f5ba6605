// Collects records of the audit log between two writes. Equal records become one line with a count. The number of lines
// per tenant and second is limited; the records beyond the limit become one line per outcome, which contains only their
// number. This bounds the memory and the disk space that a flood of refused requests takes.

import type { AuditRecord } from './line.ts'

/** Maximum number of lines in a burst of records of one tenant, in one process. */
export const BURST_LINES = 100
/** Average number of lines per second that records of one tenant may cause, in one process. */
export const LINES_PER_SECOND = 1
/**
 * Maximum number of tenants with recent records: those whose credit is below BURST_LINES. Records of further tenants
 * are dropped and counted.
 */
export const MAX_TENANTS = 1_000
/** The verb and the actor of a line that counts the records beyond the limit. */
export const OVERFLOW = 'overflow'

/** A line to write: the record, the time of its first occurrence, and the number of occurrences. */
export type Counted = AuditRecord & { at: Date; count: number }

/** `credit` is the number of further lines allowed for the tenant at the time `since`. */
type TenantRecords = { credit: number; since: number; lines: Map<string, Counted> }

const keyOf = ({ actor, actedAs, credential, verb, resources, outcome, details }: AuditRecord) =>
  JSON.stringify([actor, actedAs, credential, verb, resources, outcome, details])

const overflowOf = ({ tenant, outcome }: AuditRecord): AuditRecord => ({
  tenant,
  actor: OVERFLOW,
  actedAs: null,
  credential: null,
  verb: OVERFLOW,
  resources: [],
  outcome,
  details: null,
})

export class Coalescer {
  #tenants = new Map<string, TenantRecords>()
  /** Number of records dropped since the last call of `take`. */
  #dropped = 0

  /** Adds a record. @param now milliseconds of a monotonic clock */
  add(record: AuditRecord, now: number, at = new Date()): void {
    const tenant = this.#tenantOf(record.tenant, now)
    if (!tenant) return void (this.#dropped += 1)
    const { lines } = tenant
    const key = keyOf(record)
    const existing = lines.get(key)
    if (existing) existing.count += 1
    else if (tenant.credit >= 1) {
      tenant.credit -= 1
      lines.set(key, { ...record, at, count: 1 })
    } else if (record.verb === OVERFLOW) lines.set(key, { ...record, at, count: 1 })
    else this.add(overflowOf(record), now, at)
  }

  #tenantOf(name: string, now: number): TenantRecords | null {
    const tenant = this.#tenants.get(name)
    if (tenant) {
      tenant.credit = Math.min(BURST_LINES, tenant.credit + ((now - tenant.since) / 1000) * LINES_PER_SECOND)
      tenant.since = now
      return tenant
    }
    if (this.#tenants.size >= MAX_TENANTS) return null
    const created = { credit: BURST_LINES, since: now, lines: new Map<string, Counted>() }
    this.#tenants.set(name, created)
    return created
  }

  /**
   * Removes and returns the lines of each tenant, oldest first, and the number of records dropped since the last call.
   * @param now milliseconds of a monotonic clock
   */
  take(now: number): { lines: Map<string, Counted[]>; dropped: number } {
    const lines = new Map<string, Counted[]>()
    for (const [name, tenant] of this.#tenants) {
      if (tenant.lines.size > 0) lines.set(name, [...tenant.lines.values()])
      tenant.lines = new Map()
      const { credit } = this.#tenantOf(name, now)!
      // A tenant that is not in the map has full credit.
      if (credit >= BURST_LINES) this.#tenants.delete(name)
    }
    const dropped = this.#dropped
    this.#dropped = 0
    return { lines, dropped }
  }
}
