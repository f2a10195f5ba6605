// The main extraction rules, for lasting statements that need no context. A rule has a pattern for clauses in the first
// person, and returns the statements of a match. The first rule that matches and finds an object is used.

import { LIKES } from './likes.ts'
import { organisation, place, properName, thing, wholeName } from './objects.ts'
import { COUNTED, JOBS, RELATIVES, LANGUAGES, PLAYED, PROPERTIES, STATES } from './lists.ts'
import { AM, HAVE, I, NOT, rule, statement, type Rule, type Statement } from './rule.ts'

/** Words that make a negation mean "no longer". */
const LATELY = '(?: anymore| any more| any longer)'

/** Reads a list of names, such as "Max and Moritz". */
const namesIn = (text: string): string[] =>
  text
    .split(/,? and |, /)
    .map((part) => wholeName(part))
    .filter((name) => name !== null)

const languages = new RegExp(`\\b(?:${LANGUAGES})\\b`, 'giu')
const isCapital = (text: string) => /^\p{Lu}/u.test(text)

/** Endings of words after a greeting that are not names, such as nationalities: "Hi, I'm German". */
const DEMONYM = /(?:ish|ese|ian|ican|man|nch|ch|ss|ek|ai|adian|ing|ed)$/

export const RULES: Rule[] = [
  // Names
  rule("my (?:full |real |first |given )?name(?:'s| is|’s) (.+)$", ([, name]) =>
    statement('is named', wholeName(name!), 0.95),
  ),
  rule("(?:i'm|i am|this is) (.+)$", ([, name], { isGreeting }) => {
    const found = isGreeting ? wholeName(name!) : null
    return found && found.split(' ').length < 4 && !DEMONYM.test(found) ? statement('is named', found) : null
  }),
  rule('(?:you can |please |just |my friends |my family |friends |people |everyone )*calls? me (.+)$', ([, name]) =>
    statement('goes by', wholeName(name!)),
  ),
  // Places
  rule(
    `(?:${I}(?:live|reside)|${AM}(?:living|based|located|residing)|${HAVE} (?:lived|been living)) in (.+)$`,
    ([, where]) => statement('lives in', place(where!), 0.95),
  ),
  rule(`(?:${I}|${HAVE} )(?:moved|relocated)(?: back| out| here| over)?(?: from [^,]+?)? to (.+)$`, ([, where]) =>
    statement('lives in', place(where!), 0.85),
  ),
  rule(`(?:i|we) (?:no longer live|used to live) in (.+?)${LATELY}?$`, ([, where]) =>
    statement('no longer lives in', place(where!)),
  ),
  rule(`(?:i|we) (?:don't|do not) (?:actually )?live in (.+?)(${LATELY})?$`, ([, where, lately]) =>
    statement(lately ? 'no longer lives in' : 'does not live in', place(where!)),
  ),
  rule('(?:i|we) moved (?:away from|out of) (.+)$', ([, where]) =>
    statement('no longer lives in', place(where!), 0.85),
  ),
  rule("(?:i'm|i am|i come|i came) (?:originally )?from (.+)$", ([, where]) => statement('comes from', place(where!))),
  rule('i was born (?:and raised )?in (.+)$', ([, where]) => statement('was born in', place(where!))),
  rule('i (?:grew up|was raised) in (.+)$', ([, where]) => statement('grew up in', place(where!))),
  rule("my (?:home ?town|home country|home city) (?:is|'s) (.+)$", ([, where]) =>
    statement('comes from', place(where!)),
  ),
  rule('(?:.{0,80} )?my (?:home ?town|home country|home city), (.+)$', ([, where]) =>
    statement('comes from', place(where!)),
  ),
  // Work and study
  rule(
    `(?:i|we) (?:no longer work|don't work|do not work|used to work) (?:at|for) (.+?)${LATELY}?$`,
    ([, org], { name }) => statement('no longer works at', organisation(org!, name)),
  ),
  rule(
    'i (?:just |recently |finally )*(?:quit|left|resigned from|lost|got fired from|was laid off from) (?:my |'
      + 'the )?job (?:at|with) (.+)$',
    ([, org], { name }) => statement('no longer works at', organisation(org!, name)),
  ),
  rule(
    `(?:${I}work|i'm (?:currently |now |still )*working|${HAVE} (?:worked|been working)) (?:at|for) (.+)$`,
    ([, org], { name }) => statement('works at', organisation(org!, name)),
  ),
  rule(
    'i (?:just |recently |finally )*(?:got|landed|took|started|accepted|have) (?:a|my|the) (?:new )?job (?:at|'
      + 'with) (.+)$',
    ([, org], { name }) => statement('works at', organisation(org!, name)),
  ),
  rule(
    `(?:i (?:just |recently )*started|${HAVE} started) (?:working|work) (?:at|for|with) (.+)$`,
    ([, org], { name }) => statement('works at', organisation(org!, name)),
  ),
  rule(
    `(?:${I}work|i'm (?:currently |now |still )*working|${HAVE} been working) as (?:an? |the )?(.+)$`,
    ([, job], { name }) => statement('works as', thing(job!.replace(/\s(?:at|for|in|with)\s.*$/i, ''), name)),
  ),
  rule("(?:i'm |i am )(?:currently |still )?(?:a |an )?(?:\\w+ )?student at (.+)$", ([, org], { name }) =>
    statement('studies at', organisation(org!, name)),
  ),
  rule(
    `${AM}(?:an? )((?:[\\p{L}-]+ ){0,3}?(?:${JOBS}))(?:(?: at| for| with) (.+)|(?=$|,| (?:and|in|from|by|who|`
      + `based|living)\\b).*)$`,
    ([, job, org], { name }) => {
      if (/\b(?:good|bad|great|not|huge|big|terrible|former|better|real)\b/i.test(job!)) return null
      const at = org && isCapital(org) ? organisation(org, name) : null
      return [statement('works as', job!.replace(/^(?:an?|the) /i, '')), ...(at ? [statement('works at', at)] : [])]
    },
  ),
  rule(`${I}work in ((?:[a-z][\\w-]+ ){0,2}[a-z][\\w-]+)$`, ([, field], { name }) =>
    isCapital(field!) || /^(?:the|an?|my)\b/.test(field!) ? null : statement('works in', thing(field!, name)),
  ),
  rule(
    `(?:${I}(?:study|major in)|i'm (?:currently |still )*(?:studying|majoring in))(?! (?:hard|for|at|a lot|`
      + `so)) (.+)$`,
    ([, what], { name }) => statement('studies', thing(what!.replace(/\s(?:at|for|in)\s.*$/i, ''), name)),
  ),
  rule('i (?:just |recently |finally )*graduated from (.+)$', ([, org]) =>
    statement('graduated from', properName(org!)),
  ),
  rule(
    "i (?:have|hold|got) an? (?:degree|bachelor's|bachelor's degree|master's|master's degree|phd|"
      + 'doctorate) in (.+)$',
    ([, what], { name }) => statement('has a degree in', thing(what!.replace(/\s(?:from|at)\s.*$/i, ''), name)),
  ),
  rule(`(?:${I}volunteer|${AM}volunteering|${HAVE} been volunteering) (?:at|for|with) (.+)$`, ([, org], { name }) =>
    statement('volunteers at', thing(org!, name)),
  ),
  rule('(?:i|we) (own|run) ((?:an?|my own|the) .+)$', ([, verb, what], { name }) =>
    /\b(?:marathon|race|errands?|risk|bath|fever|mile)\b/i.test(what!)
      ? null
      : statement(verb!.toLowerCase() === 'own' ? 'owns' : 'runs', thing(what!.replace(/^my own/i, 'a'), name)),
  ),
  // Identity
  rule("i(?:'m| am) (\\d{1,3}) (?:years? old|years? of age|months? old)$", ([whole, age]) =>
    Number(age) > 110 ? null : statement('is aged', /month/i.test(whole!) ? `${age} months` : age!),
  ),
  rule("i(?:'m| am) (\\d{2,3})(?: years? old| years? of age| yo| y/o)?$", ([, age]) => aged(age!)),
  rule('i (?:just |recently )?turned (\\d{2,3})(?:$| (?:years|last|this|on|yesterday|today|in)\\b)', ([, age]) =>
    aged(age!),
  ),
  rule(`${AM}allergic to (.+)$`, ([, what], { name }) => statement('is allergic to', thing(what!, name), 0.95)),
  rule(`(?:${AM}|i (?:just |recently )?got )(married|engaged) to (.+)$`, ([, state, who]) =>
    statement(`is ${state!.toLowerCase()} to`, properName(who!)),
  ),
  rule(
    `(?:${AM}|i (?:just )?got )(${STATES})(?:$|,| (?:and|since|for|now|with|of (?:one|two|three|four|five|`
      + `\\d))\\b.*)`,
    ([whole, state]) => {
      const of = / of (?:one|two|three|four|five|\d)\b/i.exec(whole!)?.[0] ?? ''
      return statement('is', `${state!.toLowerCase()}${of}`)
    },
  ),
  // Family and pets
  rule(`my (${RELATIVES})(?:'s name)?(?:'s| is| was)(?: called| named)? (.+)$`, ([, relative, who]) =>
    statement(`has a ${relative!.toLowerCase()} named`, wholeName(who!)),
  ),
  rule(
    `(?:${I}(?:have|got|adopted)|${HAVE}(?: got)?) (?:an?|another) ((?:[\\p{L}\\d-]+ ){0,3}?)(${RELATIVES})`
      + `(?:,? (?:named|called|whose name is))[,:]? (.+)$`,
    ([, , relative, who]) => statement(`has a ${relative!.toLowerCase()} named`, properName(who!)),
  ),
  rule(
    `(?:${I}have|${HAVE}(?: got)?) ((?:one|two|three|four|five|six|seven|`
      + `\\d)(?: \\p{L}+){0,2}? (?:${COUNTED}))(?:(?:,? (?:named|called)|:|,)? (.+))?$`,
    ([, what, names], { name }) => {
      const relative = what!
        .split(' ')
        .at(-1)!
        .replace(/ies$/, 'y')
        .replace(/children|grandkids/, (many) => (many === 'children' ? 'child' : 'grandkid'))
        .replace(/s$/, '')
        .toLowerCase()
      const own = names ? namesIn(names) : []
      return [statement('has', thing(what!, name)), ...own.map((each) => statement(`has a ${relative} named`, each))]
    },
  ),
  // Likes
  ...LIKES,
  rule(`${I}(?:play|practice) (?:the )?(${PLAYED})\\b`, ([, what]) => statement('plays', what!.toLowerCase())),
  rule(`(?:i|we) (?:can )?(?:also |both )?speak (.+)$`, ([, what]) =>
    /\b(?:no|little|bit|not|some|broken|words?|learning)\b/i.test(what!)
      ? null
      : [...what!.matchAll(languages)].map(([language]) => statement('speaks', language)),
  ),
  rule(`(?:i|we) ${NOT} (eat|drink) (.+)$`, ([, verb, what], { name }) =>
    statement(`does not ${verb!.toLowerCase()}`, thing(what!.replace(/^any /i, ''), name)),
  ),
  rule(`${I}use (.+?)(?: (?:for|as|at|on|every|with|instead|to)\\b.*)?$`, ([, what]) =>
    statement('uses', wholeName(what!), 0.8),
  ),
  rule(
    `${I}(teach|coach|mentor|tutor|knit|sew|bake|paint|draw|write|meditate|garden|foster)(?: (.*))?$`,
    ([, verb, what], { name }) => {
      const object = thing(what!.replace(/^(?:with|on) .*/i, ''), name)
      return object && !/^(?:to|of|about|back|down|up|in|at|for)\b/i.test(object)
        ? statement(thirdPerson(verb!), object, 0.8)
        : null
    },
  ),
  rule(
    '(?:i|we) (?:really |also |still |just )*want to ((?:be|become|learn|start|open|study|work|adopt|travel|write|'
      + 'build|move|own|help|visit|run|create|raise|teach|volunteer|get|live|give|keep|continue|improve|explore|spread|'
      + 'make(?! sure))\\b.+)$',
    ([, what], { name }) => (/\bdifference$/i.test(what!) ? null : statement('wants to', thing(what!, name), 0.75)),
  ),
  rule(
    "(?:i'm|i am|we're|we are|i've been|i have been|we've been) (?:also |now |still |currently |just |"
      + 'really )*(learning|looking into|mentoring|working on|training for|saving (?:up )?for|researching|'
      + 'preparing for|practicing|teaching|coaching|fostering|writing|renovating|getting into|working toward|'
      + 'working towards)(?! (?:that|this|it)\\b) (.+)$',
    ([, doing, what], { name }) =>
      DURATION.test(what!) ? null : statement(`is ${doing!.toLowerCase()}`, thing(what!, name), 0.8),
  ),
  rule(
    `(?:${I}have|`
      + `${HAVE}(?: got)?) (an? (?:[\\p{L}-]+ ){0,2}(?:${RELATIVES})(?: and an? (?:[\\p{L}-]+ ){0,2}(?:${RELATIVES}))?)$`,
    ([, what], { name }) => statement('has', thing(what!, name)),
  ),
  rule(
    `(?:i|we) (?:usually |always |often |also |try to )*((?:go|read|swim|run|cook|bake|paint|work out|exercise|`
      + `meditate|practice|visit|play|walk|jog|cycle|train|eat|drink|watch|meet|`
      + `volunteer)\\b[^,]*? (?:every (?:other )?\\w+|each \\w+|(?:once|twice|three times) (?:a|per) \\w+|`
      + `on (?:weekends|weekdays|\\w+days)|daily|most days))\\b`,
    ([, what], { name }) => (/^run late/i.test(what!) ? null : statement('has the habit', thing(what!, name), 0.8)),
  ),
  rule('i drive (an? .+)$', ([, what], { name }) => statement('drives', thing(what!, name))),
  rule('i collect (?!my thoughts)(.+)$', ([, what], { name }) => statement('collects', thing(what!, name))),
  // Properties
  rule(
    `my (${PROPERTIES})(?:'s| is| are)(?: now| set to)?(?! (?:to be|not|a bit|very|so|really|too)\\b) (.+)$`,
    ([, what, value], { name }) => statement(`has the ${what!.toLowerCase()}`, property(what!, value!, name), 0.85),
  ),
  // Decisions
  rule('(?:decision|decided): ?(.+)$', ([, what], { name }) => statement('decided on', thing(what!, name), 0.85)),
  rule(
    `(?:i|we)(?:'ve| have)? (?:finally |just |both |all |now |already )*(?:decided|agreed) (to|on|against) (.+)$`,
    ([, to, what], { name }) => statement(`decided ${to!.toLowerCase()}`, thing(what!, name), 0.85),
  ),
]

