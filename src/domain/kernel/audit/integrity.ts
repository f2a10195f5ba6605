// Keyed hashes that show changes of stored records. Derives the keys of the audit log, of erasure receipts and of content
// hashes from the operator's INTEGRITY_KEY. Computes and verifies the hash chain of the audit log: the hash of a line
// covers the hash of the previous line and all values of the line, so that verification finds removed, changed and
// reordered lines. Pure.

import { createHash, createHmac, hkdfSync } from 'node:crypto'
import type { AuditLineRow } from '../../../store/sql/trust/audit-lines.ts'

/** One key per purpose, so that a hash that was made for one purpose cannot be used for another. */
export type IntegrityKeys = Readonly<Record<'audit' | 'receipt' | 'content', Buffer>>

const derive = (secret: string, purpose: string) =>
  Buffer.from(hkdfSync('sha256', secret, '', `colloquy ${purpose}`, 32))

/** Returns the keys, which are derived by HKDF-SHA-256; null without a secret. */
export const integrityKeysOf = (secret: string | undefined): IntegrityKeys | null =>
  secret === undefined
    ? null
    : { audit: derive(secret, 'audit'), receipt: derive(secret, 'receipt'), content: derive(secret, 'content') }

/** Returns the HMAC-SHA-256 of the text, in hexadecimal. */
export const keyedHash = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

/** The sequence number and the hash of the newest line of a chain; 0 and '' for an empty chain. */
export type ChainEnd = { seq: number; hash: string }

/** The values of a line, without its hash. */
export type UnhashedLine = Omit<AuditLineRow, 'hash'>

/** Returns the text from which the hash of a line is computed. */
const canonical = ({
  tenant,
  seq,
  at,
  actor,
  actedAs,
  credential,
  verb,
  resources,
  outcome,
  count,
  details,
}: UnhashedLine) =>
  JSON.stringify([tenant, seq, at.toISOString(), actor, actedAs, credential, verb, resources, outcome, count, details])

/** Returns the hash of a line: an HMAC with the key if the line is keyed, otherwise a plain SHA-256. */
function hashOf(key: Buffer | null, previous: string, line: UnhashedLine): string {
  const hash = key ? createHmac('sha256', key) : createHash('sha256')
  return hash.update(`${previous}\n${canonical(line)}`).digest('hex')
}

/** Continues the chain after `end`: returns the lines with their sequence numbers and hashes. */
export function chain(
  key: Buffer | null,
  end: ChainEnd,
  lines: readonly Omit<UnhashedLine, 'seq' | 'keyed'>[],
): AuditLineRow[] {
  let { seq, hash } = end
  return lines.map((line) => {
    const unhashed = { ...line, seq: ++seq, keyed: key !== null }
    hash = hashOf(key, hash, unhashed)
    return { ...unhashed, hash }
  })
}

/**
 * The sequence number of the first line that breaks the chain, and the reason. NOT_KEYED: a line without a keyed hash
 * follows a keyed line. KEY_MISSING: the line has a keyed hash, but no key is configured.
 */
export type Break = { seq: number; reason: 'MISSING' | 'CHANGED' | 'NOT_KEYED' | 'KEY_MISSING' }

/**
 * The end of a verified part of the chain. `keyedFrom` is the seq of its first line with a keyed hash; null for none.
 */
export type Verified = ChainEnd & { keyedFrom: number | null }

/**
 * Verifies the lines that follow `from`. Returns the new end of the verified part, or the first line that breaks the
 * chain. All lines after a keyed line must be keyed.
 */
export function verify(key: Buffer | null, from: Verified, lines: readonly AuditLineRow[]): Verified | Break {
  let end = from
  for (const line of lines) {
    if (line.seq !== end.seq + 1) return { seq: end.seq + 1, reason: 'MISSING' }
    if (line.keyed && key === null) return { seq: line.seq, reason: 'KEY_MISSING' }
    if (!line.keyed && end.keyedFrom !== null) return { seq: line.seq, reason: 'NOT_KEYED' }
    const { hash, ...unhashed } = line
    if (hashOf(line.keyed ? key : null, end.hash, unhashed) !== hash) return { seq: line.seq, reason: 'CHANGED' }
    end = { seq: line.seq, hash, keyedFrom: end.keyedFrom ?? (line.keyed ? line.seq : null) }
  }
  return end
}
