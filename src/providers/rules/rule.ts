// The types of extraction rules, and the beginnings of patterns that many rules share.

/** A statement about the subject of a clause. A statement whose `object` is null is dropped. `confidence`: 0 to 1. */
export type Statement = { predicate: string; object: string | null; confidence: number }
/** The name that "I" refers to, and whether the line of the clause begins with a greeting. */
export type Speaker = { name: string; isGreeting: boolean }
/**
 * The pattern matches from the beginning of a clause. `read` gets its groups; '' for a group that did not match.
 * `needs` limits the clauses that are tried: SELF to those that begin with "I" or "we", AM and HAVE to those that begin
 * with these and a form of "be" or "have", BE to both of them, MY to those that contain "my" or "our", ME to those that
 * contain "me" or "us", and MINE to all four.
 */
export type Rule = { pattern: RegExp; read: Reader; needs: Need }
type Reader = (match: string[], speaker: Speaker) => Statement | Statement[] | null
type Need = 'ANY' | 'SELF' | 'AM' | 'HAVE' | 'BE' | 'MY' | 'ME' | 'MINE'

/** Adverbs between the subject and the verb. */
const ADV =
  "(?:(?:'ve |have )?(?:really|absolutely|just|also|always|still|currently|now|only|totally|truly|actually|"
  + 'mostly|usually|typically|generally|normally|kind of|definetly|definately|both|all|recently|finally|'
  + 'mainly|often|officially|simply|personally|definitely|'
  + 'particularly|especially|sometimes|happily|quite|very|super|so|such) )*'
/** Beginnings of patterns: the subject, with a form of "be" or "have", and adverbs. */
export const I = `(?:i|we) ${ADV}`
export const AM = `(?:i'm|i am|we're|we are) ${ADV}`
export const HAVE = `(?:i've|i have|we've|we have)(?: just| recently| finally| now)?`

export const NOT = "(?:don't|do not|can't|cannot|can not|never|don't really|do not really|really don't)"

const ruleFor =
  (needs: Need) =>
  (pattern: string, read: Reader): Rule => ({ pattern: new RegExp(`^${pattern}`, 'iu'), read, needs })
export const rule = ruleFor('ANY')
export const selfRule = ruleFor('SELF')
export const amRule = ruleFor('AM')
export const haveRule = ruleFor('HAVE')
export const beRule = ruleFor('BE')
export const myRule = ruleFor('MY')
export const meRule = ruleFor('ME')
export const mineRule = ruleFor('MINE')

const NEEDS: [Need, RegExp][] = [
  ['SELF', /^(?:i|we)\b/i],
  ['AM', /^(?:i'm|i am|we're|we are)\b/i],
  ['HAVE', /^(?:i've|i have|we've|we have)\b/i],
  ['BE', /^(?:i'm|i am|we're|we are|i've|i have|we've|we have)\b/i],
  ['MY', /\b(?:my|our)\b/i],
  ['ME', /\b(?:me|us)\b/i],
  ['MINE', /\b(?:my|our|me|us)\b/i],
]
/** For each list of rules, the rules that apply to clauses with the same needs satisfied, by these needs. */
const selections = new WeakMap<readonly Rule[], Map<string, Rule[]>>()

/** Returns the rules whose needs the clause satisfies, in order. */
export function applicable(rules: readonly Rule[], clause: string): Rule[] {
  const satisfied = NEEDS.filter(([, pattern]) => pattern.test(clause)).map(([need]) => need)
  const key = satisfied.join()
  const byKey = selections.get(rules) ?? new Map<string, Rule[]>()
  selections.set(rules, byKey)
  const known = byKey.get(key) ?? rules.filter(({ needs }) => needs === 'ANY' || satisfied.includes(needs))
  byKey.set(key, known)
  return known
}

export const statement = (predicate: string, object: string | null, confidence = 0.9): Statement => ({
  predicate,
  object,
  confidence,
})
