// Who is here right now, and what they are about. Presence set over a socket lasts as long as the socket; any other
// ends after a while unless it is set again. It is never stored with the transcript.

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { PresenceMark } from '../bus/presence.ts'
import type { Platform } from './platform.ts'
import { announcePresence } from './publisher.ts'
import { PRESENCE_STATES, type PresenceState } from './presence-state.ts'
import { id, name, parse } from './input.ts'
import { participantIn, type Participant } from './participant.ts'
import { actAs, type Viewer } from './view.ts'

const setPresenceInput = z.object({
  conversationId: id('conversation'),
  state: z.enum(PRESENCE_STATES),
  as: name.nullish(),
})
export type SetPresenceInput = z.input<typeof setPresenceInput>

/** What keeps presence alive: a socket, for as long as it is open. */
export type PresenceHolder = {
  hold(mark: PresenceMark, state: PresenceState): void
  readonly id: string
  /** Ends all that it holds, and says so. */
  end(): Promise<void>
}

/** All callers without a socket of their own are one holder: the last one speaks. */
const NOBODY = 'http'

/**
 * The participant, with that presence. OFFLINE ends what this holder set; others may still hold the actor.
 * @throws InvalidInput @throws NotFound @throws NotAllowed for somebody who is not in the conversation
 */
export async function setPresence(
  deps: Platform,
  viewer: Viewer,
  input: SetPresenceInput,
  holder: PresenceHolder | null,
): Promise<Participant> {
  const { conversationId, state, as } = parse(setPresenceInput, input)
  const actor = actAs(viewer, as)
  const participant = await participantIn(deps, actor, conversationId)
  const mark = { conversationId, actor: actor.actor, holder: holder?.id ?? NOBODY }
  if (state === 'OFFLINE') await deps.presence.remove(mark)
  else await deps.presence.set(mark, state, deps.presenceTtlMs)
  holder?.hold(mark, state)
  await announce(deps, mark)
  return participant
}

/** What is true of the actor now, from whoever holds it. */
async function announce(deps: Platform, { conversationId, actor }: PresenceMark): Promise<void> {
  const states = await deps.presence.states([conversationId])
  announcePresence(deps, conversationId, actor, (states.get(conversationId)?.get(actor) ?? 'OFFLINE') as PresenceState)
}

/** The presence of each participant, in their order. While the broker is away everybody is OFFLINE. */
export async function getPresence(
  deps: Platform,
  participants: readonly { conversationId: string; actor: string }[],
): Promise<PresenceState[]> {
  const conversationIds = [...new Set(participants.map((p) => p.conversationId))]
  const states = await deps.presence.states(conversationIds).catch((error) => {
    deps.log.warn({ err: error }, 'presence cannot be read')
    return new Map<string, Map<string, string>>()
  })
  return participants.map((p) => (states.get(p.conversationId)?.get(p.actor) ?? 'OFFLINE') as PresenceState)
}

/** A holder for one socket. It renews what it holds three times in each lifetime. */
export function createPresenceHolder(deps: Platform): PresenceHolder {
  const held = new Map<string, { mark: PresenceMark; state: PresenceState }>()
  const renew = setInterval(() => {
    for (const { mark, state } of held.values()) {
      deps.presence.set(mark, state, deps.presenceTtlMs).catch((error) => {
        deps.log.warn({ err: error }, 'presence cannot be renewed')
      })
    }
  }, deps.presenceTtlMs / 3)
  renew.unref()
  return {
    id: randomUUID(),
    hold(mark, state) {
      const key = `${mark.conversationId} ${mark.actor}`
      if (state === 'OFFLINE') held.delete(key)
      else held.set(key, { mark, state })
    },
    async end() {
      clearInterval(renew)
      const marks = [...held.values()].map(({ mark }) => mark)
      held.clear()
      for (const mark of marks) if (await deps.presence.remove(mark)) await announce(deps, mark)
    },
  }
}

/** Presence ended by one sweep at most. */
const SWEEP = 500

/** Says OFFLINE for those whose presence nobody renewed; how many. One process does it for each. */
export async function endExpiredPresence(deps: Platform): Promise<number> {
  const expired = await deps.presence.takeExpired(SWEEP)
  for (const mark of expired) await announce(deps, mark)
  return expired.length
}
