// What a rule of extraction is, and the beginnings of clauses that many rules share.

/** What a clause says of its subject; a null object says nothing. Confidence is 0 to 1. */
export type Told = { predicate: string; object: string | null; confidence: number }
/** Who says "I". */
export type Speaker = { name: string; isGreeting: boolean }
/** The pattern is tried from the clause's beginning; `read` is given its groups, '' for those that did not match. */
export type Rule = [pattern: RegExp, read: (match: string[], speaker: Speaker) => Told | Told[] | null]

const ADV =
  "(?:(?:'ve |have )?(?:really|absolutely|just|also|always|still|currently|now|only|totally|truly|actually|"
  + 'mostly|usually|both|all|recently|finally|mainly|often|officially|simply|personally|definitely|'
  + 'particularly|especially|sometimes|happily|quite|very|super|so|such) )*'
export const I = `(?:i|we) ${ADV}`
export const AM = `(?:i'm|i am|we're|we are) ${ADV}`
export const HAVE = `(?:i've|i have|we've|we have)(?: just| recently| finally| now)?`

export const NOT = "(?:don't|do not|can't|cannot|can not|never|don't really|do not really|really don't)"

export const rule = (pattern: string, read: Rule[1]): Rule => [new RegExp(`^${pattern}`, 'iu'), read]
export const told = (predicate: string, object: string | null, confidence = 0.9): Told => ({
  predicate,
  object,
  confidence,
})
