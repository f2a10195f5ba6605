// The rules for pets, belongings and people in the speaker's life, and for what the speaker does not have. A mention of
// "my girlfriend" states that the speaker has one.

import { COUNTED, RELATIVES } from './lists.ts'
import { thing } from './objects.ts'
import { HAVE, I, myRule, selfRule, statement, type Rule, type Statement } from './rule.ts'

const PETS =
  'dogs?|pupp(?:y|ies)|pups?|cats?|kittens?|kitty|kitties|hamsters?|rabbits?|bunn(?:y|ies)|parrots?|'
  + 'birds?|fish|turtles?|tortoises?|guinea pigs?|'
  + 'horses?|snakes?|lizards?|geckos?|ferrets?|chickens?|goldfish|parakeets?|budgies?|rottweilers?|'
  + 'labradors?|poodles?|huskies|husky|'
  + 'chihuahuas?|pugs?|corgis?|beagles?|bulldogs?|german shepherds?|golden retrievers?|goldendoodles?|pets?'
const BELONGINGS =
  '(?:home |personal |at home )?gym|laptop|computer|pc|gaming pc|macbook|ipad|iphone|android|console|'
  + 'playstation|ps4|ps5|xbox|nintendo(?: switch| 64| ds)?|ds lite|psp|gamecube|tv|'
  + 'pool|backyard|balcony|fireplace|piano|keyboard|guitar|drum set|violin|bike|car|truck|motorcycle|'
  + 'scooter|boat|house|'
  + 'beach house|apartment|studio|condo|cabin|garden|record player|air fryer|camera|drone|tattoos?|'
  + 'piercings?|scholarship|internship|'
  + '(?:part[- ]time|full[- ]time|side|second) job|side hustle|youtube channel|podcast|blog|website|small '
  + 'business|etsy shop|'
  + "driver'?s license|license|degree|masters?(?:'s)? degree|minor|roommates?|housemates?|flatmates?|"
  + 'twin(?: sister| brother)?|boyfriend|girlfriend|bucket list'
const LACKED =
  "kids|children|siblings|brothers|sisters|any pets|pets|a pet|a dog|a cat|a car|a license|a driver'?s "
  + 'license|a job|a boyfriend|a girlfriend|a favorite|'
  + 'social media|instagram|facebook|twitter|tiktok|snapchat|netflix|a tv|roommates|a roommate|hobbies|'
  + 'allergies|a passport|a degree|tattoos|a balcony|a backyard|a garden|a dishwasher'
const OWNED = `(?:${I}(?:have|own)|${HAVE}(?: got)?)`
const FOLLOWED =
  '(?=$|,|[;(:]|\\s(?:and|but|so|which|because|since|as|too|at|in|by|who|from|when|that|with|for|now|'
  + 'named|called|where|here|to|i|we)\\b)'
const NOUNS = "(?:(?!(?:of|about|for|with|in|on|to|at|and|the|more|question|problem|bad)\\b)[\\p{L}\\d'-]+ ){0,3}?"

/** Reads a possession without "new", because it does not stay new. */
const possession = (text: string, name: string) =>
  thing(text.replace(/^(an?|my own) (?:brand )?new /i, 'a ').replace(/^my own /i, 'a '), name)
const singular = (what: string) =>
  what
    .toLowerCase()
    .replace(/(?:ies)$/, 'y')
    .replace(/s$/, '')

export const POSSESSIONS: Rule[] = [
  myRule(
    "my (\\p{L}+(?: \\p{L}+)?)(?:'s|s'?)? name(?:'s| is) (\\p{L}[\\p{L}'-]*)(?=$|,|\\s(?:and|but|because|"
      + 'since|cause|so)\\b)',
    ([, who, called]) =>
      new RegExp(
        `^(?:${PETS}|(?:girl|boy)friend|son|daughter|(?:big |little |older |younger )?(?:brother|sister)|`
          + `wife|husband|mom|dad|best friend)$`,
        'i',
      ).test(who!)
        ? statement(`has a ${singular(who!)} named`, named(called!), 0.85)
        : null,
  ),
  myRule(
    `my (${PETS}|son|daughter|brother|sister|boyfriend|girlfriend) is (?:called|named) (\\p{L}[\\p{L}'-]*)`,
    ([, who, called]) => statement(`has a ${singular(who!)} named`, named(called!), 0.85),
  ),
  myRule(
    `(?:this is|here's|here is|meet|that's|these are) (?:my|our) (?:new )?(?:baby |little |big `
      + `)?(${PETS})(?: (\\p{Lu}\\p{L}+))?$`,
    ([, what, called]) =>
      called && /^\p{Lu}/u.test(called)
        ? statement(`has a ${singular(what!)} named`, called, 0.8)
        : called
          ? null
          : statement('has', /s$/i.test(what!) ? what!.toLowerCase() : `a ${singular(what!)}`, 0.8),
  ),
  selfRule(
    `(?:${OWNED}|i (?:just |recently |finally |surprisingly |actually |also |even )*(?:got|adopted|`
      + `rescued|bought)|${HAVE}) (?:surprisingly )?((?:an?|two|three|four|five|six|\\d|some|many) `
      + `${NOUNS}(?:${PETS})(?: and (?:an?|two|three|four|\\d) ${NOUNS}(?:${PETS}))?)${FOLLOWED}`,
    ([, what], { name }) => statement('has', possession(what!, name), 0.85),
  ),
  selfRule(
    `i (?:used to have|had) ((?:an?|two|three|four|\\d|many) ${NOUNS}(?:${PETS})) (?:in the past|before|`
      + `growing up|as a (?:kid|child)|when i was .+|back .+)$`,
    ([, what], { name }) => statement('used to have', thing(what!, name), 0.8),
  ),
  selfRule(
    `(?:${OWNED}) ((?:an?|two|three|some|my own|lots of|a lot of|a few) ${NOUNS}(?:${BELONGINGS}))${FOLLOWED}`,
    ([, what], { name }) => statement('has', possession(what!, name), 0.8),
  ),
  selfRule(
    `(?:${OWNED}) ((?:an? )?(?:(?:big|little|older|younger|twin|small|large|huge|baby) )*(?:family|`
      + `brother|sister|son|daughter|husband|wife|boyfriend|girlfriend|fianc[eé]e?|${COUNTED}))(?=$|,|`
      + `\\s(?:and|but|so|who|that|which|named|called|in|from|at|too)\\b)`,
    ([, what], { name }) => statement('has', possession(what!, name), 0.85),
  ),
  selfRule(
    `(?:i|we) (?:actually |still |also |really |currently )*(?:don't|do not) (?:actually |really |`
      + `currently |even )?have (?:any )?(${LACKED})${FOLLOWED}`,
    ([, what]) => statement('does not have', what!.toLowerCase().replace(/^any /, ''), 0.85),
  ),
  selfRule(
    'i (?:actually |currently |still )*live (alone|by myself|on my own|on campus|off campus|downtown|at '
      + 'home|in (?:the )?(?:dorms?|suburbs|city|countryside)|with .+)$',
    ([, how], { name }) =>
      statement(
        'lives',
        how!.toLowerCase() === 'by myself' || how!.toLowerCase() === 'on my own' ? 'alone' : withWhom(how!, name),
        0.85,
      ),
  ),
]

