// The port to presence: which actors are in which conversation right now. Marks expire; nothing here is durable.
// Adapters: memory-presence.ts for one process, redis-presence.ts for many.

/** A holder is one socket, or all callers without one: an actor with two open windows has two marks. */
export type PresenceMark = { conversationId: string; actor: string; holder: string }

export type PresenceStore = {
  /** Sets or renews a mark for `ttlMs`. The newest mark of an actor decides its state. */
  set(mark: PresenceMark, state: string, ttlMs: number): Promise<void>
  /** Removes the mark; false if there was none (never set, expired, or already taken). */
  remove(mark: PresenceMark): Promise<boolean>
  /** For each conversation, each actor's newest state among its live marks. Actors without one are absent. */
  states(conversationIds: readonly string[]): Promise<Map<string, Map<string, string>>>
  /** Removes and returns up to `limit` expired marks. Each mark is returned to one caller only, across processes. */
  takeExpired(limit: number): Promise<PresenceMark[]>
  close(): Promise<void>
}
