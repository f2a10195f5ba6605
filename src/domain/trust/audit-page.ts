// Reads the audit log of a tenant in pages, and verifies it. Both operations need the right `operate`.

import { z } from 'zod'
import { readAuditChain, readAuditHead, readAuditLines, type AuditLineRow } from '../../store/sql/trust/audit-lines.ts'
import { AuditOutcome } from '../../store/generated/enums.ts'
import { verify, type Break, type Verified } from '../kernel/audit/integrity.ts'
import { authorize } from '../kernel/rights/authorize.ts'
import { cursorFormat } from '../kernel/cursor.ts'
import { name, parse, text, time } from '../kernel/input.ts'
import { paging, slice, type Page, type Paging } from '../kernel/page.ts'
import type { Platform } from '../kernel/platform.ts'
import type { Viewer } from '../kernel/view.ts'

const auditFilter = z.object({
  actor: name.nullish(),
  verb: name.nullish(),
  resource: text(400).nullish(),
  outcome: z.enum(AuditOutcome).nullish(),
  from: time.nullish(),
  to: time.nullish(),
})
export type AuditLogArgs = Paging & { filter?: z.input<typeof auditFilter> | null }

export type AuditLine = AuditLineRow

const CURSOR = cursorFormat<number>(
  (seq) => `audit:${seq}`,
  /^audit:(\d{1,15})$/,
  (seq) => Number(seq),
  'the audit log',
)
export const auditCursor = ({ seq }: AuditLine): string => CURSOR.encode(seq)

/** Returns a page of the lines that match the filter, newest first. @throws NotAllowed @throws InvalidInput */
export async function getAuditLog(deps: Platform, viewer: Viewer, args: AuditLogArgs): Promise<Page<AuditLine>> {
  authorize(viewer, 'getAuditLog')
  const page = paging(args, deps.limits.pageSize)
  const { actor, verb, resource, outcome, from, to } = parse(auditFilter, args.filter ?? {})
  await deps.audit.flush()
  const filter = {
    actor: actor ?? null,
    verb: verb ?? null,
    resource: resource ?? null,
    outcome: outcome ?? null,
    from: from ?? null,
    to: to ?? null,
  }
  const rows = await readAuditLines(deps.db, viewer.tenant, filter, {
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    limit: page.size + 1,
    backwards: page.backwards,
  })
  return slice(rows, page)
}

/** Maximum number of lines that one call verifies. */
export const VERIFY_LINES = 10_000
/** Maximum number of lines that one statement reads. */
const BATCH = 1_000

export type AuditVerification = {
  /** Number of the last verified line; without one, of the last line before the verified part. */
  verifiedThrough: number
  /** Hash of the line `verifiedThrough`. */
  hash: string
  /** Number of the first verified line whose hash is keyed; null for none. */
  keyedFrom: number | null
  /** The first line that breaks the chain; null for none. */
  broken: Break | null
  /** Whether the end of the log was reached. */
  isComplete: boolean
}

const POSITION = cursorFormat<Verified>(
  ({ seq, hash, keyedFrom }) => `chain:${seq}:${hash}:${keyedFrom ?? ''}`,
  /^chain:(\d{1,15}):([\da-f]{64}|):(\d{0,15})$/,
  (seq, hash, keyedFrom) => ({ seq: Number(seq), hash, keyedFrom: keyedFrom ? Number(keyedFrom) : null }),
  'verifyAuditLog',
)

/** Returns the cursor from which the next call continues. */
export const verificationCursor = ({ verifiedThrough: seq, hash, keyedFrom }: AuditVerification): string =>
  POSITION.encode({ seq, hash, keyedFrom })

/**
 * Verifies up to VERIFY_LINES lines of the tenant's audit log after the cursor; null starts at the oldest stored line.
 * @throws NotAllowed @throws InvalidInput
 */
export async function verifyAuditLog(
  { db, audit, integrityKeys, log }: Pick<Platform, 'db' | 'audit' | 'integrityKeys' | 'log'>,
  viewer: Viewer,
  after: string | null,
): Promise<AuditVerification> {
  authorize(viewer, 'verifyAuditLog')
  const position = after === null ? null : POSITION.decode(after, 'after')
  await audit.flush()
  return walk({ db, integrityKeys, log }, viewer.tenant, position)
}

async function walk(
  { db, integrityKeys, log }: Pick<Platform, 'db' | 'integrityKeys' | 'log'>,
  tenant: string,
  after: Verified | null,
): Promise<AuditVerification> {
  const head = await readAuditHead(db, tenant)
  let end: Verified = after ?? { seq: head?.prunedThrough ?? 0, hash: head?.prunedHash ?? '', keyedFrom: null }
  let broken: Break | null = null
  let isComplete = false
  for (let read = 0; read < VERIFY_LINES && !broken && !isComplete; read += BATCH) {
    const lines = await readAuditChain(db, tenant, end.seq, BATCH)
    const next = verify(integrityKeys?.audit ?? null, end, lines)
    if ('reason' in next) broken = next
    else end = next
    isComplete = lines.length < BATCH
  }
  // The head was read before the lines, so lines that were appended meanwhile follow it.
  if (!broken && isComplete && head) {
    if (end.seq < head.seq) broken = { seq: end.seq + 1, reason: 'MISSING' }
    else if (end.seq === head.seq && end.hash !== head.hash) broken = { seq: end.seq, reason: 'CHANGED' }
  }
  if (broken) log.error({ tenant, ...broken }, 'the audit log failed verification')
  return { verifiedThrough: end.seq, hash: end.hash, keyedFrom: end.keyedFrom, broken, isComplete }
}
