// Typed ids: a prefix that says what the thing is, and a ULID. They identify; they are never a cursor.

import { monotonicFactory } from 'ulid'

const PREFIXES = { conversation: 'conv_', turn: 'turn_', summary: 'sum_', fact: 'fact_' } as const
export type Kind = keyof typeof PREFIXES

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/
const ulid = monotonicFactory()

/** A new id of that kind; within one process, later ones sort after earlier ones. */
export function newId(kind: Kind): string {
  return PREFIXES[kind] + ulid()
}

/** What a well-formed id stands for, or null. */
export function kindOf(id: string): Kind | null {
  for (const [kind, prefix] of Object.entries(PREFIXES)) {
    if (id.startsWith(prefix)) return ULID.test(id.slice(prefix.length)) ? (kind as Kind) : null
  }
  return null
}
