// The port for presence: the current state of actors in conversations, and the connections of actors. A mark records a
// state; it expires, and is not durable.
// Adapters: memory-presence.ts for one process, redis-presence.ts for several.

/** An actor of a tenant. */
export type PresentActor = { tenant: string; actor: string }

/**
 * Identifies the presence of an actor through one holder. Each socket is a holder; requests without a socket share one
 * holder. An actor with two sockets has two marks. The id of a conversation belongs to one tenant.
 */
export type PresenceMark = PresentActor & { conversationId: string; holder: string }

/** The holder of the marks that are set because an actor writes. They never hide a mark of another holder. */
export const WRITER_HOLDER = 'writer'

export type PresenceStore = {
  /**
   * Sets or renews a mark for `ttlMs` milliseconds. The last mark set for an actor decides the actor's state; a mark of
   * WRITER_HOLDER decides it only if the actor has no other mark.
   */
  set(mark: PresenceMark, state: string, ttlMs: number): Promise<void>
  /** Removes the mark; false if there is none or it has expired. */
  remove(mark: PresenceMark): Promise<boolean>
  /** Removes all marks of the actor in the conversation; false if there is none. */
  removeActor(conversationId: string, actor: PresentActor): Promise<boolean>
  /** For each conversation, the states of its actors. Actors without an unexpired mark are omitted. */
  states(conversationIds: readonly string[]): Promise<Map<string, Map<string, string>>>
  /** Removes and returns up to `limit` expired marks. Each mark is returned to one caller only, across processes. */
  takeExpired(limit: number): Promise<PresenceMark[]>
  /** Records or renews for `ttlMs` milliseconds that the process has open connections of the actor. */
  connect(actor: PresentActor, process: string, ttlMs: number): Promise<void>
  /**
   * Records that the process has no open connection of the actor any more. If no other process has one, removes all
   * marks of the actor, and returns the ids of their conversations.
   */
  disconnect(actor: PresentActor, process: string): Promise<string[]>
  close(): Promise<void>
}
