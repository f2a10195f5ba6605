// Presence within one process. A mark leaves only once: by remove while it lives, by takeExpired after that.

import type { PresenceMark, PresenceStore } from './presence.ts'

type Held = { mark: PresenceMark; state: string; until: number }

/** `now` is in milliseconds; a mark set at 0 for 10 ms is expired at 10. */
export function createMemoryPresence(now: () => number = Date.now): PresenceStore {
  // A room's marks stand in the order they were last set in: the later of an actor's two is the newer.
  const rooms = new Map<string, Map<string, Held>>()

  const keyOf = ({ actor, holder }: PresenceMark) => JSON.stringify([actor, holder])
  const expired = (held: Held) => held.until <= now()

  const forget = (mark: PresenceMark) => {
    const room = rooms.get(mark.room)
    if (room?.delete(keyOf(mark)) && room.size === 0) rooms.delete(mark.room)
  }

  return {
    async set({ room, actor, holder }, state, ttlMs) {
      const mark = { room, actor, holder }
      forget(mark)
      const marks = rooms.get(room) ?? new Map<string, Held>()
      rooms.set(room, marks.set(keyOf(mark), { mark, state, until: now() + ttlMs }))
    },
    async remove(mark) {
      const held = rooms.get(mark.room)?.get(keyOf(mark))
      // An expired one is left to takeExpired, whose caller tells the room.
      if (!held || expired(held)) return false
      forget(mark)
      return true
    },
    async states(names) {
      const stateOf = ({ mark, state }: Held): [string, string] => [mark.actor, state]
      const live = (room: string) => [...(rooms.get(room)?.values() ?? [])].filter((held) => !expired(held))
      return new Map(names.map((room) => [room, new Map(live(room).map(stateOf))]))
    },
    async takeExpired(limit) {
      // A look at every mark: one process holds thousands at most.
      const marks = [...rooms.values()].flatMap((room) => [...room.values()])
      const taken = marks
        .filter(expired)
        .slice(0, limit)
        .map((held) => held.mark)
      taken.forEach(forget)
      return taken
    },
    async close() {
      rooms.clear()
    },
  }
}
