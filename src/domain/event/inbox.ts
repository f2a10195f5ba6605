// The inbox: which conversations of an actor's list have changed, and why. One subscription for all conversations, live
// only. One listener per tenant and process; what comes in within 20 ms is looked up in one statement for all inboxes.

import { z } from 'zod'
import { readParticipations } from '../../store/sql/participant/read-participations.ts'
import type { Platform } from '../platform.ts'
import { name, parse } from '../input.ts'
import { createPushIterator } from '../push-iterator.ts'
import { actAs, isOpenAt, sees, type Viewer } from '../view.ts'
import { tenantTopic, type TenantMessage } from '../publisher.ts'
import { readEvents, type JournalEvent } from './event.ts'

export type InboxReason = 'ADDED' | 'REMOVED' | 'TURN' | 'READ' | 'UPDATED' | 'DELETED'
/** A change in a participant's list of conversations. */
export type InboxEvent = { conversationId: string; reason: InboxReason; at: Date }

type InboxListener = { actor: string; tell(conversationId: string, reason: InboxReason, at: Date): void }

/** How long messages are gathered before they are looked up, in ms. */
const GATHER = 20
/** Newest entries read of one conversation at once; older ones of the same 20 ms add no reason that matters. */
const PAGE = 500
/** Events that wait for one consumer, at most; the oldest are dropped first, since a list needs only the newest. */
const BUFFER = 1_000

export type Inboxes = {
  /** Calls the listener with what changes from now on. The result ends that. */
  listen(tenant: string, listener: InboxListener): Promise<() => void>
}

type Participation = { actor: string; windows: readonly number[]; addressed: boolean }

/** What an entry changes in the participant's list, or null. */
function reasonFor(event: JournalEvent, participant: Participation): InboxReason | null {
  switch (event.type) {
    case 'ParticipantJoined':
      return event.participant.actor === participant.actor ? 'ADDED' : null
    case 'ParticipantLeft':
      return event.participant.actor === participant.actor ? 'REMOVED' : null
    case 'ConversationUpdated':
      return isOpenAt(participant.windows, event.seq) ? 'UPDATED' : null
    case 'TurnAppended':
    case 'TurnCommitted':
      return isOpenAt(participant.windows, event.seq) && sees(participant, event.turn) ? 'TURN' : null
    case 'TurnSuperseded':
      return sees(participant, event.by) ? 'UPDATED' : null
    default:
      return null
  }
}

/**
 * What the entries change in the participant's list: each reason once, with the time of its newest entry, in the order
 * of their first entries. A list needs to know that something changed, not how often.
 */
export function reasonsFor(events: readonly JournalEvent[], participant: Participation): Map<InboxReason, Date> {
  const newest = new Map<InboxReason, Date>()
  for (const event of events) {
    const reason = reasonFor(event, participant)
    if (reason) newest.set(reason, event.at)
  }
  return newest
}

/** The inboxes of one tenant that are open in this process. */
type TenantInboxes = {
  add(listener: InboxListener): void
  /** Whether any listener is left. */
  remove(listener: InboxListener): boolean
  unsubscribe(): Promise<void>
}

/** Journal entries that were announced and are not looked up yet, by conversation. */
type Announced = Map<string, { first: number; last: number }>

/** Reads the announced entries and tells each of the actors what they change in its list. */
async function lookUp(
  deps: Platform,
  tenant: string,
  announced: Announced,
  actors: readonly string[],
  tell: (actor: string, conversationId: string, reason: InboxReason, at: Date) => void,
): Promise<void> {
  const found = await readParticipations(deps.pool, tenant, [...announced.keys()], actors)
  for (const [conversationId, participants] of found) {
    const { first, last } = announced.get(conversationId)!
    const from = Math.max(first - 1, last - PAGE)
    const { events } = await readEvents(deps, tenant, conversationId, from, last - from)
    for (const participant of participants) {
      for (const [reason, at] of reasonsFor(events, participant)) tell(participant.actor, conversationId, reason, at)
    }
  }
}

async function startTenant(deps: Platform, tenant: string): Promise<TenantInboxes> {
  const listeners = new Map<string, Set<InboxListener>>()
  let announced: Announced = new Map()
  let gathering: NodeJS.Timeout | null = null

  const tell = (actor: string, conversationId: string, reason: InboxReason, at: Date) => {
    for (const listener of listeners.get(actor) ?? []) listener.tell(conversationId, reason, at)
  }

  function look(): void {
    gathering = null
    const due = announced
    announced = new Map()
    lookUp(deps, tenant, due, [...listeners.keys()], tell).catch((error) =>
      deps.log.warn({ err: error, tenant }, 'could not look up what changed for the inboxes'),
    )
  }

  function receive(message: TenantMessage): void {
    if (message.type === 'read') return tell(message.actor, message.conversationId, 'READ', new Date())
    if (message.type === 'deleted') {
      for (const actor of message.actors) tell(actor, message.conversationId, 'DELETED', new Date())
      return
    }
    for (const [conversationId, first, last] of message.conversationIds) {
      const known = announced.get(conversationId)
      announced.set(conversationId, {
        first: Math.min(first, known?.first ?? first),
        last: Math.max(last, known?.last ?? last),
      })
    }
    gathering ??= setTimeout(look, GATHER)
  }

  const unsubscribe = await deps.bus.subscribe(tenantTopic(tenant), (text) =>
    receive(JSON.parse(text) as TenantMessage),
  )
  return {
    add(listener) {
      const known = listeners.get(listener.actor)
      if (known) known.add(listener)
      else listeners.set(listener.actor, new Set([listener]))
    },
    remove(listener) {
      const known = listeners.get(listener.actor)
      known?.delete(listener)
      if (known?.size === 0) listeners.delete(listener.actor)
      return listeners.size > 0
    },
    unsubscribe,
  }
}

export function createInboxes(deps: Platform): Inboxes {
  const tenants = new Map<string, Promise<TenantInboxes>>()

  return {
    async listen(tenant, listener) {
      let starting = tenants.get(tenant)
      if (!starting) tenants.set(tenant, (starting = startTenant(deps, tenant)))
      const started = await starting.catch((error) => {
        tenants.delete(tenant)
        throw error
      })
      started.add(listener)
      return () => {
        if (started.remove(listener) || tenants.get(tenant) !== starting) return
        tenants.delete(tenant)
        started.unsubscribe().catch(() => {})
      }
    },
  }
}

/**
 * What changes in the list of the viewer, or of `as`, from now on. Ending the iteration ends the subscription.
 * @throws InvalidInput
 */
export async function readInbox(
  deps: Platform & { inboxes: Inboxes },
  viewer: Viewer,
  input: { as?: string | null },
): Promise<AsyncIterableIterator<InboxEvent>> {
  const { as } = parse(z.object({ as: name.nullish() }), input)
  const reader = actAs(viewer, as)
  const waiting = createPushIterator<InboxEvent>(BUFFER, 'drop-oldest')
  const stop = await deps.inboxes.listen(viewer.tenant, {
    actor: reader.actor,
    tell: (conversationId, reason, at) => void waiting.push({ conversationId, reason, at }),
  })
  return waiting.iterate(stop)
}
