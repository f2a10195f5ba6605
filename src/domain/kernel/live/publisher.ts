// Defines and publishes the messages on the bus. Each conversation has a topic for its readers, and each tenant has a
// topic for its inboxes. A message only announces entries; readers read the entries from the journal.

import type { Subject } from '../../../store/jobs/job-queue.ts'
import type { Bus } from '../../../bus/bus.ts'

/** The presence states, in the order in which the GraphQL schema lists them. */
export const PRESENCE_STATES = ['ONLINE', 'TYPING', 'THINKING', 'AWAY', 'OFFLINE'] as const
export type PresenceState = (typeof PRESENCE_STATES)[number]

export type ConversationMessage =
  /** New entries up to `seq`. */
  | { type: 'entries'; seq: number }
  /** Text of a streaming turn, or of a part of it, from UTF-16 offset `start`. */
  | { type: 'delta'; turnId: string; part: WrittenPart | null; start: number; text: string }
  /**
   * A private streaming turn has more text, or part `number` of it has changed. The text now ends at UTF-16 offset
   * `end`. Readers read it from the database.
   */
  | { type: 'text'; turnId: string; number: number; end: number }
  | { type: 'read'; actor: string }
  | { type: 'presence'; actor: string; state: PresenceState }
  | { type: 'deleted' }

export type TenantMessage =
  /** Conversations with new entries: [conversation id, first new seq, last new seq]. */
  | { type: 'entries'; ranges: [conversationId: string, first: number, last: number][] }
  | { type: 'read'; conversationId: string; actor: string }
  | { type: 'deleted'; conversationId: string; actors: string[] }

/** Dependencies for publishing messages. */
export type Publisher = { bus: Bus }

export const conversationTopic = (conversationId: string) => `conversation:${conversationId}`
export const tenantTopic = (tenant: string) => `tenant:${tenant}`

const toConversation = ({ bus }: Publisher, conversationId: string, message: ConversationMessage) =>
  bus.publish(conversationTopic(conversationId), JSON.stringify(message))
const toTenant = ({ bus }: Publisher, tenant: string, message: TenantMessage) =>
  bus.publish(tenantTopic(tenant), JSON.stringify(message))

/** Entries `first` to `last` of one journal, both included. */
export type JournalRange = { tenant: string; conversationId: string; first: number; last: number }

/** Wakes the workers of this process, for announced ranges and for users whose facts changed. */
export type NotifyWorkers = (ranges: readonly JournalRange[], users?: readonly Subject[]) => void

/** Dependencies for announcing journal entries. */
export type JournalPublisher = Publisher & { notifyWorkers: NotifyWorkers }

/** Announces entries, after the commit that wrote them. The ranges of one conversation are merged into one message. */
export function announceEntries(publisher: JournalPublisher, written: readonly JournalRange[]): void {
  const ranges = new Map<string, JournalRange>()
  for (const range of written) {
    const { first, last } = ranges.get(range.conversationId) ?? range
    ranges.set(range.conversationId, {
      ...range,
      first: Math.min(first, range.first),
      last: Math.max(last, range.last),
    })
  }
  const tenants = new Map<string, [string, number, number][]>()
  for (const { tenant, conversationId, first, last } of ranges.values()) {
    toConversation(publisher, conversationId, { type: 'entries', seq: last })
    const list = tenants.get(tenant)
    if (list) list.push([conversationId, first, last])
    else tenants.set(tenant, [[conversationId, first, last]])
  }
  for (const [tenant, list] of tenants) toTenant(publisher, tenant, { type: 'entries', ranges: list })
  publisher.notifyWorkers(written)
}

/** A change of a part of a streaming turn. */
export type WrittenPart = {
  number: number
  /** UTF-16 offset in the turn's text at which the part stands. */
  at: number
  /** The part without its text, or properties that were added to it; null if only text was added. */
  content: Readonly<Record<string, unknown>> | null
  isComplete: boolean
}

/**
 * Text of a streaming turn, or of the part of it, written from UTF-16 offset `start`. `isPrivate` is true if the turn
 * has an audience.
 */
export type WrittenText = {
  conversationId: string
  turnId: string
  part: WrittenPart | null
  start: number
  text: string
  isPrivate: boolean
}

/** Announces text of a streaming turn, after the commit. For a private turn, announces only where the text ends. */
export function announceDelta(publisher: Publisher, written: WrittenText): void {
  const { conversationId, turnId, part, start, text, isPrivate } = written
  const message: ConversationMessage = isPrivate
    ? { type: 'text', turnId, number: part?.number ?? 0, end: start + text.length }
    : { type: 'delta', turnId, part, start, text }
  toConversation(publisher, conversationId, message)
}

export function announceRead(publisher: Publisher, tenant: string, conversationId: string, actor: string): void {
  toConversation(publisher, conversationId, { type: 'read', actor })
  toTenant(publisher, tenant, { type: 'read', conversationId, actor })
}

export function announcePresence(
  publisher: Publisher,
  conversationId: string,
  actor: string,
  state: PresenceState,
): void {
  toConversation(publisher, conversationId, { type: 'presence', actor, state })
}

export function announceDeleted(publisher: Publisher, tenant: string, conversationId: string, actors: string[]): void {
  toConversation(publisher, conversationId, { type: 'deleted' })
  toTenant(publisher, tenant, { type: 'deleted', conversationId, actors })
}
