// Ids that are derived from names: of objects without an id column, a prefix that names the kind of object, and the
// columns that identify it; of imported objects, a hash of their names in the other program. Pure.

import { createHash } from 'node:crypto'
import { encodeTime } from 'ulid'
import { kindOf, prefixOf, type Kind } from './id.ts'

/** The columns that identify an object. */
export type DerivedKey =
  | { kind: 'participant'; conversationId: string; actor: string }
  | { kind: 'state'; conversationId: string; key: string }
  | { kind: 'profile'; tenant: string; userId: string }
  | { kind: 'viewer'; tenant: string; actor: string }
  | { kind: 'job'; jobId: string }

const CONVERSATION = 'conv_'
const encode = (text: string) => Buffer.from(text).toString('base64url')
const decode = (text: string) => Buffer.from(text, 'base64url').toString()

/** Returns the id of the object with this key. */
export function derivedId(key: DerivedKey): string {
  switch (key.kind) {
    case 'participant':
      return `part_${key.conversationId.slice(CONVERSATION.length)}.${encode(key.actor)}`
    case 'state':
      return `state_${key.conversationId.slice(CONVERSATION.length)}.${encode(key.key)}`
    case 'profile':
      return `prof_${encode(key.tenant)}.${encode(key.userId)}`
    case 'viewer':
      return `view_${encode(key.tenant)}.${encode(key.actor)}`
    case 'job':
      return `job_${key.jobId}`
  }
}

/** Returns the key of an id that `derivedId` returned; null for any other text. */
export function derivedKey(id: string): DerivedKey | null {
  const [, prefix, first, second] = /^(part|state|prof|view)_([\w-]+)\.([\w-]*)$/.exec(id) ?? []
  const [, jobId] = /^job_([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/.exec(id) ?? []
  const key = jobId === undefined ? keyOf(prefix, first!, second!) : ({ kind: 'job', jobId } as const)
  // Each object has one id: base64url text that encodes the same names differently is rejected.
  return key && derivedId(key) === id ? key : null
}

function keyOf(prefix: string | undefined, first: string, second: string): DerivedKey | null {
  switch (prefix) {
    case 'part': {
      const conversationId = CONVERSATION + first
      return kindOf(conversationId) ? { kind: 'participant', conversationId, actor: decode(second) } : null
    }
    case 'state': {
      const conversationId = CONVERSATION + first
      return kindOf(conversationId) ? { kind: 'state', conversationId, key: decode(second) } : null
    }
    case 'prof':
      return { kind: 'profile', tenant: decode(first), userId: decode(second) }
    case 'view':
      return { kind: 'viewer', tenant: decode(first), actor: decode(second) }
    default:
      return null
  }
}

/** Digits of the random part of a ULID. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const RANDOM_LENGTH = 16

/**
 * Returns the id of an imported object: equal for equal names, so that a second import finds the objects of the first.
 * @param at the time of the object, which the id begins with, as the ids of other objects do
 * @param names the names that identify the object, beginning with the program and the tenant
 */
export function importedId(kind: Kind, at: Date, names: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(names)).digest()
  const random = Array.from({ length: RANDOM_LENGTH }, (_, index) => DIGITS[hash[index]! % DIGITS.length]).join('')
  return prefixOf(kind) + encodeTime(Math.max(0, at.getTime())) + random
}
