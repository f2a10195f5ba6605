// The rules for personal values: for topics that the speaker values, benefits from, is motivated by or believes in. A
// topic must make sense without its context: "pottery" does; "the trip", "this" and "your words" do not.

import { thing } from './objects.ts'
import { AM, HAVE, I, rule, statement, type Rule } from './rule.ts'

/** Finite verbs. A topic with one is a part of a sentence. */
const FINITE = /\b(?:is|are|was|were|has|have|had|can|will|do|does|did|makes?|helps?|gets?|says?|means?|isn't|not)\b/i
/** Topics that need context. "The sea" and similar topics do not. */
const NEEDS_CONTEXT = new RegExp(
  String.raw`^(?:the(?! (?:environment|planet|climate|sea|ocean|beach|outdoors|mountains|arts?|truth|future)$)|this|`
    + String.raw`that|these|those|an?|my favou?rite|thanks?|and|or|but|just|no|nobody|none|not|few|`
    + String.raw`little|hardly|seeing|hearing|knowing|such)\b|`
    + String.raw`\b(?:me|us)\b`,
  'i',
)
/** Maximum number of words of a topic. */
const MAX_TOPIC_WORDS = 7

/** Reads a topic, which may be a list: "Friends, family and music". Null if it needs context or is too long. */
function topic(text: string, name: string): string | null {
  const list = text.trim().replace(/, /g, ' + ')
  if (NEEDS_CONTEXT.test(list) || FINITE.test(list) || list.split(' ').length > MAX_TOPIC_WORDS) return null
  return thing(list, name)?.replaceAll(' +', ',') ?? null
}

/** Adverbs before an adjective, such as "so very", which are omitted. */
const VERY = '(?: also| all| always| just| really| so| very| super| incredibly| extremely| especially| such)*'
const IS = "(?:'s|'re| is| are)"
const TO_ME = '(?:to|for) me'
/** The end of the clause, with another clause that may follow. */
const REST = "(?:$|,.*| (?:and (?:it|they|i)|as|because|so|'cause)\\b.*|-+ .*)"
/** Feelings, as a closed list that excludes "gives me a headache". */
const FEELINGS =
  'joy|peace|happiness|comfort|strength|hope|purpose|freedom|calm|energy|confidence|courage|'
  + 'inspiration|fulfil?lment|motivation|balance|clarity|serenity'
const FAVOURITE =
  '(?:fave?s?|favou?rites?|thing|jam|passions?|go-to|happy place|hobb(?:y|ies)|muses?|specialty|'
  + 'favou?rite (?:things?|hobb(?:y|ies)|activit(?:y|ies)|pastimes?)(?: to do)?)'

/** Predicates for nouns in "… is my rock". */
const SUPPORTS: Record<string, string> = {
  rock: 'draws strength from',
  rocks: 'draws strength from',
  strength: 'draws strength from',
  support: 'draws strength from',
  'support system': 'draws strength from',
  inspiration: 'is inspired by',
  inspirations: 'is inspired by',
  motivation: 'is motivated by',
  'role model': 'looks up to',
  'role models': 'looks up to',
  hero: 'looks up to',
  heroes: 'looks up to',
}
/** Predicates for verbs in "… inspires me". */
const DRIVEN: Record<string, string> = {
  motivate: 'is motivated by',
  inspire: 'is inspired by',
  drive: 'is motivated by',
}

export const VALUES: Rule[] = [
  rule(`(.+?)${IS}${VERY} (?:important|precious|dear|sacred|everything) ${TO_ME}${REST}`, ([, what], { name }) =>
    statement('values', topic(what!, name), 0.85),
  ),
  rule(
    `(.+?) (?:really |always |truly )*(?:matters?|means? (?:a lot|so much|everything|the world)|has a lot of `
      + `(?:significance|meaning))(?: most| so much| a lot)? ${TO_ME}${REST}`,
    ([, what], { name }) => statement('values', topic(what!, name), 0.8),
  ),
  rule(
    `(.+?)${IS}${VERY} (?:an? )?(?:huge|big|important|essential|major) part of (?:my|our) (?:lives|life)${REST}`,
    ([, what], { name }) => statement('values', topic(what!, name), 0.8),
  ),
  rule(`(.+?)${IS} the most important (?:thing|part) (?:${TO_ME}|of my life|in my life)${REST}`, ([, what], { name }) =>
    statement('values', topic(what!, name), 0.8),
  ),
  rule(`${I}(?:cherish|value|treasure) (.+)$`, ([, what], { name }) => statement('values', topic(what!, name), 0.85)),
  rule(`${I}care (?:deeply |a lot |so much |very much )*about (.+)$`, ([, what], { name }) =>
    statement('cares about', topic(what!, name), 0.85),
  ),
  rule(`${I}believe in (?!me\\b|us\\b|you\\b|god's)(.+)$`, ([, what], { name }) =>
    statement('believes in', topic(what!, name), 0.8),
  ),
  rule(`(?:(?:i|we) (?:feel|believe|know) )?(?:that )?it's${VERY} important ${TO_ME} to (.+)$`, ([, what], { name }) =>
    statement('finds it important to', thing(what!, name), 0.8),
  ),
  // Benefits. The cause must need no context. The object must be "me", because "us" may mean people in general.
  rule(
    `(.+?)(?:'s|'ve| has| have)?(?: really| always| also| definitely)* (?:helps?|helped|lets?|allows?|allowed) me`
      + '(?: to)? (?!out\\b)(\\p{L}+ .+|relax|unwind|focus|de-?stress|heal|recharge)$',
    ([, what, effect], { name }) => {
      const [cause, good] = [topic(what!, name), thing(effect!, name)]
      return statement('is helped by', cause && good && `${cause} to ${good}`, 0.75)
    },
  ),
  rule(
    `(.+?)(?:'s|'ve| has| have)?(?: really| always| also)* (?:gives?|given|brings?|brought|gave) me `
      + `(?:such |so much |a lot of |lots of |great |real |a (?:real |great )?sense of |pure )*(${FEELINGS})\\b.*$`,
    ([, what, good], { name }) => statement(`finds ${good!.toLowerCase()} in`, topic(what!, name), 0.8),
  ),
  rule(
    '(.+?) (?:really |always |also )*(keeps?|makes?) me ((?:at peace|grounded|sane|motivated|going|calm|happy|'
      + `centered|balanced|busy)(?: and \\p{L}+)?)${REST}`,
    ([, what, verb, state], { name }) =>
      statement(`is ${/^k/i.test(verb!) ? 'kept' : 'made'} ${state!.toLowerCase()} by`, topic(what!, name), 0.8),
  ),
  rule(
    '(.+?) (?:really |always |also )*(motivate|inspire|drive)s? me(?:$|,.*| (?:to|and)\\b.*)',
    ([, what, verb], { name }) => statement(DRIVEN[verb!.toLowerCase()]!, topic(what!, name), 0.8),
  ),
  rule(
    `(.+?) (?:is|are) (?:my|our) (?:biggest |main |greatest |real |true )*(${Object.keys(SUPPORTS).join('|')})`
      + '(?: and \\p{L}+)?$',
    ([, what, support], { name }) => statement(SUPPORTS[support!.toLowerCase()]!, topic(what!, name), 0.8),
  ),
  rule(`${AM}(?:thankful|grateful) for (my .+)$`, ([, what], { name }) =>
    statement('is thankful for', topic(what!, name), 0.75),
  ),
  // Favourites
  rule(
    `(?:${I}found|${HAVE}(?: finally)? found) (?:my|our) (?:\\p{L}+ )?(?:muses?|passions?|calling)(?:,? in|:) (.+)$`,
    ([, what], { name }) => statement('likes', topic(what!, name), 0.85),
  ),
  rule(
    `(.+?)${IS}(?: mostly| definitely| totally| really| also| always)*(?: one of)? (?:my|our) `
      + `(?:all-time |absolute |new |main |number one |real |true )*${FAVOURITE}${REST}`,
    ([, what], { name }) => statement('likes', topic(what!, name), 0.85),
  ),
  rule(`${AM}(?:all about|crazy about|mad about|hooked on) (.+)$`, ([, what], { name }) =>
    statement('likes', topic(what!, name), 0.85),
  ),
]
