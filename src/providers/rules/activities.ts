// The rules for what somebody is at, used to do, means to do or has: read only where no plainer rule has matched. All
// of it needs an object that is understood alone; what is done at the moment of talking is left out.

import { DESK_WORK } from './deeds.ts'
import { KIN } from './lists.ts'
import { properName, thing } from './objects.ts'
import { AM, HAVE, I, rule, told, type Rule, type Told } from './rule.ts'

/** What takes weeks: as "I'm … a garden" and "I've been …". */
const PROJECTS =
  'creating|building|developing|designing|organi[sz]ing|putting together|setting up|carrying on|'
  + 'raising|restoring|training|rehearsing|exploring|blogging about|attending|volunteering|'
  + 'helping out (?:at|with)'
/** What is an occupation of its own, even without an object. */
const PASTIMES =
  'running|painting|reading|writing|hiking|swimming|cycling|biking|cooking|baking|gardening|'
  + 'volunteering|working out|dancing|singing|drawing|knitting|sewing|meditating|travell?ing|studying|blogging|'
  + 'networking|journaling|exercising|climbing|skating|surfing|jogging|camping|fishing|sculpting|photographing'
const SPORTS =
  '(?:doing|practi[cs]ing|trying(?: out)?) (?:\\p{L}+ )?(?!being|nothing|something|anything|everything)'
  + '(?:\\p{L}+ing|yoga|karate|judo|taekwondo|pilates|tai chi|meditation|crossfit|gymnastics|ballet|aerobics|'
  + 'martial arts|woodwork|pottery)'
const COURSES = 'taking (?:up |an? )?(?:[\\p{L}-]+ ){0,4}?(?:class|classes|course|courses|lessons?|workshops?)'
/** What begins a project's object: a thing of its own, not "the one at hand". */
const OWN = '(?:an?|my|our|some|more|new|\\p{L}+ing|(?!(?:as|is|was|this|his|its|us|always)\\b)\\p{L}+s)\\b'

/** What one intends to do, rather than does at once. */
const INTENTIONS =
  'continue|keep (?:\\p{L}+ing)|start|open|study|apply|adopt|move|learn|write|build|create|launch|'
  + 'volunteer|teach|train|travel|visit|organi[sz]e|host|join|run|show|renovate|'
  + 'make(?! (?:sure|it|the|an? (?:plan|list|difference|change|decision))\\b)|retire|quit|buy|sell|publish|'
  + 'go (?:on|to)|become|work (?:on|towards?|with)'

/** What makes a practice of it. */
const USUALLY = '(?:usually|often|regularly|always|normally|typically)'
const PRACTICES =
  'go (?:\\p{L}+ing|(?:to|for|on) (?:an?|the|my|\\p{L}+s))|read|swim|run|cook|bake|paint|hike|'
  + 'watch|visit|volunteer|meditate|roast|walk|bike|dance|sing|work out|exercise|journal|write|draw|camp|'
  + 'cycle|host|donate|have (?:game|movie|family)'

/** What is worth telling that one has. */
const BELONGINGS =
  'books|records|plants|collection|car|bike|house|apartment|flat|garden|guitar|piano|violin|camera|'
  + 'boat|farm|studio|cabin|tattoos?|library|business|shop|store|motorcycle|telescope|blog|podcast|website|degree|'
  + 'scholarship|internship|mentor|therapist|coach|condition|disability|allergy|asthma|diabetes|adhd|dyslexia|anxiety'

/** A verb without what it is done to, or with a comparison to what was before. */
const EMPTY = new RegExp(
  '^(?:\\p{L}+ )?(?:it|that|this|them|up|sure|going)$|^(?:studying|reading|writing|volunteering|training|planning)$|'
    + '\\b(?:difference|progress|sense|sure|longer|farther|further|faster|better|harder|hard|well|late|much)$',
  'iu',
)
/** What is done, with its verb; null where it says nothing. */
const action = (text: string, name: string): string | null => {
  const what = thing(text, name)
  return what === null || EMPTY.test(what) || DESK_WORK.test(what) ? null : what
}

/** With its verb, so that "used to play" denies "plays". */
function usedTo(what: string | null): Told {
  const [, verb, object] = /^(\S+) (.+)$/.exec(what ?? '') ?? []
  return verb && object ? told(`used to ${verb.toLowerCase()}`, object, 0.85) : told('used to', what, 0.85)
}

