// The port to presence: who is in which conversation right now, forgotten by itself. Nothing here is durable.
// Adapters: memory-presence.ts for one process, redis-presence.ts for many.

/** A holder is one socket or one caller without a socket: an actor with two windows open is held twice. */
export type PresenceMark = { conversationId: string; actor: string; holder: string }

export type PresenceStore = {
  /** Sets or renews a mark for `ttlMs`. A newer mark of the same actor outranks an older one. */
  set(mark: PresenceMark, state: string, ttlMs: number): Promise<void>
  /** Takes the mark away; false if it was not there (never set, expired, or taken by somebody else). */
  remove(mark: PresenceMark): Promise<boolean>
  /** For each conversation, the state each actor set last among its live marks. Actors without one are absent. */
  states(conversationIds: readonly string[]): Promise<Map<string, Map<string, string>>>
  /** Takes away up to `limit` marks that have expired. Each mark is given to one caller only, in whatever process. */
  takeExpired(limit: number): Promise<PresenceMark[]>
  close(): Promise<void>
}
