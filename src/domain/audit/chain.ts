// The hash chain of the audit log: each line's hash covers the previous line's hash and all values of the line, so that
// verification finds removed, changed and reordered lines. Pure.

import { createHash, createHmac } from 'node:crypto'
import type { AuditLineRow } from '../../store/sql/audit/audit-lines.ts'

/** The number and the hash of the newest line of a chain; 0 and '' for an empty chain. */
export type ChainEnd = { seq: number; hash: string }

/** The values of a line, without its hash. */
export type UnhashedLine = Omit<AuditLineRow, 'hash'>

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

/** Returns the lines with the numbers and hashes that they have after `end`. */
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

/** The first line that breaks the chain, and why. */
export type Break = { seq: number; reason: 'MISSING' | 'CHANGED' | 'NOT_KEYED' | 'KEY_MISSING' }

/** The end of a verified part of the chain. `keyedFrom` is the number of its first line with a keyed hash, or null. */
export type Verified = ChainEnd & { keyedFrom: number | null }

/**
 * Verifies the lines, which follow `from`. Returns the new end of the verified part, or the first line that breaks the
 * chain. After a keyed line, all later lines must be keyed.
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
