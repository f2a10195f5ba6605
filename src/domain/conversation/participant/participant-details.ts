// Reads the fields of participants that other reads omit because they are large or must be counted.

import {
  readParticipantDetails,
  type ParticipantDetails,
  type ParticipantKey,
} from '../../../store/sql/conversation/participant/read-participants.ts'
import { countUnread, participantKey } from '../../../store/sql/turn/count-turns.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import { keysWithinReach } from './participant.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

export type { ParticipantDetails }

const NO_DETAILS: ParticipantDetails = { metadata: {}, agent: null }

/**
 * Returns the metadata and the agent settings of the present or former participant of each key, in order. For an actor
 * who was never a participant, the metadata is empty and the settings are null.
 */
export async function getParticipantDetails(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  keys: readonly ParticipantKey[],
): Promise<ParticipantDetails[]> {
  authorize(viewer, 'getParticipantDetails')
  const byKey = await readParticipantDetails(pool, viewer, keysWithinReach(viewer, keys))
  return keys.map(({ conversationId, actor }) => byKey.get(participantKey(conversationId, actor)) ?? NO_DETAILS)
}

/** Maximum unread count. Further unread turns are not counted. */
export const MAX_UNREAD = 1000
/** Maximum number of participants per statement that counts unread turns, so that no statement runs for long. */
const COUNTED_AT_ONCE = 100

/**
 * Returns the unread count of each participant: the committed turns by other actors, up to MAX_UNREAD, that both the
 * participant and the viewer see.
 */
export async function getUnreadCounts(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  participants: readonly { conversationId: string; actor: string }[],
): Promise<number[]> {
  authorize(viewer, 'getUnreadCounts')
  const counts = new Map<string, number>()
  const counting = keysWithinReach(viewer, participants)
  for (let at = 0; at < counting.length; at += COUNTED_AT_ONCE) {
    const counted = await countUnread(pool, viewer, counting.slice(at, at + COUNTED_AT_ONCE), MAX_UNREAD)
    for (const [key, count] of counted) counts.set(key, count)
  }
  return participants.map((p) => counts.get(participantKey(p.conversationId, p.actor)) ?? 0)
}
