// What goes over the bus, and who says it. Two topics: one for the readers of a room, one for the inboxes of a tenant.
// Nothing here is the truth: entries are only said to exist, and are read from the journal.

import type { Ground } from './platform.ts'
import type { PresenceState } from './event/event.ts'

export type RoomMessage =
  /** The journal has grown to `seq`. */
  | { type: 'entries'; seq: number }
  | { type: 'delta'; turnId: string; start: number; text: string }
  | { type: 'read'; actor: string }
  | { type: 'presence'; actor: string; state: PresenceState }
  | { type: 'deleted' }

export type TenantMessage =
  /** Rooms whose journal has grown: [room, first new seq, last new seq]. */
  | { type: 'entries'; rooms: [room: string, first: number, last: number][] }
  | { type: 'read'; room: string; actor: string }
  | { type: 'deleted'; room: string; actors: string[] }

type Voice = Pick<Ground, 'bus'>

export const roomTopic = (room: string) => `room:${room}`
export const tenantTopic = (tenant: string) => `tenant:${tenant}`

const toRoom = ({ bus }: Voice, room: string, message: RoomMessage) =>
  bus.publish(roomTopic(room), JSON.stringify(message))
const toTenant = ({ bus }: Voice, tenant: string, message: TenantMessage) =>
  bus.publish(tenantTopic(tenant), JSON.stringify(message))

export type Growth = { tenant: string; room: string; first: number; last: number }

/** To be called after the commit that wrote the entries. A room is told once, however often it grew. */
export function announceEntries(voice: Pick<Ground, 'bus' | 'onGrowth'>, grown: readonly Growth[]): void {
  const rooms = new Map<string, Growth>()
  for (const growth of grown) {
    const { first, last } = rooms.get(growth.room) ?? growth
    rooms.set(growth.room, { ...growth, first: Math.min(first, growth.first), last: Math.max(last, growth.last) })
  }
  const tenants = new Map<string, [string, number, number][]>()
  for (const { tenant, room, first, last } of rooms.values()) {
    toRoom(voice, room, { type: 'entries', seq: last })
    const list = tenants.get(tenant)
    if (list) list.push([room, first, last])
    else tenants.set(tenant, [[room, first, last]])
  }
  for (const [tenant, list] of tenants) toTenant(voice, tenant, { type: 'entries', rooms: list })
  voice.onGrowth(grown)
}

export function announceDelta(voice: Voice, room: string, turnId: string, start: number, text: string): void {
  toRoom(voice, room, { type: 'delta', turnId, start, text })
}

export function announceRead(voice: Voice, tenant: string, room: string, actor: string): void {
  toRoom(voice, room, { type: 'read', actor })
  toTenant(voice, tenant, { type: 'read', room, actor })
}

export function announcePresence(voice: Voice, room: string, actor: string, state: PresenceState): void {
  toRoom(voice, room, { type: 'presence', actor, state })
}

export function announceDeleted(voice: Voice, tenant: string, room: string, actors: string[]): void {
  toRoom(voice, room, { type: 'deleted' })
  toTenant(voice, tenant, { type: 'deleted', room, actors })
}
