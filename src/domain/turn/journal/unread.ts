// Reads the conversations with unread turns that an inbox delivers when it opens. Pages are read as they are consumed,
// so that a slow client uses no memory for them.

import {
  readUnreadConversations,
  type UnreadConversation,
} from '../../../store/sql/conversation/participant/read-unread-conversations.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { Viewer } from '../../kernel/view.ts'

/** Maximum number of conversations with unread turns that an inbox delivers when it opens. */
export const MAX_UNREAD_CONVERSATIONS = 1_000
/** Maximum number of conversations per read. */
const PAGE = 100

/** Yields the viewer's conversations with unread turns, the most recently active first. */
export async function* unreadConversations(
  { gates, reads }: Pick<Platform, 'gates' | 'reads'>,
  viewer: Viewer,
): AsyncGenerator<UnreadConversation, void> {
  let last: UnreadConversation | null = null
  for (let count = 0; count < MAX_UNREAD_CONVERSATIONS; count += PAGE) {
    const page: UnreadConversation[] = await gates.reads.run(viewer.tenant, () =>
      readUnreadConversations(reads.pool, viewer, last, PAGE),
    )
    yield* page
    if (page.length < PAGE) return
    last = page.at(-1)!
  }
}
