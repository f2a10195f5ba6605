// The principal of a request: the authenticated actor, and the rights of its credential.

import type { ParticipantKind } from '../../../store/generated/enums.ts'

/** The rights of a credential. rights.ts lists the right that each verb needs. */
export const RIGHTS = ['read', 'write', 'act-as', 'manage', 'erase', 'operate'] as const
export type Right = (typeof RIGHTS)[number]

export type Principal = {
  tenant: string
  /** The actor that the credential was issued to. */
  actor: string
  kind: ParticipantKind
  rights: ReadonlySet<Right>
  /** Ids of the conversations to which the credential is limited; null for all conversations of the tenant. */
  conversations: ReadonlySet<string> | null
  /** Name of the credential in the audit log, for example `key:ID`. Never contains the secret. */
  credential: string
  /** Time at which the credential expires; null if it never does. */
  expiresAt: Date | null
}
