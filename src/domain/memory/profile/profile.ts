// Reads user profiles. A profile is stored for each visibility set of facts about the user; a viewer gets the combination
// of those whose facts the viewer sees.

import { readProfiles, type ProfileOfSet } from '../../../store/sql/memory/profile/read-profiles.ts'
import { authorize, requirePermits } from '../../kernel/rights/authorize.ts'
import { requireStrings, storable } from '../../kernel/input.ts'
import type { Viewer } from '../../kernel/view.ts'
import { combine, type CombineDeps } from './combine.ts'

/** Maximum number of visibility sets whose profiles are combined, the most recently changed first. */
export const MAX_SETS = 20

export type UserProfile = {
  userId: string
  content: string
  tokenCount: number
  /** Ids of the facts from which the combined profiles were made. */
  madeOf: string[]
  /** Time at which the newest of the combined profiles last changed. */
  updatedAt: Date
}

/**
 * Returns the profiles of the users, by user id, made from facts that the viewer sees and, if given, the reader sees,
 * too. Omits users without such a profile. @throws NotAllowed
 */
export async function getProfiles(
  deps: CombineDeps,
  viewer: Viewer,
  users: readonly string[],
  reader: Viewer = viewer,
): Promise<Map<string, UserProfile>> {
  authorize(viewer, 'getProfiles')
  authorize(reader, 'getProfiles')
  requireStrings(users, 'users')
  for (const each of reader === viewer ? [viewer] : [viewer, reader]) {
    const conditions = users.some((user) => user !== each.actor) ? ['otherUser' as const] : []
    await requirePermits(deps.db.of(each.tenant), each, 'getProfiles', { conversationId: null, conditions })
  }
  const known = [...new Set(users.filter((user) => storable(user) === null))]
  const profilesOf = new Map<string, ProfileOfSet[]>()
  for (const profile of await readProfiles(deps.db, [viewer, reader], known, MAX_SETS)) {
    profilesOf.set(profile.userId, [...(profilesOf.get(profile.userId) ?? []), profile])
  }
  const combined = new Map<string, UserProfile>()
  for (const [userId, profiles] of profilesOf) combined.set(userId, await combine(deps, viewer.tenant, profiles))
  return combined
}
