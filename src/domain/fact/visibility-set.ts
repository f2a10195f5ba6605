// Visibility sets: facts are deduplicated, merged and contradicted only within one. Its key contains the audience, and the
// conversation if that is MEMBERS, so that no fact of such a conversation meets one that others see. Pure.

import { createHash } from 'node:crypto'

/**
 * Returns the key of the visibility set: empty for facts that every actor of the tenant may see.
 * @param members the MEMBERS conversation in which the fact is asserted; null for an OPEN one, or for none
 */
export function visibilityOf(audience: readonly string[] | null, members: string | null): string {
  const hash =
    audience === null
      ? null
      : createHash('sha256')
          .update(JSON.stringify([...new Set(audience)].sort()))
          .digest('hex')
  return [members, hash].filter((part) => part !== null).join(' ')
}

/** Returns the MEMBERS conversation in the key of a visibility set; null for none. */
export const membersOf = (visibility: string): string | null => /^conv_\w+/.exec(visibility)?.[0] ?? null
