// The frames of projects, plans and intentions: "I'm building a garden", "I'm taking a welding class", "I'm planning a
// trip", "I look forward to our reunion". Activities of the moment are not facts.

import { standalone, thing } from '../sentences/objects.ts'
import { frame, simple, type Frame, type Scene } from './frame.ts'
import { FUTURE, PAST_TENSE, PERFECT, PERFECT_PROGRESSIVE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { HABIT } from './frames-habits.ts'
import { DESK_WORK } from '../past-events.ts'
import { statement, type Statement } from '../rule.ts'
import { RELATIVE } from '../times.ts'

const ONGOING = PROGRESSIVE | PERFECT_PROGRESSIVE

/** Beginnings of a project's object. They exclude things that need context, such as "this one". */
const OWN = /^(?:an?|my|our|some|more|new|\p{L}+ing|(?!(?:as|is|was|this|his|its|us|always)\b)\p{L}+s)\b/iu
const PLACED = /^(?:(?:out )?(?:at|for|with|in) )/i

/** Activities without an object, or with a comparison that needs context. */
const INCOMPLETE = new RegExp(
  '^(?:\\p{L}+ )?(?:it|that|this|them|up|sure|going)$|^(?:studying|reading|writing|volunteering|training|planning)$|'
    + '\\b(?:difference|progress|sense|sure|longer|farther|further|faster|better|harder|hard|well|late|much)$',
  'iu',
)
/** Reads an activity with its verb; null if it is incomplete, needs context, or is everyday desk work. */
const action = (text: string, name: string): string | null => {
  const what = standalone(text, name)
  return what === null || INCOMPLETE.test(what) || DESK_WORK.test(what) ? null : what
}

/** Reads an activity, with its verb in the predicate: "is building | a shed"; null without an object of its own. */
function doing(
  { auxiliary, form, what }: { auxiliary: string; form: string; what: string },
  name: string,
  confidence: number,
): Statement | null {
  const whole = action(`${form} ${what}`.trim(), name)
  if (whole === null) return null
  const object = whole.slice(form.length).trim()
  return object === '' ? statement(auxiliary, form, confidence) : statement(`${auxiliary} ${form}`, object, confidence)
}

/** Verbs of activities that take weeks. */
const PROJECTS =
  'create|build|develop|design|organize|organise|put|set|carry|raise|restore|train|rehearse|blog|attend|volunteer|'
  + 'help|renovate|compose|record|plant|grow|knit|sew|crochet|restore|decorate'
/** Pastimes that need no object. */
const PASTIMES =
  'run|paint|read|write|hike|swim|cycle|bike|cook|bake|garden|volunteer|work|dance|sing|draw|knit|sew|meditate|travel|'
  + 'study|blog|network|journal|exercise|climb|skate|surf|jog|camp|fish|sculpt|photograph'

const PARTICLES: Partial<Record<string, string>> = { put: 'together', set: 'up', carry: 'on' }

function project({ name, predication }: Scene, what: string): Statement | null {
  const { verb, form, rest } = predication
  if (PARTICLES[verb] && !rest.toLowerCase().startsWith(`${PARTICLES[verb]} `)) return null
  if (verb === 'blog' && !/^about /i.test(rest)) return null
  if (verb === 'help' && !/^out (?:at|with) /i.test(rest)) return null
  const [particle = ''] = /^(?:together|up|on|about) /i.exec(what) ?? []
  const object = what.slice(particle.length)
  return OWN.test(object) || PLACED.test(what)
    ? doing({ auxiliary: 'is', form: `${form} ${particle}`.trim(), what: object }, name, 0.75)
    : null
}

/** Pastimes that are worth remembering with their length: "I've played chess for many years". */
const LONG_PASTIMES = `${PASTIMES}|play|practice|practise|do|own|coach|teach|collect`
const MANY_YEARS = /^(.*?)\bfor ((?:some|many|several|a few|over \w+|\d+|\p{L}+)? ?years)\b/iu
function lasting({ name, predication }: Scene, what: string): Statement | null {
  const [, object = '', years] = MANY_YEARS.exec(what) ?? []
  // In "I have played for years when I was in school", the perfect is no perfect.
  if (years === undefined || /\bwhen (?:i|we) (?:was|were)\b/i.test(what)) return null
  const { tense, form } = predication
  const done =
    object === '' && !/^(?:do|play|own|work|practi[cs]e)/.test(predication.verb) ? '' : standalone(object, name)
  const predicate = tense === PERFECT ? `has ${form}` : `has been ${form}`
  return statement(predicate, done === null ? null : `${done} for ${years.toLowerCase()}`.trim(), 0.8)
}

const COURSE = /^(?:up |an? |my )?(?:[\p{L}-]+ ){0,4}?(?:class|classes|course|courses|lessons?|workshops?)\b/iu
const CHALLENGE = /^an? (?:[\p{L}-]+ ){0,3}(?:challenge|internship|degree|diet|apprenticeship)\b/iu
const SPORT = new RegExp(
  String.raw`^(?:out )?(?:\p{L}+ )?(?!being|nothing|something|anything|everything)(?:\p{L}+ing|yoga|`
    + String.raw`karate|judo|taekwondo|pilates|tai chi|meditation|crossfit|gymnastics|ballet|aerobics|`
    + String.raw`martial arts|woodwork|pottery)\b`,
  'iu',
)

/** Verbs of lasting intentions. Verbs of immediate actions are excluded. */
const INTENTIONS =
  '(?:continue|start|open|study|apply|adopt|move|learn|write|build|create|launch|volunteer|teach|train|'
  + 'travel|visit|organi[sz]e|host|join|run (?!to\\b|some|the mall|out|errands)|renovate|retire|quit|'
  + 'buy (?:an?|our|my)|sell|publish|go (?:on (?!a (?:walk|run|jog|bit)\\b)|to (?:college|grad|law|med|'
  + '\\p{Lu}))|become|work (?:on|towards?|with)|get (?:married|a (?:dog|cat|puppy|kitten|tattoo|degree|car|'
  + 'house|job)|my (?:degree|masters|license))|major|minor|intern|graduate|propose|donate|host|perform|compete)'
const intention = new RegExp(`^${INTENTIONS}`, 'u')
const TRIVIAL = new RegExp(
  String.raw`\b(?:groceries|dinner|lunch|breakfast|brunch|errands?|mall|bed|nap|laundry|dishes|movie|`
    + String.raw`it|them|you|that|this|there|notes?|try to|together)\b`,
  'i',
)
/** Reads an intention; null for errands and for what the time of the turn decides. */
const intended = (text: string, name: string): string | null =>
  intention.test(text) && !TRIVIAL.test(text) && !RELATIVE.test(text) ? action(text, name) : null

/** Prospects of the day, or without content: "hearing from you", "the weekend". */
const OF_THE_DAY = new RegExp(
  String.raw`^(?:hear|see|chat|talk|meet|catch|trying|an? (?:good|great|nice|mix))|\b(?:weekend|`
    + String.raw`break|chat|call|day|hearing|match|week|night|evening)$`,
  'i',
)

export const DOING_FRAMES: Frame[] = [
  frame(PROJECTS, ONGOING, '', project),
  frame(
    'take',
    ONGOING,
    '(?!an? (?:break|nap|shower|bath|walk|trip|picture|photo|ride|day|look|while))',
    ({ name, predication }, what) =>
      COURSE.test(what) && !/^(?:the|this|that) /i.test(what)
        ? doing({ auxiliary: 'is', form: predication.form, what }, name, 0.8)
        : null,
  ),
  frame('take', PROGRESSIVE, '(?=\\p{Lu}\\p{L}+ \\p{Lu}|\\p{Lu}\\p{L}{3,}, )', ({ name, predication }) => {
    // Courses: "Data Analytics, Statistics and Art History".
    const list = /^\p{Lu}[\p{L}&' ]+(?:, (?:and )?\p{Lu}[\p{L}&' ]+)*/u.exec(predication.rest)?.[0] ?? null
    return statement('is taking', list?.includes(', ') ? list.trim() : list && thing(list, name), 0.75)
  }),
  frame('do|practice|practise|try', ONGOING, '', ({ name, predication }, what) =>
    SPORT.test(what) || CHALLENGE.test(what)
      ? doing({ auxiliary: 'is', form: predication.form, what }, name, 0.8)
      : null,
  ),
  frame('be', PRESENT | PERFECT, '(?:really |also |just )?(?=busy (?:with (?:my )?)?\\p{L}+ing\\b)', ({ name }, what) =>
    statement(
      'has been',
      /\b(?:doing|getting|trying|thinking|being|having|enjoying|taking|going|working)\b/i.test(what)
        ? null
        : action(what, name),
      0.7,
    ),
  ),
  frame(LONG_PASTIMES, PERFECT | PERFECT_PROGRESSIVE, '', lasting),
  frame(
    'go',
    PERFECT_PROGRESSIVE,
    'to (?=(?:the gym|church|therapy|counseling|physical therapy)\\b)',
    ({ name }, what) =>
      statement(HABIT, thing(`going to ${/^(?:the gym|physical therapy|\p{L}+)/iu.exec(what)![0]}`, name), 0.75),
  ),
  frame(PASTIMES, PERFECT_PROGRESSIVE, '', ({ name, predication }, what) => {
    if (
      /^(?:some|a bit|all|every|this|too|in (?:the|a)|for|with|on and off|since)\b/i.test(what)
      || /\b(?:errands?|today)\b/i.test(what)
    )
      return null
    if (predication.verb === 'work' && !/^out\b/.test(what)) return null
    return doing({ auxiliary: 'has been', form: predication.form, what }, name, 0.75)
  }),
  frame(
    'stretch|walk|run|go|eat|drink|make|cook|wake|read|do|take|write|practice|meditate|work|swim|carve|use|carry',
    PROGRESSIVE,
    '',
    ({ name, predication }, what) =>
      statement(HABIT, EACH.test(what) ? action(`${predication.form} ${what}`, name) : null, 0.75),
  ),
  frame('grow|carve', PROGRESSIVE, '', () => null),
  // Plans and intentions without a date
  frame('plan', PROGRESSIVE, 'to', ({ name }, what) => statement('is planning to', intended(what, name), 0.7)),
  frame('plan', PRESENT, 'to', ({ name }, what) => statement('plans to', intended(what, name), 0.7)),
  frame('think|consider', PROGRESSIVE, '(?:of|about)?', ({ name }, what) =>
    statement('is considering', PURSUIT.test(what) && !TRIVIAL.test(what) ? action(what, name) : null, 0.7),
  ),
  frame('plan', PROGRESSIVE | PRESENT, 'on', ({ name }, what) =>
    statement('is planning', PURSUIT.test(what) && !TRIVIAL.test(what) ? action(what, name) : null, 0.7),
  ),
  frame('plan', PROGRESSIVE, '(?:on |for )?(?!a few|ahead|to\\b|some|something)', ({ name }, what) =>
    statement('is planning', OWN.test(what) && !TRIVIAL.test(what) ? action(what, name) : null, 0.7),
  ),
  frame(
    'continue|start|open|study|apply|adopt|move|learn|write|build|create|launch|volunteer|'
      + 'teach|train|travel|visit|organize|organise|host|join|run|renovate|retire|quit|buy|sell|'
      + 'publish|go|become|work|get|major|minor|intern|graduate|propose|donate|perform|compete',
    FUTURE,
    '',
    ({ name, predication }, what) =>
      statement(
        'is going to',
        predication.form === predication.verb ? intended(`${predication.verb} ${what}`, name) : null,
        0.65,
      ),
  ),
  frame('look', PRESENT | PROGRESSIVE, 'forward to', ({ name }, what) =>
    statement(
      'looks forward to',
      !/^(?:(?:an?|my|our) .|\p{L}+ing .)/iu.test(what) || OF_THE_DAY.test(what) ? null : action(what, name),
      0.7,
    ),
  ),
  frame('have', PAST_TENSE, 'to (?:take an? (?:\\p{L}+ )?break from|give up|quit|stop)', ({ name }, what) =>
    statement('had to stop', standalone(what, name), 0.7),
  ),
  // Childhood
  frame(
    'love|enjoy|like|play|collect|have|do|make|draw|write|live|hate|want',
    PAST_TENSE,
    '',
    ({ name, predication }, what) => {
      const [, object] = CHILDHOOD.exec(what) ?? []
      return statement(
        `as a child ${predication.form}`,
        object === undefined || /^(?:it|to)\b/i.test(object) ? null : standalone(object, name),
        0.8,
      )
    },
  ),
  frame(
    'love|enjoy|like|have|feel|want|admire|be',
    PERFECT | PAST_TENSE,
    '(?!to know|it|this|that)',
    ({ name, predication }, what) => {
      if (!predication.adverbs.includes('always')) return null
      const { verb, form } = predication
      const object =
        verb === 'be'
          ? /^((?:passionate about|interested in|fascinated by|into|drawn to|a fan of) .+)$/i.exec(what)?.[1]
          : what
      return statement(
        `has always ${verb === 'be' ? 'been' : form}`,
        object && !/^to (?:know|be|see|hear|joke)\b/.test(object) ? thing(object.replace(/^such /, ''), name) : null,
        0.8,
      )
    },
  ),
  simple('dream', PRESENT | PROGRESSIVE, 'of', 'dreams of'),
]
const EACH = /\b(?:each|every) (?:day|morning|evening|night|week|month|year|weekend)$/i
const PURSUIT = new RegExp(
  String.raw`^(?:going (?:to \p{Lu}|on an?|back to)|getting an?|starting (?:an?|my)(?: own|`
    + String.raw` new)? (?:business|family|company|blog|podcast|career|job|project|channel|shop)|moving|`
    + String.raw`becoming|buying an?|adopting|learning|studying|applying|joining|changing|writing|`
    + String.raw`quitting|opening|visiting|travell?ing|volunteering|teaching|majoring|pursuing|`
    + String.raw`having (?:kids|children)|running an?)`,
  'u',
)
const CHILDHOOD = new RegExp(
  String.raw`^(.+?),? (?:as an? (?:kid|child|teen\w*|little \w+|student)|when (?:i|we) (?:was|`
    + String.raw`were) (?:an? )?(?:kids?|child|children|young|little|younger|small|in \p{L}+ school|`
    + String.raw`\w+ years old)|growing up)$`,
  'iu',
)
