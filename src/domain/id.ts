// Typed ids: a prefix that names the kind of object, and a ULID. Lists are paged by cursors, never by ids.

import { monotonicFactory } from 'ulid'

const PREFIXES = { conversation: 'conv_', turn: 'turn_', summary: 'sum_', fact: 'fact_' } as const
export type Kind = keyof typeof PREFIXES

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/
const ulid = monotonicFactory()

/** Creates an id. Within one process, later ids of a kind sort after earlier ones. */
export function newId(kind: Kind): string {
  return PREFIXES[kind] + ulid()
}

/** Returns the kind of object that a well-formed id names; null for any other text. */
export function kindOf(id: string): Kind | null {
  for (const [kind, prefix] of Object.entries(PREFIXES)) {
    if (id.startsWith(prefix)) return ULID.test(id.slice(prefix.length)) ? (kind as Kind) : null
  }
  return null
}
