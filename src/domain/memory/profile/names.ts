// The names of a user, by which a profile recognises facts whose subject is the user.

import { readNames } from '../../../store/sql/memory/fact/read-active-facts.ts'
import type { Platform } from '../../kernel/platform.ts'
import { membersOf } from '../fact/visibility-set.ts'

/** Returns the user's id, and its display names and their first words in conversations that viewers of the sets see. */
export async function namesOfUser(
  { db }: Pick<Platform, 'db'>,
  tenant: string,
  userId: string,
  visibilities: readonly string[],
): Promise<string[]> {
  const members = visibilities.flatMap((visibility) => membersOf(visibility) ?? [])
  const displayNames = (await readNames(db, tenant, [userId], members)).get(userId) ?? []
  return [userId, ...displayNames.flatMap((each) => [each, each.split(' ')[0]!])]
}
