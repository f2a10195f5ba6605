// The rules for habits and for occupations of these weeks: "I usually watch …", "I'm reading …". An occupation of the
// moment, such as watching TV, is not a fact.

import { thing } from './objects.ts'
import { AM, amRule, beRule, HAVE, haveRule, rule, selfRule, statement, type Rule, type Statement } from './rule.ts'

/** Base forms of verbs of habits that take an object, and of those that may stand alone. */
const DOING =
  'eat|drink|cook|bake|make|watch|read|listen to|play|wear|use|buy|order|visit|walk|drive|ride|write|'
  + 'draw|paint|bring|carry|'
  + 'celebrate|clean|collect|decorate|carve|follow|grow|sing|study|teach|train|lift|work|travel|stay|sleep|exercise|'
  + 'run|jog|swim|hike|cycle|bike|meditate|journal|stretch|shop|commute|wake up|get up|go to|go on|go for|go out|go|'
  + 'take|have|spend|do|add|give|put|try to|try and|stay up|hang out|meet|babysit|volunteer|attend|stick '
  + 'to|practice|practise'
const FREQUENCY =
  'usually|typically|normally|generally|always|often|frequently|regularly|mostly|sometimes|rarely|never|'
  + 'hardly ever|mainly|occasionally|avidly|tend to'
/** Objects of verbs of habits that are idioms, moods or about the conversation. */
const IDIOM = new RegExp(
  String.raw`^(?:to )?(?:know|think|forget|wonder|sure|fun|a (?:good|great|hard|blast|lot|`
    + String.raw`look|break|feeling|problem|question|point|chance|time)|time (?:to|for)|the (?:time|`
    + String.raw`chance|same|most|way|best|worst)|care|crazy|wrong|better|worse|good|well|hard|back|out|`
    + String.raw`up|down|away|through|over|ahead|off|with|without|away|late|early|issues?|trouble|room|`
    + String.raw`fun|no|none|plans?|great|bad|okay|ok|work|pictures?|photos?|pics?|use|part|place|`
    + String.raw`notes?)\b`,
  'i',
)

const thirdPerson = (verb: string): string => {
  const [first = '', ...rest] = verb.toLowerCase().split(' ')
  const form = /^(?:have|do|go)$/.test(first)
    ? { have: 'has', do: 'does', go: 'goes' }[first as 'have' | 'do' | 'go']
    : /[^aeiou]y$/.test(first)
      ? `${first.slice(0, -1)}ies`
      : /(?:s|sh|ch|x)$/.test(first)
        ? `${first}es`
        : `${first}s`
  return [form, ...rest].join(' ')
}

const object = (text: string, name: string): string | null => {
  const what = thing(
    text.replace(/^(?:things|stuff|shows|games|movies|books|foods?) like /i, '').replace(/^a lot of /i, ''),
    name,
  )
  return what === null || IDIOM.test(what) ? null : what
}

/** Returns "usually | watches" with its object. "tend to" is "usually", and "try and" is "try to". */
function habit(frequency: string, verb: string, what: string, name: string): Statement | null {
  const often = frequency.toLowerCase() === 'tend to' ? 'usually' : frequency.toLowerCase()
  const action = verb.toLowerCase().replace('try and', 'try to')
  const goal = object(what, name)
  if (
    /^(?:for|with|by|as|at|in|on|from)\b/i.test(what)
    && !/^(?:work|stay|sleep|travel|go|shop|hang out|commute|wake up|get up|run|walk|hike|swim)\b/i.test(action)
  )
    return null
  if (action === 'go to' && !/^(?:the|an?|my|our|church|therapy|yoga|school|college|[\p{Lu}])|s\b/u.test(what))
    return null
  if (goal === null || (/^(?:try to|go)$/.test(action) && !/\s/.test(goal) && !goal.endsWith('ing'))) return null
  return statement(`${often} ${thirdPerson(action)}`, goal, 0.75)
}

/** Vague durations. */
const LONG = new RegExp(
  String.raw` for (?:a (?:really |very )*(?:long time|while|few \p{L}+)|years|months|weeks|`
    + String.raw`many years|several years|ages|so long)\b.*$`,
  'iu',
)

/** Works that one reads, watches or plays for days. */
const MEDIA = 'reading|re-?reading|watching|re-?watching|bingeing|binging|binge[- ]watching|playing|listening to'
/** Occupations of the moment. */
const MOMENTARY = new RegExp(
  String.raw`^(?:(?:a|some|the|my|random|this|an)? ?)?(?:tv|television|movies?|films?|shows?|`
    + String.raw`videos?|youtube|news|music|songs?|games?|video ?games?|books?|articles?|emails?|`
    + String.raw`messages?|texts?|netflix|tiktoks?|around|outside|with .*|it|on .*|at .*|in .*|along|`
    + String.raw`together|catch up|golf with .*)(?: (?:with|on|at|in|and) .*)?$`,
  'i',
)

