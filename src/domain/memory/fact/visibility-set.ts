// Computes the keys of visibility sets. Facts are deduplicated, merged and contradicted only within one set. The key of
// a set consists of the conversation's id if the conversation's visibility is MEMBERS, and a hash of the audience, so
// that facts with different viewers are never combined. Pure.

import { createHash } from 'node:crypto'

/**
 * Returns the key of the visibility set. The key is empty for facts that every actor of the tenant may see.
 * @param members id of the MEMBERS conversation in which the fact is asserted; null for an OPEN or no conversation
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

/** Returns the id of the MEMBERS conversation in the key of a visibility set; null if the key contains none. */
export const membersOf = (visibility: string): string | null => /^conv_\w+/.exec(visibility)?.[0] ?? null
