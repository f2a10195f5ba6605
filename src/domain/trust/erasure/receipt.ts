// Receipts of erasures: the erased object, the time, and the number of removed rows, signed with the operator's key.

import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Tx } from '../../../store/db/db.ts'
import type { ErasureKind } from '../../../store/generated/enums.ts'
import { auditRecord, type AuditRecord } from '../../kernel/audit/line.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { text, parse } from '../../kernel/input.ts'
import { keyedHash, type IntegrityKeys } from '../../kernel/audit/integrity.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

/** The number of removed rows of each type, and the signed document that contains them. */
export type ErasureReceipt = {
  id: string
  kind: ErasureKind
  /** Id of the turn or conversation, or a hash of the user's id. */
  subject: string
  conversations: number
  /** Number of deleted or erased turn versions. */
  turns: number
  facts: number
  summaries: number
  profiles: number
  /** Number of conversations that were skipped because of a legal hold. */
  held: number
  /** Number of removed rows by table. */
  counts: Readonly<Record<string, number>>
  completedAt: Date
  /** Canonical JSON of the fields above, and of the tenant. */
  document: string
  /** HMAC-SHA-256 of the document, in hexadecimal; null without INTEGRITY_KEY. */
  signature: string | null
}

/** The key of `counts` for conversations that were skipped because of a legal hold. */
export const HELD = 'held_conversations'

type Facts = Pick<ErasureReceipt, 'id' | 'kind' | 'subject' | 'counts' | 'completedAt'> & { tenant: string }
type StoredReceipt = Omit<Facts, 'tenant'> & Pick<ErasureReceipt, 'document' | 'signature'>

/** Returns the receipt with its document and signature. */
export function receiptOf(keys: IntegrityKeys | null, { tenant, ...facts }: Facts): ErasureReceipt {
  const { id, kind, subject, completedAt } = facts
  const counts = Object.fromEntries(Object.entries(facts.counts).sort(([a], [b]) => (a < b ? -1 : 1)))
  const document = JSON.stringify({ id, tenant, kind, subject, counts, completedAt: completedAt.toISOString() })
  return toReceipt({
    id,
    kind,
    subject,
    counts,
    completedAt,
    document,
    signature: keys && keyedHash(keys.receipt, document),
  })
}

/** Returns the stored receipt with the counts that have their own fields. */
export function toReceipt({
  id,
  kind,
  subject,
  counts,
  completedAt,
  document,
  signature,
}: StoredReceipt): ErasureReceipt {
  const count = (table: string) => counts[table] ?? 0
  return {
    id,
    kind,
    subject,
    conversations: count('conversation'),
    turns: count('turn'),
    facts: count('fact'),
    summaries: count('summary'),
    profiles: count('user_profile'),
    held: count(HELD),
    counts,
    completedAt,
    document,
    signature,
  }
}

/** Returns a hash of a user's id, for receipts, which must not contain the id itself. */
export function hashOfUser(keys: IntegrityKeys | null, tenant: string, user: string): string {
  const text = JSON.stringify([tenant, user])
  return `user:${keys ? keyedHash(keys.receipt, text) : createHash('sha256').update(text).digest('hex')}`
}

/** Returns the audit record for a receipt. Its details contain the counts and the hash of the document. */
export const receiptRecord = (
  viewer: Viewer,
  verb: string,
  { id, subject, counts, document }: ErasureReceipt,
): AuditRecord =>
  auditRecord(viewer, verb, [subject, id], {
    details: { ...counts, document: createHash('sha256').update(document).digest('hex') },
  })

/** Writes the receipt of an erasure that this transaction completes, and its line of the audit log. */
export async function writeReceipt(
  { audit, integrityKeys }: Pick<Platform, 'audit' | 'integrityKeys'>,
  tx: Tx,
  viewer: Viewer,
  {
    verb,
    kind,
    subject,
    rows,
  }: { verb: string; kind: ErasureKind; subject: string; rows: ReadonlyMap<string, number> },
): Promise<ErasureReceipt> {
  const { tenant } = viewer
  const counts = Object.fromEntries([...rows].filter(([, count]) => count > 0))
  const receipt = receiptOf(integrityKeys, { id: randomUUID(), tenant, kind, subject, counts, completedAt: new Date() })
  const { id, completedAt, document, signature } = receipt
  await tx.erasure.create({
    data: { id, tenant, kind, subject, counts, createdAt: completedAt, completedAt, document, signature },
  })
  await audit.append(tx, [receiptRecord(viewer, verb, receipt)])
  return receipt
}

const verifyReceiptInput = z.object({ document: text(16_384), signature: text(200) })
export type VerifyReceiptInput = z.input<typeof verifyReceiptInput>

/**
 * Whether the signature of the document was made with the server's current INTEGRITY_KEY. False without a key.
 * @throws InvalidInput @throws NotAllowed
 */
export function verifyErasureReceipt(
  { integrityKeys }: Pick<Platform, 'integrityKeys'>,
  viewer: Viewer,
  input: VerifyReceiptInput,
): boolean {
  authorize(viewer, 'verifyErasureReceipt')
  const { document, signature } = parse(verifyReceiptInput, input)
  if (!integrityKeys) return false
  const expected = Buffer.from(keyedHash(integrityKeys.receipt, document))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
