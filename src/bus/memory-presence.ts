// Presence within one process. A mark is removed exactly once: by remove before it expires, by takeExpired after.

import type { PresenceMark, PresenceStore } from './presence.ts'

type Held = { mark: PresenceMark; state: string; until: number }

/** `now` is in milliseconds; a mark set at 0 for 10 ms is expired at 10. */
export function createMemoryPresence(now: () => number = Date.now): PresenceStore {
  // Marks of a conversation, in the order in which they were last set: the last mark of an actor is its newest.
  const conversations = new Map<string, Map<string, Held>>()

  const keyOf = ({ actor, holder }: PresenceMark) => JSON.stringify([actor, holder])
  const expired = (held: Held) => held.until <= now()

  const forget = (mark: PresenceMark) => {
    const conversation = conversations.get(mark.conversationId)
    if (conversation?.delete(keyOf(mark)) && conversation.size === 0) conversations.delete(mark.conversationId)
  }

  return {
    async set({ conversationId: conversation, actor, holder }, state, ttlMs) {
      const mark = { conversationId: conversation, actor, holder }
      forget(mark)
      const marks = conversations.get(conversation) ?? new Map<string, Held>()
      conversations.set(conversation, marks.set(keyOf(mark), { mark, state, until: now() + ttlMs }))
    },
    async remove(mark) {
      const held = conversations.get(mark.conversationId)?.get(keyOf(mark))
      // takeExpired removes expired marks: its caller notifies the conversation.
      if (!held || expired(held)) return false
      forget(mark)
      return true
    },
    async states(names) {
      const stateOf = ({ mark, state }: Held): [string, string] => [mark.actor, state]
      const live = (conversation: string) =>
        [...(conversations.get(conversation)?.values() ?? [])].filter((held) => !expired(held))
      return new Map(names.map((conversation) => [conversation, new Map(live(conversation).map(stateOf))]))
    },
    async takeExpired(limit) {
      // Scans every mark: one process has thousands at most.
      const marks = [...conversations.values()].flatMap((conversation) => [...conversation.values()])
      const taken = marks
        .filter(expired)
        .slice(0, limit)
        .map((held) => held.mark)
      taken.forEach(forget)
      return taken
    },
    async close() {
      conversations.clear()
    },
  }
}
