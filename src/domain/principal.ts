// The principal of a request: who authenticated, and what the credential permits.

import type { ParticipantKind } from '../store/generated/enums.ts'

/** What a credential can permit; authorize.ts says which right each verb needs. */
export const RIGHTS = ['read', 'write', 'act-as', 'manage', 'erase', 'operate'] as const
export type Right = (typeof RIGHTS)[number]

export type Principal = {
  tenant: string
  /** The actor that the credential was issued to. */
  actor: string
  kind: ParticipantKind
  rights: ReadonlySet<Right>
  /** Ids of the only conversations that the credential gives access to; null for all of the tenant. */
  conversations: ReadonlySet<string> | null
  /** Identifies the credential in the audit log, for example `key:ID`. Never the secret itself. */
  credential: string
  /** Time at which the credential expires; null if it never does. */
  expiresAt: Date | null
}
