// Lists the participants of conversations in pages, ordered by the time at which each last joined.

import {
  countParticipants,
  pageParticipants,
  type ParticipantPosition,
} from '../../../store/sql/conversation/participant/page-participants.ts'
import { authorize, withinReach } from '../../kernel/rights/authorize.ts'
import { cursorFormat } from '../../kernel/cursor.ts'
import { paging, slice, type Page, type Paging } from '../../kernel/page.ts'
import { toParticipant, type Participant } from './participant.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

const CURSOR = cursorFormat<ParticipantPosition>(
  ({ joinedAt, actor }) => `participant:${joinedAt.getTime()}:${actor}`,
  /^participant:(\d{1,15}):(.{1,200})$/su,
  (joinedAt, actor) => ({ joinedAt: new Date(Number(joinedAt)), actor }),
)

/** Returns the cursor of a participant. It changes when the participant joins again. */
export const participantCursor = (participant: ParticipantPosition): string => CURSOR.encode(participant)

/**
 * Returns a page of each conversation's present and former participants; an empty page for a conversation that the
 * viewer does not see. A participant who joins again moves to the end of the list.
 * @throws InvalidInput
 */
export async function pageOfParticipants(
  deps: Pick<Platform, 'pool' | 'limits'>,
  viewer: Viewer,
  conversationIds: readonly string[],
  args: Paging,
): Promise<Map<string, Page<Participant>>> {
  authorize(viewer, 'pageOfParticipants')
  const page = paging(args, deps.limits.pageSize)
  const rows = await pageParticipants(deps.pool, viewer, withinReach(viewer, conversationIds), {
    after: page.after === null ? null : CURSOR.decode(page.after, 'after'),
    before: page.before === null ? null : CURSOR.decode(page.before, 'before'),
    limit: page.size + 1,
    backwards: page.backwards,
  })
  const byConversation = new Map<string, Participant[]>(conversationIds.map((id) => [id, []]))
  for (const row of rows) byConversation.get(row.conversationId)!.push(toParticipant(row))
  return new Map([...byConversation].map(([id, participants]) => [id, slice(participants, page)]))
}

/** Returns the number of present and former participants of each conversation that the viewer sees. */
export async function countOfParticipants(
  { pool }: Pick<Platform, 'pool'>,
  viewer: Viewer,
  conversationIds: readonly string[],
): Promise<Map<string, number>> {
  authorize(viewer, 'countOfParticipants')
  return countParticipants(pool, viewer, withinReach(viewer, conversationIds))
}
