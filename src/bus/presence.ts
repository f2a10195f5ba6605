// The port for presence: the current state of actors in conversations. A mark records a state; it expires, and is not
// durable.
// Adapters: memory-presence.ts for one process, redis-presence.ts for several.

/**
 * Identifies the presence of an actor through one holder. Each socket is a holder; requests without a socket share one
 * holder. An actor with two sockets has two marks.
 */
export type PresenceMark = { conversationId: string; actor: string; holder: string }

export type PresenceStore = {
  /** Sets or renews a mark for `ttlMs` milliseconds. The last mark set for an actor decides the actor's state. */
  set(mark: PresenceMark, state: string, ttlMs: number): Promise<void>
  /** Removes the mark; false if there is none or it has expired. */
  remove(mark: PresenceMark): Promise<boolean>
  /** Removes all marks of the actor in the conversation; false if there is none. */
  removeActor(conversationId: string, actor: string): Promise<boolean>
  /** For each conversation, the states of its actors. Actors without an unexpired mark are omitted. */
  states(conversationIds: readonly string[]): Promise<Map<string, Map<string, string>>>
  /** Removes and returns up to `limit` expired marks. Each mark is returned to one caller only, across processes. */
  takeExpired(limit: number): Promise<PresenceMark[]>
  close(): Promise<void>
}