export const ACTIVITIES: Rule[] = [
  // What one is at
  rule(`(?:${AM}|${HAVE} been )((?:${PROJECTS}) (?:(?:at|for|with|in) .+|(?:${OWN}).*))$`, ([, what], { name }) =>
    told('is', action(what!, name), 0.75),
  ),
  rule(`(?:${AM}|${HAVE} been )((?:${COURSES}|${SPORTS})\\b.*)$`, ([, what], { name }) =>
    told('is', action(what!, name), 0.8),
  ),
  rule(
    `(?:${HAVE} been|${AM})(?: really| also| just)? ?(busy (?:with (?:my )?)?(?:\\p{L}+ing)\\b.*)$`,
    ([, what], { name }) =>
      /(?:doing|getting|trying|thinking|being|having)/i.test(what!) ? null : told('has been', action(what!, name), 0.7),
  ),
  rule(`${HAVE} (?:also |really |mostly )?been ((?:${PASTIMES})\\b.*)$`, ([, what], { name }) =>
    told('has been', action(what!, name), 0.75),
  ),
  rule(
    "(?:i'm|i am) (?!going|talking|thinking|saying|asking|calling|looking|getting)(\\p{L}+ing .+ "
      + '(?:each|every) (?:day|morning|evening|night|week|month|year|weekend))$',
    ([, what], { name }) => told('has the habit', action(what!, name), 0.75),
  ),
  rule(`(?:i|we) ${USUALLY} ((?:${PRACTICES})\\b.*)$`, ([, what], { name }) =>
    told('has the habit', action(what!, name), 0.75),
  ),
  // What one means to do
  rule(`${AM}planning (?:on |for )?((?!a few|ahead)(?:${OWN}).+)$`, ([, what], { name }) =>
    told('is planning', action(what!, name), 0.7),
  ),
  rule(`${AM}planning to ((?:${INTENTIONS})\\b.+)$`, ([, what], { name }) =>
    told('is planning to', action(what!, name), 0.7),
  ),
  rule(`${AM}going to ((?:${INTENTIONS})\\b.+)$`, ([, what], { name }) =>
    told('is going to', action(what!, name), 0.65),
  ),
  rule(
    "(?:it's|it is|it has) (?:always )?been (?:a|my) (?:\\p{L}+ )?dream (?:of mine )?to (.+)$",
    ([, what], { name }) => told('dreams to', action(what!, name), 0.8),
  ),
  rule(
    `${AM}ready to ((?:be an?|become|adopt|retire|settle|have (?:kids|children|a)|buy|start (?:a|my) (?:family|`
      + 'new|own))\\b.*)$',
    ([, what], { name }) => told('is ready to', action(what!, name), 0.75),
  ),
  rule(`(?:${I}look|${AM}looking) forward to ((?:an?|my|our) .+|(?:\\p{L}+ing) .+)$`, ([, what], { name }) =>
    /^(?:hear|see|chat|talk|meet|catch)|\b(?:weekend|break|chat|call|day|hearing)$/i.test(what!)
      ? null
      : told('looks forward to', action(what!, name), 0.7),
  ),
  // What was
  rule('(?:i|we) used to (?!live|work|think|hate|say|feel|it|be (?:so|really|very)\\b)(.+)$', ([, what], { name }) =>
    usedTo(action(what!, name)),
  ),
  rule(
    '(?:i|we) (?:always |really |also |just )*(loved|enjoyed|liked|played|collected|had|did|made|drew|wrote)'
      + '(?! it) (.+?) (?:as an? (?:kid|child|teen\\w*|little \\w+|student)|when (?:i|we) (?:was|were) (?:an? )?(?:kids?|'
      + 'child|children|young|little|younger|small|in \\p{L}+ school|\\w+ years old)|growing up)$',
    ([, verb, what], { name }) => told(`as a child ${verb!.toLowerCase()}`, thing(what!, name), 0.8),
  ),
  rule(
    '(?:i|we) (?:really |absolutely |just )*(loved|enjoyed) ((?:reading |watching |visiting |playing )?.+)$',
    ([, verb, what], { name }) => {
      const isNamed = properName(what!.replace(/^\p{Ll}+ing /u, '')) !== null
      const isNone = /['’]s\b|^(?:every|each|all|some|any)\b/i.test(what!)
      return isNamed && !isNone ? told(verb!.toLowerCase(), thing(what!, name), 0.75) : null
    },
  ),
  rule(
    `(?:${HAVE}|i|we) always (loved|enjoyed|had|felt|wanted to|admired|been (?:passionate about|interested in|`
      + 'fascinated by|into|drawn to|a fan of))(?! (?:to know|it|this|that)\\b) (.+)$',
    ([, verb, what], { name }) =>
      told(`has always ${verb!.toLowerCase()}`, thing(what!.replace(/^(?:such )?/, ''), name), 0.85),
  ),
  // What one has
  rule(
    `(?:${I}have|${HAVE} got|${HAVE}) ((?:an?|lots of|a lot of|some|many|two|three) `
      + `(?:(?!(?:of|about|for|with|in|on|to|at|and|the|an?)\\b)[\\p{L}'-]+ ){0,3}?(?:${BELONGINGS})`
      + `(?=$|,|-| (?:of|from|with|about|in|by|near|for)\\b).*)$`,
    ([, what], { name }) => told('has', thing(what!, name), 0.8),
  ),
  rule(`${AM}(?:lucky|blessed|fortunate) to have ((?:an?|my|two|three|four) .+)$`, ([, what], { name }) =>
    told('is lucky to have', thing(what!, name), 0.8),
  ),
  rule(`(?:${AM}|${HAVE} been )volunteering as (an? .+)$`, ([, what], { name }) =>
    told('volunteers as', thing(what!, name), 0.8),
  ),
  rule('(?:i|we) had to (?:take an? (?:\\p{L}+ )?break from|give up|quit) (.+)$', ([, what], { name }) =>
    told('had to stop', thing(what!, name), 0.7),
  ),
]

/** A relative who is named beside what they are: "…, Rex, my dog"; neither the first word, nor a place. */
export const NAMED_RELATIVE = new RegExp(
  String.raw`(?<!\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear|[Oo]n)\s)(?<=[\p{Ll}\d][-–—,]?\s)(\p{Lu}\p{L}+), my `
    + String.raw`(?:\p{Ll}+ )?(${KIN})(?=$|[,.])`,
  'gu',
)
