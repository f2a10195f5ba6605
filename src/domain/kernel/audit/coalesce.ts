// Collects records of the audit log between two writes. Equal records become one line with a count. The number of lines
// per tenant and second is limited; the records beyond the limit become one line per outcome, which contains only their
// number. This bounds the memory and the disk space that a flood of refused requests takes.

import { createBucket, type Bucket, type BucketSize } from '../../../runtime/limits/bucket.ts'
import type { AuditRecord } from './line.ts'

/** Maximum number of lines in a burst of records of one tenant, in one process. */
export const BURST_LINES = 100
/** Average number of lines per second that records of one tenant may cause, in one process. */
export const LINES_PER_SECOND = 1
/**
 * Maximum number of tenants with recent records: those whose bucket is not full. Records of further tenants
 * are dropped and counted.
 * @internal
 */
export const MAX_TENANTS = 1_000
const ALLOWED_LINES: BucketSize = { tokens: BURST_LINES, fillMs: (1000 * BURST_LINES) / LINES_PER_SECOND }
/** The verb and the actor of a line that counts the records beyond the limit. */
const OVERFLOW = 'overflow'

/** A line to write: the record, the time of its first occurrence, and the number of occurrences. */
export type Counted = AuditRecord & { at: Date; count: number }

/** `allowed` has a token for each further line that is allowed for the tenant. */
type TenantRecords = { allowed: Bucket; lines: Map<string, Counted> }

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
    const tenant = this.#tenantOf(record.tenant)
    if (!tenant) return void (this.#dropped += 1)
    const { lines } = tenant
    const key = keyOf(record)
    const existing = lines.get(key)
    if (existing) existing.count += 1
    else if (tenant.allowed.take(now) || record.verb === OVERFLOW) lines.set(key, { ...record, at, count: 1 })
    else this.add(overflowOf(record), now, at)
  }

  #tenantOf(name: string): TenantRecords | null {
    const tenant = this.#tenants.get(name)
    if (tenant) return tenant
    if (this.#tenants.size >= MAX_TENANTS) return null
    const created = { allowed: createBucket(ALLOWED_LINES), lines: new Map<string, Counted>() }
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
      // A tenant that is not in the map has a full bucket.
      if (tenant.allowed.isFull(now)) this.#tenants.delete(name)
    }
    const dropped = this.#dropped
    this.#dropped = 0
    return { lines, dropped }
  }
}
