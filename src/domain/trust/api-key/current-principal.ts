// Determines what a principal that authenticated earlier permits now: its API key may have been revoked since.

import type { Tx } from '../../../store/db/db.ts'
import { pageApiKeys } from '../../../store/sql/trust/api-key/page-api-keys.ts'
import type { Principal } from '../../kernel/rights/principal.ts'
import { keyIdOf, principalOf, type TokenProblem } from './token.ts'

/**
 * Returns the rights and limits that both the principal and its API key have at present, or the reason that the key
 * authenticates none. A principal without an API key, for example of a JSON Web Token, can only expire. The expiry is
 * that of the secret with which the principal authenticated, or an earlier one of the key.
 * @param now in ms since 1970
 */
export async function currentPrincipal(db: Tx, principal: Principal, now: number): Promise<Principal | TokenProblem> {
  const keyId = keyIdOf(principal.credential)
  if (keyId !== null) {
    const one = { id: keyId, after: null, before: null, limit: 1, backwards: false }
    const [key] = await pageApiKeys(db, principal.tenant, one)
    const current = principalOf(key, now)
    if (typeof current === 'string') return current
    const { rights, conversations } = current
    if (isExpired(principal, now)) return 'EXPIRED'
    return {
      ...principal,
      rights: new Set([...principal.rights].filter((right) => rights.has(right))),
      conversations: intersection(principal.conversations, conversations),
    }
  }
  return isExpired(principal, now) ? 'EXPIRED' : principal
}

const isExpired = ({ expiresAt }: Principal, now: number) => expiresAt !== null && expiresAt.getTime() <= now

/** Returns the ids in both sets; null, in an argument and in the result, for all. */
function intersection(one: ReadonlySet<string> | null, other: ReadonlySet<string> | null): ReadonlySet<string> | null {
  if (one === null || other === null) return one ?? other
  return new Set([...one].filter((id) => other.has(id)))
}
