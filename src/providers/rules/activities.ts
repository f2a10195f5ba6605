// The rules for current and former activities, intentions and belongings. They apply only if no rule of patterns.ts or
// events.ts matches. An object must make sense without its context, and momentary activities are not facts.

import { DESK_WORK } from './past-events.ts'
import { RELATIVES } from './lists.ts'
import { properName, thing } from './objects.ts'
import { AM, HAVE, I, rule, statement, type Rule, type Statement } from './rule.ts'

/** Activities that take weeks, as in "I'm … a garden". */
const PROJECTS =
  'creating|building|developing|designing|organi[sz]ing|putting together|setting up|carrying on|'
  + 'raising|restoring|training|rehearsing|exploring|blogging about|attending|volunteering|'
  + 'helping out (?:at|with)'
/** Pastimes that need no object. */
const PASTIMES =
  'running|painting|reading|writing|hiking|swimming|cycling|biking|cooking|baking|gardening|'
  + 'volunteering|working out|dancing|singing|drawing|knitting|sewing|meditating|travell?ing|studying|blogging|'
  + 'networking|journaling|exercising|climbing|skating|surfing|jogging|camping|fishing|sculpting|photographing'
const SPORTS =
  '(?:doing|practi[cs]ing|trying(?: out)?) (?:\\p{L}+ )?(?!being|nothing|something|anything|everything)'
  + '(?:\\p{L}+ing|yoga|karate|judo|taekwondo|pilates|tai chi|meditation|crossfit|gymnastics|ballet|aerobics|'
  + 'martial arts|woodwork|pottery)'
const COURSES = 'taking (?:up |an? )?(?:[\\p{L}-]+ ){0,4}?(?:class|classes|course|courses|lessons?|workshops?)'
/** Beginnings of a project's object. They exclude things that need context, such as "this one". */
const OWN = '(?:an?|my|our|some|more|new|\\p{L}+ing|(?!(?:as|is|was|this|his|its|us|always)\\b)\\p{L}+s)\\b'

/** Verbs of lasting intentions. Verbs of immediate actions are excluded. */
const INTENTIONS =
  'continue|keep (?:\\p{L}+ing)|start|open|study|apply|adopt|move|learn|write|build|create|launch|'
  + 'volunteer|teach|train|travel|visit|organi[sz]e|host|join|run|show|renovate|'
  + 'make(?! (?:sure|it|the|an? (?:plan|list|difference|change|decision))\\b)|retire|quit|buy|sell|publish|'
  + 'go (?:on|to)|become|work (?:on|towards?|with)'

/** Adverbs of a habit. */
const USUALLY = '(?:usually|often|regularly|always|normally|typically)'
/** Verbs of habits. */
const PRACTICES =
  'go (?:\\p{L}+ing|(?:to|for|on) (?:an?|the|my|\\p{L}+s))|read|swim|run|cook|bake|paint|hike|'
  + 'watch|visit|volunteer|meditate|roast|walk|bike|dance|sing|work out|exercise|journal|write|draw|camp|'
  + 'cycle|host|donate|have (?:game|movie|family)'

/** Nouns of belongings, conditions and relationships that are recorded as facts. */
const BELONGINGS =
  'books|records|plants|collection|car|bike|house|apartment|flat|garden|guitar|piano|violin|camera|'
  + 'boat|farm|studio|cabin|tattoos?|library|business|shop|store|motorcycle|telescope|blog|podcast|website|degree|'
  + 'scholarship|internship|mentor|therapist|coach|condition|disability|allergy|asthma|diabetes|adhd|dyslexia|anxiety'

/** Activities without an object, or with a comparison that needs context. */
const INCOMPLETE = new RegExp(
  '^(?:\\p{L}+ )?(?:it|that|this|them|up|sure|going)$|^(?:studying|reading|writing|volunteering|training|planning)$|'
    + '\\b(?:difference|progress|sense|sure|longer|farther|further|faster|better|harder|hard|well|late|much)$',
  'iu',
)
/** Reads an activity with its verb; null if it is incomplete, needs context, or is everyday desk work. */
const action = (text: string, name: string): string | null => {
  const what = thing(text, name)
  return what === null || INCOMPLETE.test(what) || DESK_WORK.test(what) ? null : what
}

/** Returns the statement, with the verb in the predicate, so that "used to play" contradicts "plays". */
function usedTo(what: string | null): Statement {
  const [, verb, object] = /^(\S+) (.+)$/.exec(what ?? '') ?? []
  return verb && object ? statement(`used to ${verb.toLowerCase()}`, object, 0.85) : statement('used to', what, 0.85)
}

