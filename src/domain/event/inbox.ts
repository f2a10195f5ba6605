// The inbox: delivers an actor's conversations with unread turns, then the changes in the actor's list of
// conversations, each with its reason. A process has one bus subscription per tenant with open inboxes, and reads the
// entries announced within GATHER_MS once for all these inboxes.

import { z } from 'zod'
import { readParticipations } from '../../store/sql/participant/read-participations.ts'
import type { UnreadConversation } from '../../store/sql/participant/read-unread-conversations.ts'
import type { Platform } from '../platform.ts'
import { authorize } from '../authorize.ts'
import { name, parse } from '../input.ts'
import { createPushIterator } from '../push-iterator.ts'
import { actAs, isOpenAt, sees, type Viewer } from '../view.ts'
import { tenantTopic, type TenantMessage } from '../publisher.ts'
import { isVisible, type JournalEvent } from './event.ts'
import type { Feeds } from './feeds.ts'
import { readEvents } from './journal-page.ts'
import { unreadConversations } from './unread.ts'

export type InboxReason = 'UNREAD' | 'ADDED' | 'REMOVED' | 'APPENDED' | 'READ' | 'UPDATED' | 'DELETED'
/** A conversation with unread turns (UNREAD), or a change in a participant's list of conversations. */
export type InboxEvent = { conversationId: string; reason: InboxReason; at: Date }

type InboxListener = { actor: string; notify(conversationId: string, reason: InboxReason, at: Date): void }

/** Milliseconds for which messages are collected before their entries are read. */
const GATHER_MS = 20
/**
 * Maximum number of announced entries read per conversation at a time. Older entries are skipped: they rarely add a
 * reason.
 */
const MAX_ENTRIES = 500
/** Maximum number of events buffered per consumer; the oldest are dropped, since a list needs only the newest. */
const BUFFER = 1_000

export type Inboxes = {
  /** Notifies the listener of changes from now on. Returns a function that removes the listener. */
  listen(tenant: string, listener: InboxListener): Promise<() => void>
}

type Participation = { actor: string; windows: readonly number[]; addressed: boolean }

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
      return isOpenAt(participant.windows, event.seq) && sees(participant, event.turn) ? 'APPENDED' : null
    case 'TurnSuperseded':
      return sees(participant, event.by) ? 'UPDATED' : null
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

/** Reads the announced entries and notifies each actor of the changes in the actor's list of conversations. */
async function readAnnounced(
  deps: Platform,
  tenant: string,
  announced: Announced,
  actors: readonly string[],
  notify: (actor: string, conversationId: string, reason: InboxReason, at: Date) => void,
): Promise<void> {
  const participations = await readParticipations(deps.pool, tenant, [...announced.keys()], actors)
  for (const [conversationId, { first, last }] of announced) {
    const participants = participations.get(conversationId) ?? []
    if (participants.length === 0) continue
    const from = Math.max(first - 1, last - MAX_ENTRIES)
    // Read one journal page at a time, because MAX_ENTRIES entries may be large, but notify each reason only once.
    const newest = participants.map(() => new Map<InboxReason, Date>())
    for (let after = from; after < last;) {
      const page = await readEvents(deps, tenant, conversationId, after, last - after)
      participants.forEach((participant, index) => {
        for (const [reason, at] of reasonsFor(page.events, participant)) newest[index]!.set(reason, at)
      })
      if (page.last === after) break
      after = page.last
    }
    participants.forEach(({ actor }, index) => {
      for (const [reason, at] of newest[index]!) notify(actor, conversationId, reason, at)
    })
  }
}

async function startTenant(deps: Platform, tenant: string): Promise<TenantInboxes> {
  const listeners = new Map<string, Set<InboxListener>>()
  let announced: Announced = new Map()
  let gathering: NodeJS.Timeout | null = null
  /** Whether entries are being read. Later entries wait, because changes must be delivered in order. */
  let isReading = false

  const notify = (actor: string, conversationId: string, reason: InboxReason, at: Date) => {
    for (const listener of listeners.get(actor) ?? []) listener.notify(conversationId, reason, at)
  }

  async function flush(): Promise<void> {
    gathering = null
    const due = announced
    announced = new Map()
    isReading = true
    await readAnnounced(deps, tenant, due, [...listeners.keys()], notify).catch((error) =>
      deps.log.warn({ err: error, tenant }, 'could not read the changes for the inboxes'),
    )
    isReading = false
    if (announced.size > 0) gather()
  }

  function gather(): void {
    if (!isReading) gathering ??= setTimeout(() => void flush(), GATHER_MS)
  }

  function receive(message: TenantMessage): void {
    if (message.type === 'read') return notify(message.actor, message.conversationId, 'READ', new Date())
    if (message.type === 'deleted') {
      for (const actor of message.actors) notify(actor, message.conversationId, 'DELETED', new Date())
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
 * Returns one event UNREAD for each conversation with unread turns, at most MAX_UNREAD_CONVERSATIONS, the most recently
 * active first; then the later changes in the list of conversations. The list is that of the principal, or of `as`.
 * Ending the iteration ends the subscription.
 * @throws InvalidInput @throws LimitReached
 */
export async function readInbox(
  deps: Platform & { inboxes: Inboxes; feeds: Pick<Feeds, 'enter'> },
  principal: Viewer,
  input: { as?: string | null },
): Promise<AsyncIterableIterator<InboxEvent>> {
  authorize(principal, 'readInbox', input)
  const { as } = parse(z.object({ as: name.nullish() }), input)
  const viewer = actAs(principal, as)
  const buffer = createPushIterator<InboxEvent>(BUFFER, { whenFull: 'drop-oldest' })
  const leave = deps.feeds.enter(principal)
  let stopListening = () => {}
  const stop = () => {
    leave()
    stopListening()
  }
  try {
    // The unread turns are read while the listener collects changes, so no change is lost between the two.
    stopListening = await deps.inboxes.listen(viewer.tenant, {
      actor: viewer.actor,
      notify: (conversationId, reason, at) => buffer.push({ conversationId, reason, at }),
    })
    const unread = unreadConversations(deps, viewer)
    return startingWith(await unread.next(), unread, buffer.iterate(stop))
  } catch (error) {
    stop()
    throw error
  }
}

type Unread = IteratorResult<UnreadConversation, void>

/** Returns the events UNREAD, then the changes. If reading the conversations fails, the iteration ends. */
function startingWith(
  first: Unread,
  rest: AsyncIterator<UnreadConversation, void>,
  changes: AsyncIterableIterator<InboxEvent>,
): AsyncIterableIterator<InboxEvent> {
  let upcoming: Unread | null = first
  let isListed = false

  async function nextUnread(): Promise<UnreadConversation | null> {
    try {
      const { value } = upcoming ?? (await rest.next())
      upcoming = null
      return value ?? null
    } catch (error) {
      await changes.return!()
      throw error
    }
  }

  const iterator: AsyncIterableIterator<InboxEvent> = {
    async next() {
      const unread = isListed ? null : await nextUnread()
      if (unread && !isListed) return { done: false, value: { ...unread, reason: 'UNREAD' } }
      isListed = true
      return changes.next()
    },
    async return() {
      isListed = true
      return changes.return!()
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