/** Reads a name that may lack its capital: "soufflé" becomes "Soufflé". */
const named = (called: string): string | null =>
  /^(?:not|so|really|very|pretty|just|the|a|an|also|actually|on|too|like)$/i.test(called)
    ? null
    : called.charAt(0).toUpperCase() + called.slice(1)

function withWhom(how: string, name: string): string | null {
  const [, whom] = /^with (.+)$/i.exec(how) ?? []
  const who = whom === undefined ? null : thing(whom, name)
  return whom === undefined ? how.toLowerCase() : who && `with ${who}`
}

/** People and pets that not everyone has, for `presupposed`. */
const PRESUPPOSED =
  'wife|husband|girlfriend|boyfriend|fianc[eé]e?|(?:little |younger |older |big |twin )?(?:brother|'
  + 'sister)|son|daughter|kids|children|roommate|nephew|niece|grandson|granddaughter|grandkids|dog|cat|'
  + 'puppy'
const MENTIONED = new RegExp(
  `\\b(?:my|our) (${PRESUPPOSED})(?:'s)?(?= (?:is|was|and|just|also|has|came|comes|works?|loves?|likes?|`
    + `went|goes|who|wants|always|usually|sometimes|really|\\p{L}+s)\\b)`,
  'iu',
)
/** Words that make a possession past, or a person a former or a future one. */
const FORMER = new RegExp(
  String.raw`\b(?:died|passed|late|ex|former|future|used to|would|childhood|growing up|lost|`
    + String.raw`put down|when (?:i|we) (?:was|were)|had|years ago)\b`,
  'i',
)

/** Returns the person or pet that a clause mentions as the speaker's own: "My girlfriend works at …". */
export function presupposed(text: string): Statement[] {
  const what = /\b(?:my|our)\b/i.test(text) ? MENTIONED.exec(text)?.[1]?.toLowerCase() : undefined
  if (!what || FORMER.test(text) || (/^(?:dog|cat|puppy)$/.test(what) && /\bwas\b/i.test(text))) return []
  const bare = what.replace(/^(?:little|big) /, (size) => (size === 'little ' ? 'younger ' : 'older '))
  return [
    statement(
      'has',
      /^(?:kids|children|grandkids)$/.test(bare) ? bare : `${/^[aeiou]/.test(bare) ? 'an' : 'a'} ${bare}`,
      0.75,
    ),
  ]
}

/** The words before a relative's name, anywhere in a clause: "my sister" of "my sister Anna". */
export const RELATIVE_NAMED = new RegExp(
  `\\bmy (?:(?:little|big|older|younger|eldest|oldest|youngest|dear|late|new) )?(${RELATIVES}) (?=\\p{Lu})`,
  'giu',
)

/** A statement about one or more relatives: "my kids love …". */
export const OF_RELATIVE = new RegExp(
  `^(?:my|our) ((?:(?:little|big|older|younger|eldest|oldest|youngest) )?(?:${RELATIVES}|${COUNTED}|`
    + `parents|grandparents|in-laws)) `
    + `((?:(?:really|also|just|still|always|usually|actually|currently) )*)(lives?|works?|loves?|listens?|`
    + `likes?|enjoys?|plays?|speaks?|hates?|is|are|moved|studies|study|teach(?:es)?|has|have|owns?|`
    + `wants?|got|graduated|collects?|drives?|uses?|prefers?)( .+)$`,
  'iu',
)
