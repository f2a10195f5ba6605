// Reads user profiles. A viewer may read a profile only if the viewer sees all facts that it was made from.

import { readProfiles, type UserProfileRow } from '../../store/sql/profile/read-profiles.ts'
import { authorize, requirePermits } from '../authorize.ts'
import type { Platform } from '../platform.ts'
import { requireStrings, storable } from '../input.ts'
import type { Viewer } from '../view.ts'

export type UserProfile = UserProfileRow

/** Returns the profiles that the viewer may read, by user id. Omits users without such a profile. @throws NotAllowed */
export async function getProfiles(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  users: readonly string[],
): Promise<Map<string, UserProfile>> {
  authorize(viewer, 'getProfiles')
  requireStrings(users, 'users')
  await requirePermits(
    db.of(viewer.tenant),
    viewer,
    'getProfiles',
    null,
    users.some((user) => user !== viewer.actor) ? ['otherUser'] : [],
  )
  const rows = await readProfiles(
    db,
    viewer,
    users.filter((user) => storable(user) === null),
  )
  return new Map(rows.map((row) => [row.userId, row]))
}
