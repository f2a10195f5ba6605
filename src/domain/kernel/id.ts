// Typed ids: a prefix that names the kind of object, and a ULID: 48 bits of time in ms, then 80 random bits. No id can
// be guessed from another one. Code must not rely on the order of ids: ids of one millisecond are in random order.

import { randomInt } from 'node:crypto'
import { ulid } from 'ulid'

const PREFIXES = {
  conversation: 'conv_',
  turn: 'turn_',
  summary: 'sum_',
  fact: 'fact_',
  key: 'key_',
  approval: 'appr_',
  run: 'run_',
  transfer: 'xfer_',
  context: 'ctx_',
  attachment: 'att_',
} as const
export type Kind = keyof typeof PREFIXES

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/

/** A random number in [0, 1) with 32 random bits. For each of its 16 random characters, ulid uses 5 of these bits. */
const random = () => randomInt(2 ** 32) / 2 ** 32

/** Returns the prefix of the ids of that kind. */
export const prefixOf = (kind: Kind): string => PREFIXES[kind]

/** Creates an id. Ids of later milliseconds sort after earlier ones. */
export function newId(kind: Kind): string {
  return PREFIXES[kind] + ulid(undefined, random)
}

/** Returns the kind of object that a well-formed id names; null for any other text. */
export function kindOf(id: string): Kind | null {
  for (const [kind, prefix] of Object.entries(PREFIXES)) {
    if (id.startsWith(prefix)) return ULID.test(id.slice(prefix.length)) ? (kind as Kind) : null
  }
  return null
}
