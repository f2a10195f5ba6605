// The rules for clauses about something of the speaker's, as in "My name is …", "My favourite food is …" and "My hobbies
// are …", and for decisions. Clauses about what relatives do are rewritten by subjects.ts.

import { properName, standalone, thing, wholeName } from './sentences/objects.ts'
import { place } from './places.ts'
import { PROPERTIES, RELATIVES } from './lists.ts'
import { favorite, rule, statement, type Rule } from './rule.ts'
import { liking } from './tastes.ts'

/** Endings of words after a greeting that are not names, such as nationalities: "Hi, I'm German". */
const DEMONYM = /(?:ish|ese|ian|ican|man|nch|ch|ss|ek|ai|adian|ing|ed)$/

/** Reads the name in "Hi, I'm Ada"; null unless the sentence is a greeting. */
export const GREETING_RULES: Rule[] = [
  rule("(?:i'm|i am|this is) (.+)$", ([, name], { isGreeting }) => {
    const found = isGreeting ? wholeName(name!) : null
    return found && found.split(' ').length < 4 && !DEMONYM.test(found) ? statement('is named', found) : null
  }),
]

/** Words after "is called" that are no names. */
const NOT_A_NAME = new RegExp(
  String.raw`^(?:not|so|really|very|pretty|just|the|an?|also|actually|on|too|like|unique|weird|here|`
    + String.raw`there|cute|funny)$`,
)

