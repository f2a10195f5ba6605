// The open inboxes of a process: finds the changes in their actors' lists of conversations, and the turns that wake up
// these actors. A process has one bus subscription for each tenant with open inboxes, and reads the entries announced
// within GATHER_MS once for all inboxes of the tenant.

import { readParticipations } from '../../../store/sql/conversation/participant/read-participations.ts'
import type { WakeUpRow } from '../../../store/sql/agent/wake-up/read-wake-ups.ts'
import type { Platform } from '../../kernel/platform.ts'
import { tenantTopic, type TenantMessage } from '../../kernel/live/publisher.ts'
import { isOpenAt, sees } from '../../kernel/view.ts'
import { isVisible, type JournalEvent } from './event.ts'
import { readEvents } from './journal-page.ts'
import { offeredTurn, repeatWakeUps, wakeUpsOfTurns } from './wake-ups.ts'

export const INBOX_REASONS = [
  'WAKE_UP',
  'UNREAD',
  'ADDED',
  'REMOVED',
  'APPENDED',
  'READ',
  'UPDATED',
  'APPROVAL_REQUESTED',
  'DELETED',
] as const
export type InboxReason = (typeof INBOX_REASONS)[number]

/**
 * A conversation with unread turns (UNREAD), a turn that waits for the participant's answer (WAKE_UP), or a change in
 * the participant's list of conversations (all other reasons).
 */
export type InboxEvent = {
  conversationId: string
  reason: InboxReason
  at: Date
  /** The turn to answer, for WAKE_UP; otherwise null. */
  turnId: string | null
}

export const toWakeUpEvent = ({ conversationId, turnId, at }: WakeUpRow): InboxEvent => ({
  conversationId,
  reason: 'WAKE_UP',
  at,
  turnId,
})

type InboxListener = { actor: string; notify(event: InboxEvent): void }

/** Time for which messages are collected before their entries are read, ms. */
const GATHER_MS = 20
/**
 * Maximum number of announced entries that are read per conversation at a time. Older entries are skipped, because they
 * rarely add a reason.
 */
const MAX_ENTRIES = 500

export type Inboxes = {
  /** Notifies the listener of changes from now on. Returns a function that removes the listener. */
  listen(tenant: string, listener: InboxListener): Promise<() => void>
}

type Participation = { actor: string; windows: readonly number[]; addressed: boolean; mayApprove?: boolean }

/** Returns the reason to notify the participant of an entry; null if there is none. */
function reasonFor(event: JournalEvent, participant: Participation): InboxReason | null {
  switch (event.type) {
    case 'ParticipantJoined':
      return event.participant.actor === participant.actor ? 'ADDED' : null
    case 'ParticipantLeft':
      return event.participant.actor === participant.actor ? 'REMOVED' : null
    case 'ConversationUpdated':
    case 'ParticipantUpdated':
      return isOpenAt(participant.windows, event.seq) ? 'UPDATED' : null
    case 'TurnAppended':
    case 'TurnCommitted':
      if (!isOpenAt(participant.windows, event.seq) || !sees(participant, event.turn)) return null
      return event.turn.seq === event.turn.position ? 'APPENDED' : 'UPDATED'
    case 'TurnSuperseded':
      return sees(participant, event.by) ? 'UPDATED' : null
    case 'ApprovalRequested':
      return participant.mayApprove && isVisible(participant, event) ? 'APPROVAL_REQUESTED' : null
    case 'TurnErased':
    case 'TurnUpdated':
      return isVisible(participant, event) ? 'UPDATED' : null
    default:
      return null
  }
}

/**
 * Returns the reasons to notify the participant of the entries: each reason once, with the time of its newest entry, in
 * the order of first occurrence.
 * @internal
 */
export function reasonsFor(events: readonly JournalEvent[], participant: Participation): Map<InboxReason, Date> {
  const newest = new Map<InboxReason, Date>()
  for (const event of events) {
    const reason = reasonFor(event, participant)
    if (reason) newest.set(reason, event.at)
  }
  return newest
}

/** The open inboxes of one tenant in this process. */
type TenantInboxes = {
  add(listener: InboxListener): void
  /** Removes the listener. Returns whether any listener is left. */
  remove(listener: InboxListener): boolean
  unsubscribe(): Promise<void>
}

/** Ranges of announced journal entries to read, by conversation, in the order of their last announcements. */
type Announced = Map<string, { first: number; last: number }>

