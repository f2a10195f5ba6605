// The types of extraction rules, and the beginnings of patterns that several rules share.

import { singular } from './sentences/objects.ts'

/** A statement about the subject of a clause. A statement whose `object` is null is dropped. `confidence`: 0 to 1. */
export type Statement = {
  predicate: string
  object: string | null
  confidence: number
  /** When the statement became true, and when it ceased to be true; absent or null if the clause does not say so. */
  validFrom?: Date | null
  validTo?: Date | null
}
/** The name that "I" refers to, and whether the line of the clause begins with a greeting. */
export type Speaker = { name: string; isGreeting: boolean }
/** The pattern matches from the beginning of a clause. `read` gets its groups; '' for a group that did not match. */
export type Rule = [pattern: RegExp, read: (match: string[], speaker: Speaker) => Statement | Statement[] | null]

export const rule = (pattern: string, read: Rule[1]): Rule => [new RegExp(`^${pattern}`, 'iu'), read]
export const statement = (predicate: string, object: string | null, confidence = 0.9): Statement => ({
  predicate,
  object,
  confidence,
})

/** Returns a statement of a favourite, or of one of several. `kind` may be plural: "city" or "cities". */
export function favorite(kind: string, object: string | null, isOneOfSeveral: boolean): Statement {
  const isPlural = /[^s]s$/i.test(kind)
  if (!isOneOfSeveral && !isPlural) return statement(`favorite ${kind} is`, object)
  const areSeveral = isPlural && object !== null && (/ and /.test(object) || object.endsWith(` ${kind}`))
  return statement(areSeveral ? `has as favorite ${kind}` : `has as a favorite ${singular(kind)}`, object)
}
