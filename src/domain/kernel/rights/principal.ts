// The principal of a request: the authenticated actor, and the rights of its credential. Defines which kinds of authors
// are trusted more than others, and the kinds that a credential permits: an author has the kind of its own credential, and
// another actor can state a kind for it that is at most as trusted as the credential of the other actor, unless that
// credential may act as any actor.

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

/**
 * Trust by kind of author. A higher value is more trusted. Tools are trusted least, because they may return text by
 * anyone; an agent may repeat that text.
 */
export const TRUST: Readonly<Record<ParticipantKind, number>> = { TOOL: 0, AGENT: 1, HUMAN: 2 }

/** Returns the participant kind that a turn's role implies. Null for USER and SYSTEM, which imply no kind. */
export const kindOfRole = (role: 'SYSTEM' | 'USER' | 'ASSISTANT' | 'TOOL'): ParticipantKind | null =>
  role === 'ASSISTANT' ? 'AGENT' : role === 'TOOL' ? 'TOOL' : null

/** Returns the less trusted of two kinds. If one is null, returns the other. */
export const lessTrusted = <A extends ParticipantKind | null, B extends ParticipantKind | null>(a: A, b: B): A | B =>
  a === null || b === null ? (a ?? b) : TRUST[a] < TRUST[b] ? a : b

/**
 * Returns the kind of the credential if it is the actor's own. Null if another actor's credential is used to act as the
 * actor, and for a viewer without a principal.
 */
export const kindOfCredential = (
  { principal }: { readonly principal?: Principal },
  actor: string,
): ParticipantKind | null => (principal?.actor === actor ? principal.kind : null)

/** Whether the kind is more trusted than the kind of the credential, which is another actor's. */
export const isForeignKind = (
  principal: Principal | undefined,
  actor: string,
  kind: ParticipantKind | null | undefined,
): boolean =>
  principal !== undefined && principal.actor !== actor && kind != null && TRUST[kind] > TRUST[principal.kind]

/** Whether the actor is the credential's own, but the given kind is not the credential's kind. */
export const isOtherKind = (
  principal: Principal | undefined,
  actor: string,
  kind: ParticipantKind | null | undefined,
): boolean => principal?.actor === actor && kind != null && kind !== principal.kind
