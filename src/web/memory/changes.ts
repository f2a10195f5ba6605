// Which lists of the memory must be read again.

import { useMemo, useSyncExternalStore } from 'react'
import type { ConversationEventType, ConversationHandle } from '../../client/index.ts'

/**
 * Returns a number that changes after each event of these types; null until events arrive, so that a list that is read
 * afterwards misses no change.
 */
export function useChanges(conversation: ConversationHandle, types: readonly ConversationEventType[]): number | null {
  const key = types.join(' ')
  const live = useMemo(() => {
    let count = 0
    return conversation.watch(async () => ++count, types)
  }, [conversation, key])
  const { value, status } = useSyncExternalStore(live.subscribe, live.get)
  // Without a connection, the list is read all the same, and says what fails.
  return value ?? (status === 'loading' ? null : 0)
}