/** Reads a name that may lack its capital: "soufflé" becomes "Soufflé". */
function named(text: string): string | null {
  const name = wholeName(text)
  if (name) return name
  const [word] = /^\p{Ll}[\p{L}'-]{1,20}$/u.exec(text) ?? []
  return word && !NOT_A_NAME.test(word) ? word.charAt(0).toUpperCase() + word.slice(1) : null
}

/** Values that only judge: "hard", "the best". */
const JUDGEMENT = new RegExp(
  String.raw`^(?:the (?:same|best|worst)|tiring|hard|great|good|easy|fun|busy|awesome|amazing|`
    + String.raw`stressful|boring|ok|okay|fine)\b`,
  'i',
)

/**
 * Reads a property's value. Pronouns such as "she/her" are a value. An infinitive is a value only of a goal, a job or a
 * dream.
 */
function property(what: string, value: string, name: string): string | null {
  if (/^[a-z]+\/[a-z]+(?:\/[a-z]+)?$/i.test(value)) return value
  if (/\b(?:is|are)\b/i.test(value)) return null
  if (/^(?:to |going|getting|wrong|different)/i.test(value) && !/goal|job|dream/i.test(what)) return null
  return JUDGEMENT.test(value) ? null : (/^to /i.test(value) ? standalone : thing)(value, name)
}

/** Kinds of favourites that are no kinds of things. */
const NO_KIND = new RegExp(
  String.raw`(?:^|\s)(?:bits?|scenes?|levels?|characters?|lines?|features?|versions?|episodes?)$|`
    + String.raw`^(?:part|parts|thing|things|one|ones|memory|memories|moment|time|way|aspect|place to|`
    + String.raw`about)\b`,
  'i',
)

export const MY_RULES: Rule[] = [
  rule("my (?:full |real |first |given )?name(?:'s| is|’s) (.+)$", ([, name]) =>
    statement('is named', wholeName(name!), 0.95),
  ),
  rule("my (?:home ?town|home country|home city) (?:is|'s) (.+)$", ([, where]) =>
    statement('comes from', place(where!)),
  ),
  rule(`my (${RELATIVES})(?:'s?|s)? name(?:'s| is| was) (.+)$`, ([, relative, who]) =>
    statement(`has a ${relative!.toLowerCase()} named`, named(who!)),
  ),
  rule(`my (${RELATIVES})(?:'s| is| was) (?:called|named) (.+)$`, ([, relative, who]) =>
    statement(`has a ${relative!.toLowerCase()} named`, named(who!)),
  ),
  rule(`my (${RELATIVES})(?:'s| is| was) (.+)$`, ([, relative, who]) =>
    statement(`has a ${relative!.toLowerCase()} named`, DEMONYM.test(who!) ? null : wholeName(who!)),
  ),
  rule(
    `(?:one of )?my (?:all-time |absolute |all time |very |personal |`
      + `other )*favou?rites? ((?:[\\p{L}-]+ ){0,3}?[\\p{L}-]+)(?:'s| is| are|`
      + ` has always been| has to be| would be)(?: probably| definitely| actually| still|`
      + ` currently)*(?! (?:when|to see|how|that|not|the one|because|a tie)\\b) (.+)$`,
    ([whole, given, what], { name }) => {
      const kind = given!.replace(/ of all time$/i, '')
      const of = NO_KIND.test(kind) ? null : thing(kind, name)
      // In "my favorite films are the Alien films", the words after "the" need no context.
      const isOfKind = /^the /i.test(what!) && what!.endsWith(` ${kind}`)
      const object = isOfKind ? standalone(what!, name) : liking(what!, name)
      return of && !/flavou?rs?$/.test(of) ? favorite(of, object, /^one of/i.test(whole!)) : null
    },
  ),
  rule(
    'my (?:personal |all-time |all time )?favou?rites?(?: of all time)? (?:is|are|has to be) (.+)$',
    ([, what], { name }) =>
      statement(
        'likes',
        /^(?:when|how|the (?:one|first|second|last)|an? (?!lot)|probably)\b/i.test(what!) ? null : liking(what!, name),
        0.8,
      ),
  ),
  rule(
    '(?:one of )?my (?:main |biggest |other |favou?rite |new )*(?:hobb(?:y|ies)|passions?|'
      + "pastimes?)(?:'s| is| are| include)(?! (?:to be|not)\\b) (.+)$",
    ([, what], { name }) => statement('has the hobby', liking(what!.replace(/^to /i, ''), name), 0.85),
  ),
  rule(
    "(?:one of )?my (?:main |biggest |other |first |ultimate )*(?:new year'?s? )?(goals?|"
      + 'dreams?|resolutions?|ambitions?)(?: (?:for|in) [^,]{1,30}?| this year| one day|'
      + " in life)?(?:'s| is| are| has always been) (?:just )?(to .+)$",
    ([, kind, what], { name }) =>
      statement(`has the ${kind!.toLowerCase().replace(/s$/, '')}`, standalone(what!, name), 0.8),
  ),
  rule(
    `my (${PROPERTIES})(?:'s| is| are)(?: now| set to)?(?! (?:to be|not|a bit|very|so|really|too)\\b) (.+)$`,
    ([, what, value], { name }) => statement(`has the ${what!.toLowerCase()}`, property(what!, value!, name), 0.85),
  ),
  rule('my (.+?) internship(?:$|[, ].*)', ([, where]) => {
    const company = properName(where!)
    return statement('interned at', company === where ? company : null, 0.8)
  }),
  rule("my major(?:'s| is)(?: in)? (.+)$", ([, what], { name }) => statement('studies', standalone(what!, name), 0.85)),
]

export const OTHER_RULES: Rule[] = [
  rule('(?:you can |please |just |my friends |my family |friends |people |everyone )*calls? me (.+)$', ([, name]) =>
    statement('goes by', wholeName(name!)),
  ),
  rule('(?:.{0,80} )?my (?:home ?town|home country|home city), (.+)$', ([, where]) =>
    statement('comes from', place(where!)),
  ),
  rule(
    "(.+?)(?:'s| has| have)?(?: also| really| actually| recently)* (?:got|gotten) me (?:back |really )?into (.+)$",
    ([, , what], { name }) => statement('got into', liking(what!, name), 0.8),
  ),
  rule(
    '(?:most |some )?(?:people|others|everyone|friends)(?: around me| usually| often| always|'
      + ' generally)* (?:see|know|describe) me as (.+)$',
    ([, what], { name }) => statement('is seen as', standalone(what!, name), 0.8),
  ),
  rule('(?:decision|decided): ?(.+)$', ([, what], { name }) => statement('decided on', thing(what!, name), 0.85)),
  rule(
    "(?:it's|it is|it has) (?:always )?been (?:a|my) (?:\\p{L}+ )?dream (?:of mine )?to (.+)$",
    ([, what], { name }) => statement('dreams to', standalone(what!, name), 0.8),
  ),
]

/** The words before a relative's name, anywhere in a clause: "my sister" of "my sister Anna". */
export const RELATIVE_NAMED = new RegExp(
  `\\bmy (?:(?:little|big|older|younger|eldest|oldest|youngest|dear|late|new) )?(${RELATIVES}) (?=\\p{Lu})`,
  'giu',
)
/** A relative's name in apposition: "…, Rex, my dog". Excludes the first word of a sentence, and places. */
export const NAMED_RELATIVE = new RegExp(
  String.raw`(?<!\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Oo]n)\s)(?<=[\p{Ll}\d][-–—,]?\s)(\p{Lu}\p{L}+), my `
    + String.raw`(?:\p{Ll}+ )?(${RELATIVES})(?=$|[,.])`,
  'gu',
)
