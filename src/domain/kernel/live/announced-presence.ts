// Announces and reports changes of presence. Used by the verbs of presence, by connections and by writers.

import type { Clock } from '../../../runtime/clock.ts'
import type { PresenceStore } from '../../../bus/presence.ts'
import { Unavailable } from '../../../errors.ts'
import { type PresenceState, announcePresence, type Publisher } from './publisher.ts'

/** Dependencies of changes of presence. */
export type PresenceDeps = Publisher & {
  clock: Clock
  presence: PresenceStore
  /** Milliseconds after which presence expires unless it is renewed. */
  presenceTtlMs: number
  log: { warn(details: object, message: string): void }
}

/** Returns the actor's current state: the newest state of all holders, or OFFLINE if there is none. */
export async function stateOf(
  { presence }: PresenceDeps,
  conversationId: string,
  actor: string,
): Promise<PresenceState> {
  const states = await presence.states([conversationId])
  return (states.get(conversationId)?.get(actor) ?? 'OFFLINE') as PresenceState
}

/** Announces the actor's current state. */
export async function announceState(
  deps: PresenceDeps,
  { conversationId, actor }: { conversationId: string; actor: string },
): Promise<void> {
  announcePresence(deps, conversationId, actor, await stateOf(deps, conversationId, actor))
}

/** Logs the error unless it is Unavailable, which redis-client.ts logs. */
export function reportPresence({ log }: Pick<PresenceDeps, 'log'>, error: unknown, message: string): void {
  if (!(error instanceof Unavailable)) log.warn({ err: error }, message)
}
