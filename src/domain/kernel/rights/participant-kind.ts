// Defines which kinds of authors are trusted more than others, and the kinds that a credential permits. An author has the
// kind of its own credential. Another actor can state a kind for it that is at most as trusted as the credential of the
// other actor, unless that credential may act as any actor.

import type { ParticipantKind } from '../../../store/generated/enums.ts'
import type { Principal } from './principal.ts'
import type { Viewer } from '../view.ts'

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
export const kindOfCredential = ({ principal }: Viewer, actor: string): ParticipantKind | null =>
  principal?.actor === actor ? principal.kind : null

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
