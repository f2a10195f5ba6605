// Compares the lines of a conversation that the store has with the stored conversation. Identity and content must be
// equal; settings and states may be newer in the store, and are then kept. Pure.

import { isDeepStrictEqual } from 'node:util'
import type { EntryLine, Values } from '../format.ts'
import { withoutAttachment } from './import-parts.ts'

/** `kept`: the stored object is newer, and stays. `differs`: the stored object has other content. */
export type Comparison = 'unchanged' | 'kept' | 'differs'

/** Properties that never change once they are written. */
const FIXED_OF_TURN = [
  'id',
  'position',
  'actor',
  'role',
  'audience',
  'createdAt',
  'supersedes',
  'replyToId',
  'clientId',
]
const CONTENT_OF_TURN = ['text', 'parts', 'citations', 'metadata']
/** Properties that the import computes or sets. */
const NOT_COMPARED = new Set(['importedAt', 'tokenCount', 'terms', 'cues', 'type', 'clientHash'])

/** Returns a stored object with the values of a parsed line: times as text. */
export const asLine = (stored: object): Values => JSON.parse(JSON.stringify(stored)) as Values

/** Parts are compared without attachments: the import leaves out those that the file does not contain. */
const comparable = (key: string, value: unknown) =>
  key === 'parts' && Array.isArray(value) ? value.map(withoutAttachment) : value

const areEqual = (given: Values, stored: Values, keys: readonly string[]) =>
  keys.every((key) => isDeepStrictEqual(comparable(key, given[key]), comparable(key, stored[key])))

/** Whether all properties of either object are equal, except those that the import computes. */
export function isUnchanged(given: Values, stored: Values): boolean {
  const keys = new Set([...Object.keys(given), ...Object.keys(stored)])
  return areEqual(
    given,
    stored,
    [...keys].filter((key) => !NOT_COMPARED.has(key)),
  )
}

const hasContent = ({ status, removedAt }: Values): boolean => status !== 'ERASED' && removedAt === undefined

/** Compares a version of a turn. Content that was erased or removed in one of them counts as equal. */
function compareTurn(given: Values, stored: Values): Comparison {
  if (!areEqual(given, stored, FIXED_OF_TURN)) return 'differs'
  if (isUnchanged(given, stored)) return 'unchanged'
  // An open turn may have got more text.
  const isComparable = hasContent(given) && hasContent(stored) && given.status === stored.status
  return isComparable && !areEqual(given, stored, CONTENT_OF_TURN) ? 'differs' : 'kept'
}

function compareSummary(given: Values, stored: Values | undefined): Comparison {
  // A summary is deleted when a turn that it covers is erased.
  if (stored === undefined) return 'kept'
  if (given.id !== stored.id || given.content !== stored.content) return 'differs'
  return isUnchanged(given, stored) ? 'unchanged' : 'kept'
}

/** Compares an entry, and the turn or summary in it. `stored` is parsed by `asLine`. */
export function compareEntry(given: EntryLine, stored: Values | undefined): Comparison {
  if (stored === undefined) return 'differs'
  const { turn, summary, type: _type, ...entry } = given
  const { turn: storedTurn, summary: storedSummary, ...storedEntry } = stored as Partial<EntryLine> & Values
  // Without its turn or summary, a stored entry names the id.
  if (turn) delete storedEntry.turnId
  if (summary) delete storedEntry.summaryId
  if (!isUnchanged(entry, storedEntry)) return 'differs'
  if (turn) return storedTurn ? compareTurn(turn, storedTurn) : 'kept'
  return summary ? compareSummary(summary, storedSummary) : 'unchanged'
}
