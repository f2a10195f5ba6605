// Presence within one process. remove() removes a mark that has not expired, takeExpired() removes expired marks, and
// removeActor() and disconnect() remove both. Each mark is removed once.

import type { Clock } from '../runtime/clock.ts'
import { WRITER_HOLDER, type PresenceMark, type PresenceStore, type PresentActor } from './presence.ts'

type StoredMark = { mark: PresenceMark; state: string; expiresAt: number }

/** A mark that is set at 0 for 10 ms is expired at 10. */
export function createMemoryPresence({ Date }: Pick<Clock, 'Date'>): PresenceStore {
  // Marks by conversation, in the order in which they were last set, so that an actor's last mark decides its state.
  const conversations = new Map<string, Map<string, StoredMark>>()
  /** The ids of conversations with marks of an actor, by actor. */
  const conversationsOf = new Map<string, Set<string>>()
  /** The end of each process's last renewal, by actor and process. */
  const connections = new Map<string, Map<string, number>>()

  const keyOf = ({ actor, holder }: PresenceMark) => JSON.stringify([actor, holder])
  const actorKey = ({ tenant, actor }: PresentActor) => JSON.stringify([tenant, actor])
  const isExpired = (stored: StoredMark) => stored.expiresAt <= Date.now()
  const marksIn = (conversationId: string) => [...(conversations.get(conversationId)?.values() ?? [])]

  const deleteMark = (mark: PresenceMark) => {
    const { conversationId, actor } = mark
    const conversation = conversations.get(conversationId)
    if (!conversation?.delete(keyOf(mark))) return
    if (conversation.size === 0) conversations.delete(conversationId)
    if (marksIn(conversationId).some(({ mark: other }) => other.actor === actor)) return
    const ids = conversationsOf.get(actorKey(mark))
    ids?.delete(conversationId)
    if (ids?.size === 0) conversationsOf.delete(actorKey(mark))
  }
  const deleteActor = (conversationId: string, actor: string) => {
    const removed = marksIn(conversationId).filter(({ mark }) => mark.actor === actor)
    for (const { mark } of removed) deleteMark(mark)
    return removed.length > 0
  }

  return {
    async set({ tenant, conversationId, actor, holder }, state, ttlMs) {
      const mark = { tenant, conversationId, actor, holder }
      deleteMark(mark)
      const marks = conversations.get(conversationId) ?? new Map<string, StoredMark>()
      conversations.set(conversationId, marks.set(keyOf(mark), { mark, state, expiresAt: Date.now() + ttlMs }))
      const ids = conversationsOf.get(actorKey(mark)) ?? new Set()
      conversationsOf.set(actorKey(mark), ids.add(conversationId))
    },
    async remove(mark) {
      const stored = conversations.get(mark.conversationId)?.get(keyOf(mark))
      // Leaves an expired mark to takeExpired(), whose caller notifies the conversation's subscribers.
      if (!stored || isExpired(stored)) return false
      deleteMark(mark)
      return true
    },
    removeActor: async (conversationId, { actor }) => deleteActor(conversationId, actor),
    async states(conversationIds) {
      const isWriter = ({ mark }: StoredMark) => mark.holder === WRITER_HOLDER
      const statesOf = (id: string) => {
        const marks = marksIn(id).filter((stored) => !isExpired(stored))
        // Of an actor's marks, the last one of the list decides.
        const ordered = [...marks.filter(isWriter), ...marks.filter((each) => !isWriter(each))]
        return new Map(ordered.map(({ mark, state }) => [mark.actor, state]))
      }
      return new Map(conversationIds.map((id) => [id, statesOf(id)]))
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
    async connect(actor, process, ttlMs) {
      const processes = connections.get(actorKey(actor)) ?? new Map<string, number>()
      connections.set(actorKey(actor), processes.set(process, Date.now() + ttlMs))
    },
    async disconnect(actor, process) {
      const processes = connections.get(actorKey(actor))
      processes?.delete(process)
      if ([...(processes?.values() ?? [])].some((expiresAt) => expiresAt > Date.now())) return []
      connections.delete(actorKey(actor))
      return [...(conversationsOf.get(actorKey(actor)) ?? [])].filter((id) => deleteActor(id, actor.actor))
    },
    async close() {
      for (const each of [conversations, conversationsOf, connections]) each.clear()
    },
  }
}
