// Creates records for the audit log. A record contains an operation, its outcome, the actor, and the ids of the objects
// concerned. Records contain ids, numbers and names, never content.

import type { AuditOutcome } from '../../../store/generated/enums.ts'
import type { Viewer } from '../view.ts'

/** Maximum number of object ids in one line. If an operation concerns more objects, `details.resources` counts them. */
export const MAX_RESOURCES = 20

/** Numbers, hashes and names of settings; never content. */
export type AuditDetails = Readonly<Record<string, number | string | boolean>>

/** A line without the sequence number, the time, the count and the hash, which the audit log adds. */
export type AuditRecord = {
  tenant: string
  /** The actor that the credential was issued to; without authentication, the viewer's actor. */
  actor: string
  /** The actor as which the credential acted; null if it acted as its own actor. */
  actedAs: string | null
  /** Identifies the credential, for example `key:ID`; null without authentication. */
  credential: string | null
  /** Name of the verb or operation, for example `deleteConversation`. */
  verb: string
  /** Ids of the objects concerned, at most MAX_RESOURCES. */
  resources: readonly string[]
  outcome: AuditOutcome
  details: AuditDetails | null
}

/** Returns the record of an operation by the viewer. */
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
