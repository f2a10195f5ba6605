// What is known of a user, as text, and who may have it: those who see all the facts that it tells of.

import { readProfiles, type UserProfileRow } from '../../store/sql/profile/read-profiles.ts'
import type { Platform } from '../platform.ts'
import { storable } from '../input.ts'
import type { Viewer } from '../view.ts'

export type UserProfile = UserProfileRow

/** Profiles by user; a user of whom the viewer may have none has no key. */
export async function getProfiles(
  { db }: Pick<Platform, 'db'>,
  viewer: Viewer,
  users: readonly string[],
): Promise<Map<string, UserProfile>> {
  const rows = await readProfiles(
    db,
    viewer,
    users.filter((user) => storable(user) === null),
  )
  return new Map(rows.map((row) => [row.userId, row]))
}