export const ACTIVITIES: Rule[] = [
  // Current activities
  rule(`(?:${AM}|${HAVE} been )((?:${PROJECTS}) (?:(?:at|for|with|in) .+|(?:${OWN}).*))$`, ([, what], { name }) =>
    statement('is', action(what!, name), 0.75),
  ),
  rule(`(?:${AM}|${HAVE} been )((?:${COURSES}|${SPORTS})\\b.*)$`, ([, what], { name }) =>
    statement('is', action(what!, name), 0.8),
  ),
  rule(
    `(?:${HAVE} been|${AM})(?: really| also| just)? ?(busy (?:with (?:my )?)?(?:\\p{L}+ing)\\b.*)$`,
    ([, what], { name }) =>
      /(?:doing|getting|trying|thinking|being|having)/i.test(what!)
        ? null
        : statement('has been', action(what!, name), 0.7),
  ),
  rule(`${HAVE} (?:also |really |mostly )?been ((?:${PASTIMES})\\b.*)$`, ([, what], { name }) =>
    statement('has been', action(what!, name), 0.75),
  ),
  rule(
    "(?:i'm|i am) (?!going|talking|thinking|saying|asking|calling|looking|getting)(\\p{L}+ing .+ "
      + '(?:each|every) (?:day|morning|evening|night|week|month|year|weekend))$',
    ([, what], { name }) => statement('has the habit', action(what!, name), 0.75),
  ),
  rule(`(?:i|we) ${USUALLY} ((?:${PRACTICES})\\b.*)$`, ([, what], { name }) =>
    statement('has the habit', action(what!, name), 0.75),
  ),
  // Intentions
  rule(`${AM}planning (?:on |for )?((?!a few|ahead)(?:${OWN}).+)$`, ([, what], { name }) =>
    statement('is planning', action(what!, name), 0.7),
  ),
  rule(`${AM}planning to ((?:${INTENTIONS})\\b.+)$`, ([, what], { name }) =>
    statement('is planning to', action(what!, name), 0.7),
  ),
  rule(`${AM}going to ((?:${INTENTIONS})\\b.+)$`, ([, what], { name }) =>
    statement('is going to', action(what!, name), 0.65),
  ),
  rule(
    "(?:it's|it is|it has) (?:always )?been (?:a|my) (?:\\p{L}+ )?dream (?:of mine )?to (.+)$",
    ([, what], { name }) => statement('dreams to', action(what!, name), 0.8),
  ),
  rule(
    `${AM}ready to ((?:be an?|become|adopt|retire|settle|have (?:kids|children|a)|buy|start (?:a|my) (?:family|`
      + 'new|own))\\b.*)$',
    ([, what], { name }) => statement('is ready to', action(what!, name), 0.75),
  ),
  rule(`(?:${I}look|${AM}looking) forward to ((?:an?|my|our) .+|(?:\\p{L}+ing) .+)$`, ([, what], { name }) =>
    /^(?:hear|see|chat|talk|meet|catch)|\b(?:weekend|break|chat|call|day|hearing)$/i.test(what!)
      ? null
      : statement('looks forward to', action(what!, name), 0.7),
  ),
  // The past
  rule('(?:i|we) used to (?!live|work|think|hate|say|feel|it|be (?:so|really|very)\\b)(.+)$', ([, what], { name }) =>
    usedTo(action(what!, name)),
  ),
  rule(
    '(?:i|we) (?:always |really |also |just )*(loved|enjoyed|liked|played|collected|had|did|made|drew|wrote)'
      + '(?! it) (.+?) (?:as an? (?:kid|child|teen\\w*|little \\w+|student)|when (?:i|we) (?:was|were) (?:an? )?(?:kids?|'
      + 'child|children|young|little|younger|small|in \\p{L}+ school|\\w+ years old)|growing up)$',
    ([, verb, what], { name }) => statement(`as a child ${verb!.toLowerCase()}`, thing(what!, name), 0.8),
  ),
  rule(
    '(?:i|we) (?:really |absolutely |just )*(loved|enjoyed) ((?:reading |watching |visiting |playing )?.+)$',
    ([, verb, what], { name }) => {
      const isNamed = properName(what!.replace(/^\p{Ll}+ing /u, '')) !== null
      const isNone = /['’]s\b|^(?:every|each|all|some|any)\b/i.test(what!)
      return isNamed && !isNone ? statement(verb!.toLowerCase(), thing(what!, name), 0.75) : null
    },
  ),
  rule(
    `(?:${HAVE}|i|we) always (loved|enjoyed|had|felt|wanted to|admired|been (?:passionate about|interested in|`
      + 'fascinated by|into|drawn to|a fan of))(?! (?:to know|it|this|that)\\b) (.+)$',
    ([, verb, what], { name }) =>
      statement(`has always ${verb!.toLowerCase()}`, thing(what!.replace(/^(?:such )?/, ''), name), 0.85),
  ),
  // Belongings
  rule(
    `(?:${I}have|${HAVE} got|${HAVE}) ((?:an?|lots of|a lot of|some|many|two|three) `
      + `(?:(?!(?:of|about|for|with|in|on|to|at|and|the|an?)\\b)[\\p{L}'-]+ ){0,3}?(?:${BELONGINGS})`
      + `(?=$|,|-| (?:of|from|with|about|in|by|near|for)\\b).*)$`,
    ([, what], { name }) => statement('has', thing(what!, name), 0.8),
  ),
  rule(`${AM}(?:lucky|blessed|fortunate) to have ((?:an?|my|two|three|four) .+)$`, ([, what], { name }) =>
    statement('is lucky to have', thing(what!, name), 0.8),
  ),
  rule(`(?:${AM}|${HAVE} been )volunteering as (an? .+)$`, ([, what], { name }) =>
    statement('volunteers as', thing(what!, name), 0.8),
  ),
  rule('(?:i|we) had to (?:take an? (?:\\p{L}+ )?break from|give up|quit) (.+)$', ([, what], { name }) =>
    statement('had to stop', thing(what!, name), 0.7),
  ),
]

/** A relative's name in apposition: "…, Rex, my dog". Excludes the first word of a sentence, and places. */
export const NAMED_RELATIVE = new RegExp(
  String.raw`(?<!\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Oo]n)\s)(?<=[\p{Ll}\d][-–—,]?\s)(\p{Lu}\p{L}+), my `
    + String.raw`(?:\p{Ll}+ )?(${RELATIVES})(?=$|[,.])`,
  'gu',
)