type Notify = (actor: string, event: InboxEvent) => void

/** The actors with open inboxes, and the function that notifies one of them. */
type Listeners = { actors: readonly string[]; notify: Notify }

/**
 * Reads the announced entries. Notifies each actor of the changes in its list of conversations, then of the turns that
 * wake it up.
 */
async function readAnnounced(
  deps: Platform,
  tenant: string,
  announced: Announced,
  { actors, notify }: Listeners,
): Promise<void> {
  const offered = new Set<string>()
  const responding = new Set<string>()
  const participations = await readParticipations(deps.pool, tenant, [...announced.keys()], actors)
  for (const [conversationId, { first, last }] of announced) {
    const participants = participations.get(conversationId) ?? []
    if (participants.length === 0) continue
    const some = participants.filter(({ isResponding }) => isResponding)
    for (const { actor } of some) responding.add(actor)
    const from = Math.max(first - 1, last - MAX_ENTRIES)
    // Read one journal page at a time, because MAX_ENTRIES entries may be large, but notify each reason only once.
    const newest = participants.map(() => new Map<InboxReason, Date>())
    for (let after = from; after < last;) {
      const page = await readEvents(deps, tenant, conversationId, { after, limit: last - after })
      participants.forEach((participant, index) => {
        for (const [reason, at] of reasonsFor(page.events, participant)) newest[index]!.set(reason, at)
      })
      for (const event of some.length > 0 ? page.events : []) offered.add(offeredTurn(event) ?? '')
      if (page.last === after) break
      after = page.last
    }
    participants.forEach(({ actor }, index) => {
      for (const [reason, at] of newest[index]!) notify(actor, { conversationId, reason, at, turnId: null })
    })
  }
  offered.delete('')
  const wakeUps = await wakeUpsOfTurns(deps, tenant, [...offered], [...responding])
  for (const wakeUp of wakeUps) notify(wakeUp.actor, toWakeUpEvent(wakeUp))
}

async function startTenant(deps: Platform, tenant: string): Promise<TenantInboxes> {
  const listeners = new Map<string, Set<InboxListener>>()
  let announced: Announced = new Map()
  let gathering: NodeJS.Timeout | null = null
  /** Whether entries are being read. Later entries wait, because changes must be delivered in order. */
  let isReading = false

  const notify: Notify = (actor, event) => {
    for (const listener of listeners.get(actor) ?? []) listener.notify(event)
  }

  async function flush(): Promise<void> {
    gathering = null
    const due = announced
    announced = new Map()
    isReading = true
    await readAnnounced(deps, tenant, due, { actors: [...listeners.keys()], notify }).catch((error) =>
      deps.log.warn({ err: error, tenant }, 'could not read changes for the inboxes'),
    )
    isReading = false
    if (announced.size > 0) gather()
  }

  function gather(): void {
    if (!isReading) gathering ??= deps.clock.setTimeout(() => void flush(), GATHER_MS)
  }

  function receive(message: TenantMessage): void {
    if (message.type !== 'entries') {
      const reason = message.type === 'read' ? 'READ' : 'DELETED'
      const event = { conversationId: message.conversationId, reason, at: new Date(), turnId: null } as const
      for (const actor of message.type === 'read' ? [message.actor] : message.actors) notify(actor, event)
      return
    }
    for (const [conversationId, first, last] of message.ranges) {
      const range = announced.get(conversationId)
      announced.delete(conversationId)
      announced.set(conversationId, {
        first: Math.min(first, range?.first ?? first),
        last: Math.max(last, range?.last ?? last),
      })
    }
    gather()
  }

  const unsubscribe = await deps.bus.subscribe(tenantTopic(tenant), (text) =>
    receive(JSON.parse(text) as TenantMessage),
  )
  const stopRepeating = repeatWakeUps(
    deps,
    tenant,
    () => [...listeners.keys()],
    (wakeUp) => notify(wakeUp.actor, toWakeUpEvent(wakeUp)),
  )
  return {
    add(listener) {
      const ofActor = listeners.get(listener.actor)
      if (ofActor) ofActor.add(listener)
      else listeners.set(listener.actor, new Set([listener]))
    },
    remove(listener) {
      const ofActor = listeners.get(listener.actor)
      ofActor?.delete(listener)
      if (ofActor?.size === 0) listeners.delete(listener.actor)
      return listeners.size > 0
    },
    async unsubscribe() {
      await Promise.all([stopRepeating(), unsubscribe()])
    },
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
