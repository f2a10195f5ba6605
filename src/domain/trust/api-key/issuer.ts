// Decides whether a credential may issue, rotate or revoke an API key: only a key that permits no more than the
// credential itself does. authorize refuses all three to a credential that is limited to some conversations. Pure.

import { NotAllowed } from '../../../errors.ts'
import type { ParticipantKind } from '../../../store/generated/enums.ts'
import { TRUST, RIGHTS } from '../../kernel/rights/principal.ts'
import type { Verb } from '../../kernel/rights/rights.ts'
import type { Viewer } from '../../kernel/view.ts'

/** The fields of a key that determine what it permits. */
type Permitted = { actor: string; kind: ParticipantKind; rights: readonly string[]; expiresAt: Date | null }

/**
 * Checks that the viewer's credential has every right of the key, the right `act-as` for a key of another actor, and a
 * kind that is trusted as much as the key's. A viewer without a principal has no limits.
 * @throws NotAllowed with the first missing right, or without a right for the kind
 */
export function requireHeld({ principal }: Viewer, verb: Verb, { actor, kind, rights }: Omit<Permitted, 'expiresAt'>) {
  if (!principal) return
  const refuse = (reason: string, right: string | null = null) =>
    new NotAllowed(
      `A credential cannot create, rotate or revoke a key that permits more than it does itself: ${reason}`,
      right,
      verb,
    )
  const needed = RIGHTS.filter((right) => rights.includes(right) || (right === 'act-as' && actor !== principal.actor))
  const missing = needed.find((right) => !principal.rights.has(right))
  if (missing !== undefined) throw refuse(`this one lacks the right \`${missing}\`.`, missing)
  if (TRUST[kind] > TRUST[principal.kind]) {
    throw refuse(`its kind is ${principal.kind}, and that of the key is ${kind}.`)
  }
}

/**
 * Checks that the viewer may issue a secret of the key. Revoking needs only `requireHeld`, because it extends no access.
 * @throws NotAllowed as `requireHeld` does, and if the key expires later than the viewer's credential
 */
export function requireIssuable(viewer: Viewer, verb: 'createApiKey' | 'rotateApiKey', key: Permitted): void {
  requireHeld(viewer, verb, key)
  const limit = viewer.principal?.expiresAt ?? null
  if (limit === null || (key.expiresAt !== null && key.expiresAt <= limit)) return
  const next =
    verb === 'createApiKey'
      ? `pass an \`expiresAt\` of at most ${limit.toISOString()}, or use a credential that expires later.`
      : `this one expires at ${limit.toISOString()}. Use a credential that expires later.`
  throw new NotAllowed(`A credential cannot issue a key that expires later than itself: ${next}`, null, verb)
}
