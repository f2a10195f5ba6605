// Presence: whether a participant is online, typing, thinking or away. Presence set over a socket ends when the
// socket closes; presence set over HTTP expires unless it is set again, and ends with the actor's last connection
// (connections.ts). Writing makes an author ONLINE (writers.ts). Presence is never stored in the database.

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { PresenceMark, PresentActor } from '../../bus/presence.ts'
import { every } from '../../runtime/clock.ts'
import type { Platform } from '../kernel/platform.ts'
import { authorize } from '../kernel/rights/authorize.ts'
import { announceState, reportPresence } from '../kernel/live/announced-presence.ts'
import { PRESENCE_STATES, type PresenceState } from '../kernel/live/publisher.ts'
import { id, parse } from '../kernel/input.ts'
import { participantIn, type Participant } from './participant/participant.ts'
import type { Viewer } from '../kernel/view.ts'

const setPresenceInput = z.object({ conversationId: id('conversation'), state: z.enum(PRESENCE_STATES) })
export type SetPresenceInput = z.input<typeof setPresenceInput>

/** One open socket. A mark is the presence of an actor in a conversation that a holder has set; it expires. */
export type PresenceHolder = {
  /** Counts the socket as a connection of the actor until `end` is called. */
  connect(actor: PresentActor): void
  /** Renews the mark until `end` is called. For OFFLINE, stops renewing it. */
  keep(mark: PresenceMark, state: PresenceState): void
  readonly id: string
  /**
   * Ends the connections of the socket, removes all marks of this holder, and announces the resulting states. If this
   * fails, the marks expire.
   */
  end(): Promise<void>
}

/** Holder id that all clients without a socket share, so that each state they set replaces the previous one. */
const HTTP_HOLDER = 'http'

/**
 * Sets the presence of the viewer and returns the participant. OFFLINE removes only the state that this holder set;
 * states set by other holders remain.
 * @param holder null for a client without a socket
 * @throws InvalidInput @throws NotFound @throws NotAllowed if the actor is not in the conversation
 */
export async function setPresence(
  deps: Platform,
  viewer: Viewer,
  input: SetPresenceInput,
  holder: PresenceHolder | null,
): Promise<Participant> {
  authorize(viewer, 'setPresence', input)
  const { conversationId, state } = parse(setPresenceInput, input)
  const participant = await participantIn(deps, viewer, conversationId)
  const { tenant, actor } = viewer
  const mark = { tenant, conversationId, actor, holder: holder?.id ?? HTTP_HOLDER }
  if (state === 'OFFLINE') await deps.presence.remove(mark)
  else await deps.presence.set(mark, state, deps.presenceTtlMs)
  holder?.keep(mark, state)
  await announceState(deps, mark)
  return participant
}

/** Returns the presence of each participant, in order; OFFLINE for all if presence cannot be read. */
export async function getPresence(
  deps: Platform,
  participants: readonly { conversationId: string; actor: string }[],
): Promise<PresenceState[]> {
  const conversationIds = [...new Set(participants.map((p) => p.conversationId))]
  const states = await deps.presence.states(conversationIds).catch((error: unknown) => {
    reportPresence(deps, error, 'could not read presence')
    return new Map<string, Map<string, string>>()
  })
  return participants.map((p) => (states.get(p.conversationId)?.get(p.actor) ?? 'OFFLINE') as PresenceState)
}

/** Creates the holder of one socket, which renews its marks three times per presenceTtlMs. */
export function createPresenceHolder(deps: Platform): PresenceHolder {
  const kept = new Map<string, { mark: PresenceMark; state: PresenceState }>()
  const stopRenewing = every(deps.clock, deps.presenceTtlMs / 3, () => {
    for (const { mark, state } of kept.values()) {
      deps.presence
        .set(mark, state, deps.presenceTtlMs)
        .catch((error: unknown) => reportPresence(deps, error, 'could not renew presence'))
    }
  })
  /** The functions that end the connections of the socket, by actor. */
  const connections = new Map<string, () => void>()
  let hasEnded = false
  return {
    id: randomUUID(),
    connect({ tenant, actor }) {
      const key = JSON.stringify([tenant, actor])
      // A subscription may open after its socket has closed.
      if (!hasEnded && !connections.has(key)) connections.set(key, deps.connections.open({ tenant, actor }))
    },
    keep(mark, state) {
      const key = `${mark.conversationId} ${mark.actor}`
      if (state === 'OFFLINE') kept.delete(key)
      else kept.set(key, { mark, state })
    },
    async end() {
      void stopRenewing()
      hasEnded = true
      for (const disconnect of connections.values()) disconnect()
      connections.clear()
      const marks = [...kept.values()].map(({ mark }) => mark)
      kept.clear()
      try {
        for (const mark of marks) if (await deps.presence.remove(mark)) await announceState(deps, mark)
      } catch (error) {
        reportPresence(deps, error, 'could not remove the presence of a closed socket')
      }
    },
  }
}

/** Maximum number of expired marks that one sweep removes. */
const SWEEP_LIMIT = 500

/**
 * Removes expired marks, announces the current states of their actors, and returns the number of removed marks. Each
 * mark is removed by one process only.
 */
export async function endExpiredPresence(deps: Platform): Promise<number> {
  const expired = await deps.presence.takeExpired(SWEEP_LIMIT)
  for (const mark of expired) await announceState(deps, mark)
  return expired.length
}
