// Presence within one process. remove() removes a mark that has not expired, takeExpired() removes expired marks, and
// removeActor() removes both. Each mark is removed once.

import type { PresenceMark, PresenceStore } from './presence.ts'

type StoredMark = { mark: PresenceMark; state: string; expiresAt: number }

/** @param now current time in milliseconds; a mark set at 0 for 10 ms is expired at 10 */
export function createMemoryPresence(now: () => number = Date.now): PresenceStore {
  // Marks by conversation, in the order in which they were last set, so that an actor's last mark decides its state.
  const conversations = new Map<string, Map<string, StoredMark>>()

  const keyOf = ({ actor, holder }: PresenceMark) => JSON.stringify([actor, holder])
  const isExpired = (stored: StoredMark) => stored.expiresAt <= now()

  const deleteMark = (mark: PresenceMark) => {
    const conversation = conversations.get(mark.conversationId)
    if (conversation?.delete(keyOf(mark)) && conversation.size === 0) conversations.delete(mark.conversationId)
  }

  return {
    async set({ conversationId, actor, holder }, state, ttlMs) {
      const mark = { conversationId, actor, holder }
      deleteMark(mark)
      const marks = conversations.get(conversationId) ?? new Map<string, StoredMark>()
      conversations.set(conversationId, marks.set(keyOf(mark), { mark, state, expiresAt: now() + ttlMs }))
    },
    async remove(mark) {
      const stored = conversations.get(mark.conversationId)?.get(keyOf(mark))
      // Leaves an expired mark to takeExpired(), whose caller notifies the conversation's subscribers.
      if (!stored || isExpired(stored)) return false
      deleteMark(mark)
      return true
    },
    async removeActor(conversationId, actor) {
      const marks = [...(conversations.get(conversationId)?.values() ?? [])].map(({ mark }) => mark)
      const removed = marks.filter((mark) => mark.actor === actor)
      removed.forEach(deleteMark)
      return removed.length > 0
    },
    async states(conversationIds) {
      const stateOf = ({ mark, state }: StoredMark): [string, string] => [mark.actor, state]
      const unexpired = (id: string) =>
        [...(conversations.get(id)?.values() ?? [])].filter((stored) => !isExpired(stored))
      return new Map(conversationIds.map((id) => [id, new Map(unexpired(id).map(stateOf))]))
    },
    async takeExpired(limit) {
      // Reads every mark, because one process usually has at most a few thousand.
      const marks = [...conversations.values()].flatMap((conversation) => [...conversation.values()])
      const taken = marks
        .filter(isExpired)
        .slice(0, limit)
        .map(({ mark }) => mark)
      taken.forEach(deleteMark)
      return taken
    },
    async close() {
      conversations.clear()
    },
  }
}
