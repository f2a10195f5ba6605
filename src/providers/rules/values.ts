// The rules for clauses about a topic: what the speaker values, benefits from, is motivated by, or prefers of its kind, as
// in "Pottery keeps me calm" and "Rome is my favourite city". A topic must make sense without its context.

import { standalone, thing } from './sentences/objects.ts'
import { favorite, rule, statement, type Rule } from './rule.ts'
import { topic } from './tastes.ts'

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

/** A word of the kind in "my favourite kind". */
const KIND_WORD =
  '(?!of\\b|to\\b|for\\b|part\\b|thing|one\\b|ones\\b|time\\b|moment|place to\\b|because\\b|so\\b|and\\b)[\\p{L}-]+'

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
    `(.+?)(?:${IS}| became| has become)${VERY} (?:an? )?(?:huge|big|important|essential|major|crucial|`
      + `key) (?:part|element) of (?:my|our) (?:lives|life|(?:daily |self-?care |morning |`
      + `evening )?routine)(?=$|[,. ]).*`,
    ([, what], { name }) => statement('values', topic(what!, name), 0.8),
  ),
  rule(`(.+?)${IS} the most important (?:thing|part) (?:${TO_ME}|of my life|in my life)${REST}`, ([, what], { name }) =>
    statement('values', topic(what!, name), 0.8),
  ),
  rule(`(?:that )?it's${VERY} important ${TO_ME} to (.+)$`, ([, what], { name }) =>
    statement('finds it important to', thing(what!, name), 0.8),
  ),
  // Benefits. The cause must need no context. The object must be "me", because "us" may mean people in general.
  rule(
    `(.+?)(?:'s|'ve| has| have)?(?: really| always| also| definitely)* (helps?|helped|lets?|allows?|allowed) me`
      + '(?: to)? (?!(?:out|know|see|be|go|in|help|think|tell|say)\\b)(\\p{L}+ .+|relax|unwind|'
      + 'focus|de-?stress|heal|recharge)$',
    ([, what, verb, effect], { name }) => {
      const [cause, good] = [topic(what!, name), thing(effect!, name)]
      const isOver = /ed$/i.test(verb!)
      return statement(isOver ? 'was helped by' : 'is helped by', cause && good && `${cause} to ${good}`, 0.75)
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
  rule(
    `(.+?) (?:is|are) (?:also |next |up |still |definitely )*on (?:my|our) bucket ?list${REST}`,
    ([, what], { name }) => statement('has on the bucket list', topic(what!, name), 0.8),
  ),
  // Favourites
  rule(
    `(.+?)${IS}(?: mostly| definitely| totally| really| also| always| probably| still|`
      + ` by far)*(?: one(?: of)?)? (?:my|our) (?:all-time |all time |absolute |new |main |number one |real |`
      + `true |personal |other )*${FAVOURITE}${REST}`,
    ([, what], { name }) => statement('likes', topic(what!, name), 0.85),
  ),
  rule(
    `(.+?)(?:${IS}| (?:has|have) become| became)(?: definitely| really| also| still| probably|`
      + ` by far)* ((?:one|some) (?:of )?)?(?:my|our) (?:all-time |all time |absolute |personal |`
      + `very )*`
      + `favou?rites? ((?:${KIND_WORD} ){0,2}?${KIND_WORD})`
      + '(?:$|,.*| (?:of all time|ever|so far|in the|in the world|'
      + 'to (?:watch|eat|play|visit|cook|read|drink|listen to|do)|and i|because|but|since|by|as)\\b.*)',
    ([, what, several, kind], { name }) => {
      const object = favoriteTopic(what!, name)
      const of = thing(kind!, name)
      if (!of || object === null) return null
      return favorite(of, object, several !== '')
    },
  ),
]

/** Reads the subject of "… is my favourite"; null for "this", "the first one" and the like. */
function favoriteTopic(text: string, name: string): string | null {
  const bare = text.replace(/^(?:(?:yes|yeah|oh|well|wow|honestly|personally|i think|also|for me),? )+/i, '')
  if (/^(?:my|what|which|one|this|that|it|he|she|they|these|those|you|the)\b/i.test(bare)) return null
  return topic(bare, name) && standalone(bare, name)
}
