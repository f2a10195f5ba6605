// Reads the ties that a clause takes for granted: "I walked my dog" says that the speaker has a dog. Ties that everybody
// has, such as parents, and ties that may be over are not facts.

import { statement, type Statement } from '../rule.ts'
import { PAST, THIRD, verbOf } from './verbs.ts'

const PARTNERS = 'wife|husband|fiancée?|fiancee?|girlfriend|boyfriend|roommates?|housemates?|flatmates?'
const KIN =
  'sons?|daughters?|kids|children|brothers?|sisters?|siblings|nephews?|nieces?|grandkids|grandchildren|'
  + 'stepsons?|stepdaughters?|stepkids|grandsons?|granddaughters?'
const ANIMALS = 'dogs?|puppy|puppies|cats?|kittens?|hamsters?|rabbits?|parrots?|horses?|tortoise|guinea pigs?'

const TIE = new RegExp(
  String.raw`\bmy (?:own )?((?:(?:little|big|older|younger|oldest|youngest|twin|baby) )?(?:${PARTNERS}|`
    + String.raw`${KIN}|${ANIMALS}))`
    + String.raw`(?=$|['’]s\b|[,.;!)]| ([\p{L}'’]+))`,
  'giu',
)
/** Words after a tie that are no nouns, so that "my dog walker" is no dog. */
const FUNCTION_WORDS = new Set(
  `is are has can and or but who to at with for from about when because so while since if on out up by also just still
  always never really usually sometimes isn't doesn't don't keeps too as today yesterday`.split(/\s+/),
)
/** Signs that the tie is over, or that it is not the speaker's. */
const OVER = new RegExp(
  String.raw`\b(?:was|were|used to|had|ex|late|lost|loss|miss(?:ed|ing)?|died|dead|passed|funeral|buried|`
    + String.raw`broke|break up|divorced?|left|growing up|childhood|as a (?:kid|child|teen\w*)|back then|`
    + String.raw`when i|ago|gone|future|someday|`
    + String.raw`one day|no|not|never|\w+n't|imaginary|old)\b`,
  'i',
)

/** Returns a statement for each tie of the clause; none if the clause may speak of the past. */
export function tiesIn(clause: string): Statement[] {
  if (OVER.test(clause)) return []
  return [...clause.matchAll(TIE)].flatMap(([, tie = '', next]) => {
    const verb = next === undefined ? null : verbOf(next.toLowerCase())
    const isPhrase =
      next === undefined || FUNCTION_WORDS.has(next.toLowerCase()) || (verb && verb.forms & (THIRD | PAST))
    return isPhrase ? [statement('has', withArticle(tie.toLowerCase()), 0.8)] : []
  })
}

const MANY = /(?:s|children)$/
const withArticle = (tie: string) => (MANY.test(tie) ? tie : `${/^[aeiou]/.test(tie) ? 'an' : 'a'} ${tie}`)
