// What changes in somebody's list of conversations: one subscription for all of them, live only. One listener a tenant and
// process; what comes in within 20 ms is looked up in one statement for all who listen here.

import { z } from 'zod'
import { readParticipations } from '../../store/sql/participant/read-participations.ts'
import type { Platform } from '../platform.ts'
import { name, parse } from '../input.ts'
import { actAs, isOpenAt, sees, type Viewer } from '../view.ts'
import { tenantTopic, type TenantMessage } from '../publisher.ts'
import { readEvents, type JournalEvent } from './event.ts'

export type InboxReason = 'ADDED' | 'REMOVED' | 'TURN' | 'READ' | 'UPDATED' | 'DELETED'
/** A change in a participant's list of conversations. */
export type InboxEvent = { conversationId: string; reason: InboxReason; at: Date }

type Listener = { actor: string; tell(conversationId: string, reason: InboxReason, at: Date): void }

/** How long what comes in is gathered, in ms. */
const GATHER = 20
/** Entries of one conversation looked at once; what a reader was told of before it is enough to look at the conversation. */
const PAGE = 500

export type Inboxes = { listen(tenant: string, listener: Listener): Promise<() => void> }

/** What an entry means to a participant's list, or null. */
function reasonFor(
  event: JournalEvent,
  actor: string,
  view: { actor: string; windows: readonly number[]; addressed: boolean },
): InboxReason | null {
  switch (event.type) {
    case 'ParticipantJoined':
      return event.participant.actor === actor ? 'ADDED' : null
    case 'ParticipantLeft':
      return event.participant.actor === actor ? 'REMOVED' : null
    case 'ConversationUpdated':
      return isOpenAt(view.windows, event.seq) ? 'UPDATED' : null
    case 'TurnAppended':
    case 'TurnCommitted':
      return isOpenAt(view.windows, event.seq) && sees(view, event.turn) ? 'TURN' : null
    case 'TurnSuperseded':
      return sees(view, event.by) ? 'UPDATED' : null
    default:
      return null
  }
}

export function createInboxes(deps: Platform): Inboxes {
  const tenants = new Map<string, Promise<ReturnType<typeof startTenant> extends Promise<infer T> ? T : never>>()

  async function startTenant(tenant: string) {
    const listeners = new Map<string, Set<Listener>>()
    const grown = new Map<string, { first: number; last: number }>()
    let gathering: NodeJS.Timeout | null = null

    const tell = (actor: string, conversationId: string, reason: InboxReason, at: Date) => {
      for (const listener of listeners.get(actor) ?? []) listener.tell(conversationId, reason, at)
    }

    async function look(): Promise<void> {
      gathering = null
      const conversationIds = new Map(grown)
      grown.clear()
      const found = await readParticipations(deps.pool, tenant, [...conversationIds.keys()], [...listeners.keys()])
      for (const [conversationId, participants] of found) {
        const { first, last } = conversationIds.get(conversationId)!
        const from = Math.max(first - 1, last - PAGE)
        const { events } = await readEvents(deps, tenant, conversationId, from, last - from)
        for (const participant of participants) {
          // The newest of each reason: a list needs to know that something came, not how often.
          const newest = new Map<InboxReason, Date>()
          for (const event of events) {
            const reason = reasonFor(event, participant.actor, participant)
            if (reason) newest.set(reason, event.at)
          }
          for (const [reason, at] of newest) tell(participant.actor, conversationId, reason, at)
        }
      }
    }

    function receive(message: TenantMessage): void {
      if (message.type === 'read') return tell(message.actor, message.conversationId, 'READ', new Date())
      if (message.type === 'deleted') {
        for (const actor of message.actors) tell(actor, message.conversationId, 'DELETED', new Date())
        return
      }
      for (const [conversationId, first, last] of message.conversationIds) {
        const known = grown.get(conversationId)
        grown.set(conversationId, {
          first: Math.min(first, known?.first ?? first),
          last: Math.max(last, known?.last ?? last),
        })
      }
      gathering ??= setTimeout(() => {
        look().catch((error) => deps.log.warn({ err: error, tenant }, 'could not look up what changed for the inboxes'))
      }, GATHER)
    }

    const unsubscribe = await deps.bus.subscribe(tenantTopic(tenant), (text) =>
      receive(JSON.parse(text) as TenantMessage),
    )
    return {
      add(listener: Listener) {
        const known = listeners.get(listener.actor)
        if (known) known.add(listener)
        else listeners.set(listener.actor, new Set([listener]))
      },
      /** Whether somebody still listens. */
      remove(listener: Listener): boolean {
        const known = listeners.get(listener.actor)
        known?.delete(listener)
        if (known?.size === 0) listeners.delete(listener.actor)
        return listeners.size > 0
      },
      unsubscribe,
    }
  }

  return {
    async listen(tenant, listener) {
      let starting = tenants.get(tenant)
      if (!starting) tenants.set(tenant, (starting = startTenant(tenant)))
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

/** Events waiting for one consumer, at most; older ones give way, a list only needs the newest. */
const BUFFER = 1_000

/** What changes in the conversations of the viewer, or of `as`, from now on. @throws InvalidInput */
export async function readInbox(
  deps: Platform & { inboxes: Inboxes },
  viewer: Viewer,
  input: { as?: string | null },
): Promise<AsyncIterableIterator<InboxEvent>> {
  const { as } = parse(z.object({ as: name.nullish() }), input)
  const reader = actAs(viewer, as)
  const waiting: InboxEvent[] = []
  let ended = false
  let wake: (() => void) | null = null
  const stop = await deps.inboxes.listen(viewer.tenant, {
    actor: reader.actor,
    tell(conversationId, reason, at) {
      if (waiting.length >= BUFFER) waiting.shift()
      waiting.push({ conversationId, reason, at })
      wake?.()
    },
  })
  const events: AsyncIterableIterator<InboxEvent> = {
    async next() {
      while (waiting.length === 0 && !ended) await new Promise<void>((resolve) => (wake = resolve))
      return ended ? { done: true, value: undefined } : { done: false, value: waiting.shift()! }
    },
    async return() {
      stop()
      ended = true
      wake?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => events,
  }
  return events
}
