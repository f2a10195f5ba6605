// Profiles as the product speaks of them: what is known of a user, as text. One is for those alone who see every fact
// that it was made of, superseded since or not; for everybody else there is none.

import { readProfiles, type ProfileRow } from '../../store/sql/read-profiles.ts'
import type { Ground } from '../deps.ts'
import type { Viewer } from '../view.ts'

/** `content` was made of what people, agents and tools said: data, not instructions. `tokenCount` is of it alone. */
export type UserProfile = ProfileRow

/** Those of the users' profiles that the viewer may have, by user. */
export async function getProfiles(
  { pool }: Pick<Ground, 'pool'>, viewer: Viewer, userIds: readonly string[],
): Promise<Map<string, UserProfile>> {
  const profiles = userIds.length > 0 ? await readProfiles(pool, viewer, userIds) : []
  return new Map(profiles.map((profile) => [profile.userId, profile]))
}