/** The third person singular of a verb. */
const thirdPerson = (verb: string) => `${verb.toLowerCase()}${/(?:ch|sh|s)$/i.test(verb) ? 'es' : 's'}`

/** Durations. The rules in events.ts read clauses that contain one. */
const DURATION = /\b(?:for|since) (?:\d|an?\b|one|two|three|four|five|six|seven|eight|nine|ten)/i

/**
 * Reads a property's value. Pronouns such as "she/her" are a value. An infinitive is a value only of a goal, a job or a
 * dream.
 */
function property(what: string, value: string, name: string): string | null {
  if (/^[a-z]+\/[a-z]+(?:\/[a-z]+)?$/i.test(value)) return value
  if (/^(?:to |going|getting|wrong|different)/i.test(value) && !/goal|job|dream/i.test(what)) return null
  return thing(value, name)
}

/** Returns a statement of the age in years; null unless it is 10 to 110. */
const aged = (age: string): Statement | null =>
  Number(age) >= 10 && Number(age) <= 110 ? statement('is aged', age, 0.9) : null

/** The words before a relative's name, anywhere in a clause: "my sister" of "my sister Anna". */
export const RELATIVE_NAMED = new RegExp(
  `\\bmy (?:(?:little|big|older|younger|eldest|oldest|youngest|dear|late|new) )?(${RELATIVES}) (?=\\p{Lu})`,
  'giu',
)

/** A statement about one or more relatives: "my kids love …". */
export const OF_RELATIVE = new RegExp(
  `^(?:my|our) ((?:(?:little|big|older|younger|eldest|oldest|youngest) )?(?:${RELATIVES}|${COUNTED})) `
    + `(lives?|works?|loves?|likes?|enjoys?|plays?|speaks?|hates?|is|are|moved|studies|teaches|has)( .+)$`,
  'iu',
)