const TRAINING =
  '(?:course|class|classes|courses|lessons?|internship|program|degree|masters?|phd|bachelors?|minor|'
  + 'major|challenge|diet|training regime|training|bootcamp|residency|apprenticeship|research|cleanse|'
  + 'detox|project|thesis|dissertation|certificate|certification|workshop|study abroad)'

export const HABITS: Rule[] = [
  selfRule(
    `(?:i|we) (?:also |personally |just |still |really )*(${FREQUENCY}) (?:just |also |like to |love to |`
      + `enjoy )?(${DOING}) (.+)$`,
    ([, frequency, verb, what], { name }) => habit(frequency!, verb!, what!, name),
  ),
  rule(`(${FREQUENCY}) (?:i|we) (?:just |also |like to )?(${DOING}) (.+)$`, ([, frequency, verb, what], { name }) =>
    habit(frequency!, verb!, what!, name),
  ),
  rule(
    `(every (?:single )?(?:other )?(?:day|morning|evening|night|week|weekend|month|year|summer|winter|`
      + `spring|fall|christmas|halloween|sunday|monday|tuesday|wednesday|thursday|friday|saturday)),? (?:i|`
      + `we) (?:usually |always |like to |try to )?((?:${DOING}) .+)$`,
    ([, when, what], { name }) => {
      const doing = object(what!, name)
      return statement('has the habit', doing && `${doing} ${when!.toLowerCase()}`, 0.75)
    },
  ),
  selfRule(
    `(?:i|we) (?:also |really |mostly |still |personally )*listen to (?:a lot of |lots of )?(?:interesting )?(.+)$`,
    ([, what], { name }) => statement('listens to', object(what!, name), 0.8),
  ),
  selfRule(
    `(?:i|we) (?:also |mostly |still |mainly )*(?:play|watch|read) (?:a lot of|lots of|mostly|mainly|tons of) (.+)$`,
    ([whole, what], { name }) =>
      statement(thirdPerson(/\b(?:play|watch|read)\b/i.exec(whole!)![0]), object(what!, name), 0.75),
  ),
  selfRule(
    '(?:i|we) (?:also |really |still |actually |just |do |usually )*(?:do|practi[cs]e) ((?:\\p{L}+ '
      + ')?(?:yoga|pilates|karate|judo|taekwondo|meditation|ballet|gymnastics|crossfit|martial arts|'
      + 'kickboxing|boxing|jiu[- ]jitsu|tai chi|calligraphy|photography|pottery|ceramics|origami|theater|'
      + 'improv|stand-?up|cosplay|archery|track|cheer|debate))(?=$|,|\\s)',
    ([, what], { name }) => statement('practices', thing(what!, name), 0.8),
  ),
  selfRule(
    '(?:i|we) (?:also |really |still |actually |just |currently )*((?:go to (?:the gym|church|therapy|'
      + 'temple|mosque|mass|synagogue|the public gym)|work out|lift weights|take the (?:bus|train|subway|'
      + 'metro)|bike to work|walk to work|work from home|work remotely|wake up early|stay up late|eat '
      + 'healthy|live near (?:the )?\\p{L}+)\\b.*)$',
    ([, what], { name }) => statement('has the habit', thing(what!, name), 0.75),
  ),
  selfRule(
    `(?:i|we) try to ((?:eat|drink|go|exercise|work out|read|stay|keep|sleep|walk|run|save|avoid|cook|`
      + `meditate|use|buy|wear|practice) .+)$`,
    ([, what], { name }) => statement('tries to', object(what!, name), 0.75),
  ),
  selfRule(
    "(?:i|we) (?:really |actually |usually |personally |typically |also )*(don't|do not|never) (?:really "
      + '|usually |ever |even |typically |actually |normally )*((?:eat|drink|smoke|drive|cook|bake|watch|'
      + 'play|wear|celebrate|own|read|believe in|use|follow|listen to|do drugs|speak|work out|exercise|go '
      + 'out|party|travel|gamble|vape)\\b ?.*)$',
    ([, , what], { name }) => {
      const [, verb, rest = ''] = /^(believe in|listen to|work out|go out|\S+) ?(.*)$/i.exec(what!) ?? []
      if (!verb) return null
      const alone = /^(?:smoke|drive|cook|bake|exercise|work out|gamble|vape|drink)$/i.test(verb)
      const goal = rest === '' ? null : thing(rest.replace(/^any /i, ''), name)
      if (goal !== null && IDIOM.test(goal)) return null
      return goal === null
        ? statement('does not', alone && /^(?:at all|anymore|any more|)$/i.test(rest) ? verb.toLowerCase() : null, 0.75)
        : statement(`does not ${verb.toLowerCase()}`, goal, 0.8)
    },
  ),
  // Occupations of these weeks
  selfRule(
    `(?:${AM}|${HAVE} (?:actually |recently |also |really |mostly |casually )*been (?:casually |actually `
      + `|mostly |also )*)(?:rewatching|(${MEDIA})) (.+)$`,
    ([whole, doing, what], { name }) => {
      const isNow = /^(?:i'm|i am|we're|we are)/i.test(whole!)
      const verb = doing?.toLowerCase() || 'rewatching'
      const goal =
        object(`${verb} ${what!.replace(/^(?:a lot of|some) /i, '').replace(LONG, '')}`, name)?.slice(verb.length + 1)
        ?? null
      if (
        goal === null
        || IDIOM.test(goal)
        || /^(?:for|with|every|each)\b/i.test(goal)
        || (isNow && verb === 'listening to' && !/\b(?:podcast|audiobook)\b/i.test(goal))
        || MOMENTARY.test(goal)
        || (isNow && verb === 'playing' && !/\p{Lu}|\d/u.test(goal))
      )
        return null
      return statement(`${isNow ? 'is' : 'has been'} ${verb}`, goal, 0.75)
    },
  ),
  beRule(
    `(?:${AM}|${HAVE} (?:also |just |recently )*been )((?:doing|taking|pursuing|completing|getting|`
      + `finishing) (?:like )?(?:an? |my |the |some |two |three )?(?:[\\p{L}'-]+ ){0,4}${TRAINING})(?=$|,|`
      + `[;(]|\\s)(.*)$`,
    ([whole, doing, more], { name }) => {
      const isNow = /^(?:i'm|i am|we're|we are)/i.test(whole!)
      return statement(
        isNow ? 'is' : 'has been',
        thing(
          doing!.replace(/ like /i, ' ')
            + (/^(?:in|on|at|about|with|for) /i.test(more!.trim()) ? ` ${more!.trim()}` : ''),
          name,
        ),
        0.75,
      )
    },
  ),
  beRule(`(?:${AM}|${HAVE} been )on (?:an?|my) ((?:[\\p{L}-]+ ){0,2}diet)\\b`, ([, what], { name }) =>
    statement('is on', thing(`a ${what!}`, name), 0.8),
  ),
  haveRule(
    `${HAVE} (?:also |recently |just )*been (going to (?:the gym|therapy|church|yoga|pilates|physical `
      + `therapy|(?:\\p{L}+ )?classes)|working out|dieting|exercising|intermittent fasting|journaling|`
      + `commuting)\\b(.*)$`,
    ([, doing, more], { name }) =>
      statement('has been', thing(`${doing}${/^ (?:for|to|since) /.test(more!) ? '' : more!}`, name), 0.75),
  ),
  amRule(`${AM}(?:taking|enrolling in|enrolled in) (.+)$`, ([, what], { name }) =>
    statement(
      'is taking',
      /^\p{Lu}\p{L}+/u.test(what!) || /\b(?:courses|classes|class|course|lessons)\b/i.test(what!)
        ? object(what!, name)
        : null,
      0.75,
    ),
  ),
  selfRule(
    `(?:i|we) (?:usually |often |also )*spend (?:a lot of|most of my|too much|lots of) time (.+)$`,
    ([, what], { name }) => statement('spends much time', object(what!, name), 0.75),
  ),
  beRule(`(?:${AM}|${HAVE} been )(?:dating|seeing) ((?:an? |my |\\p{Lu}).+)$`, ([, whom], { name }) =>
    statement(
      'is dating',
      !/^(?:an?|my|\p{Lu}\p{L}+)\b/u.test(whom!)
        || /\b(?:therapist|doctor|counselor|specialist|psychologist|friend|friends)\b/i.test(whom!)
        ? null
        : thing(whom!, name),
      0.8,
    ),
  ),
  beRule(
    `(?:${AM}|${HAVE} been )(interning|studying abroad|applying|interviewing|volunteering|tutoring|`
      + `babysitting) ((?:at|for|in|with|to) .+)$`,
    ([, doing, where], { name }) => {
      const place = thing(where!.replace(/^\S+ /, ''), name)
      return statement(`is ${doing!.toLowerCase()} ${where!.split(' ')[0]!.toLowerCase()}`, place, 0.75)
    },
  ),
]
