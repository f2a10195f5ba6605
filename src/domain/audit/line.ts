// A line of the audit log: who did or was refused what, and when. It contains ids, numbers and hashes, never content.

import type { AuditOutcome } from '../../store/generated/enums.ts'
import type { Viewer } from '../view.ts'

/** Maximum number of ids in one line; an operation on more objects says how many in `details`. */
export const MAX_RESOURCES = 20

/** Numbers, hashes and names of settings; never content. */
export type AuditDetails = Readonly<Record<string, number | string | boolean>>

/** What is recorded; the log adds the number, the time and the hash. */
export type AuditRecord = {
  tenant: string
  /** The actor that the credential was issued to; without authentication, the viewer's actor. */
  actor: string
  /** The actor that it acted as; null for itself. */
  actedAs: string | null
  /** Identifies the credential, for example `key:ID`; null without authentication. */
  credential: string | null
  /** Name of the domain function or operation, for example `deleteConversation`. */
  verb: string
  /** Ids of the objects concerned, at most MAX_RESOURCES. */
  resources: readonly string[]
  outcome: AuditOutcome
  details: AuditDetails | null
}

/** Returns the record of an operation of the viewer. */
export function auditRecord(
  viewer: Viewer,
  verb: string,
  resources: readonly string[],
  { outcome = 'DONE', details = null }: Partial<Pick<AuditRecord, 'outcome' | 'details'>> = {},
): AuditRecord {
  const actor = viewer.principal?.actor ?? viewer.actor
  return {
    tenant: viewer.tenant,
    actor,
    actedAs: viewer.actor === actor ? null : viewer.actor,
    credential: viewer.principal?.credential ?? null,
    verb,
    resources: resources.slice(0, MAX_RESOURCES),
    outcome,
    details: resources.length > MAX_RESOURCES ? { ...details, resources: resources.length } : details,
  }
}
