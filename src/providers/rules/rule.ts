// The types of extraction rules, and the beginnings of patterns that many rules share.

/** A statement about the subject of a clause. A statement whose `object` is null is dropped. `confidence`: 0 to 1. */
export type Statement = { predicate: string; object: string | null; confidence: number }
/** The name that "I" refers to, and whether the line of the clause begins with a greeting. */
export type Speaker = { name: string; isGreeting: boolean }
/** The pattern matches from the beginning of a clause. `read` gets its groups; '' for a group that did not match. */
export type Rule = [pattern: RegExp, read: (match: string[], speaker: Speaker) => Statement | Statement[] | null]

/** Adverbs between the subject and the verb. */
const ADV =
  "(?:(?:'ve |have )?(?:really|absolutely|just|also|always|still|currently|now|only|totally|truly|actually|"
  + 'mostly|usually|both|all|recently|finally|mainly|often|officially|simply|personally|definitely|'
  + 'particularly|especially|sometimes|happily|quite|very|super|so|such) )*'
/** Beginnings of patterns: the subject, with a form of "be" or "have", and adverbs. */
export const I = `(?:i|we) ${ADV}`
export const AM = `(?:i'm|i am|we're|we are) ${ADV}`
export const HAVE = `(?:i've|i have|we've|we have)(?: just| recently| finally| now)?`

export const NOT = "(?:don't|do not|can't|cannot|can not|never|don't really|do not really|really don't)"

export const rule = (pattern: string, read: Rule[1]): Rule => [new RegExp(`^${pattern}`, 'iu'), read]
export const statement = (predicate: string, object: string | null, confidence = 0.9): Statement => ({
  predicate,
  object,
  confidence,
})
