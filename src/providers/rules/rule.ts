// The types of extraction rules, and the beginnings of clauses that many rules share.

/** A statement of a clause about its subject; null as object states nothing. Confidence is 0 to 1. */
export type Statement = { predicate: string; object: string | null; confidence: number }
/** The speaker, to whom "I" refers. */
export type Speaker = { name: string; isGreeting: boolean }
/** The pattern is anchored at the clause's beginning; `read` gets its groups, '' for groups that did not match. */
export type Rule = [pattern: RegExp, read: (match: string[], speaker: Speaker) => Statement | Statement[] | null]

const ADV =
  "(?:(?:'ve |have )?(?:really|absolutely|just|also|always|still|currently|now|only|totally|truly|actually|"
  + 'mostly|usually|both|all|recently|finally|mainly|often|officially|simply|personally|definitely|'
  + 'particularly|especially|sometimes|happily|quite|very|super|so|such) )*'
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
