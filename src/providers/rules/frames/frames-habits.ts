// The frames of habits and skills: "I usually play …", "I listen to …", "I can't swim".

import { denial, during, frame, NOW, type Frame, type Scene } from './frame.ts'
import { standalone, thing, wholeName } from '../sentences/objects.ts'
import { ABILITY, PERFECT, PERFECT_PROGRESSIVE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'
import { liking } from '../tastes.ts'
import { BASE, gerund, thirdPerson, verbOf } from '../sentences/verbs.ts'

/** Predicate of habits. The object is a gerund. */
export const HABIT = 'has the habit of'

const isLong = (what: string) => what.split(' ').length > 1

/** Adverbs of habits. */
export const USUAL: ReadonlySet<string> = new Set(
  `usually often always regularly normally typically generally frequently mostly mainly`.split(/\s+/),
)
/** The end of a habit: "every morning", "on weekends", "twice a week". */
const RHYTHM = new RegExp(
  String.raw`\b(?:every (?:single |other )?(?:day|morning|evening|night|week|weekend|month|year|summer|`
    + String.raw`winter|spring|fall|\w+day|few \w+|christmas|halloween)|each (?:day|morning|evening|night|week|`
    + String.raw`month|year)|(?:once|twice|two times|three times|\w+ times|\d(?:-\d)?x|\d times) (?:a|per|`
    + String.raw`every) \w+|on (?:weekends|weekdays|the weekends?|\w+days)|(?:twice )?daily|most (?:days|`
    + String.raw`mornings|nights|evenings|weekends))\b`,
  'i',
)
/** Verbs of habits. */
const PRACTICES =
  'go|read|swim|run|cook|bake|paint|exercise|meditate|practice|practise|visit|play|walk|jog|cycle|train|eat|'
  + 'drink|watch|meet|volunteer|hike|bike|dance|sing|journal|write|draw|camp|host|donate|roast|wake|travel|'
  + 'wear|use|do|make|knit|crochet|sew|order|buy|take|decorate|carve|celebrate|stay|lift|ride|attend|spend|'
  + 'clean|shop|collect|study|work|brew|fish|skate|ski|surf|get|give'
/** What habits of these verbs need, so that "I always go" or "I usually do" is none. */
const HABITS: Partial<Record<string, RegExp>> = {
  go: new RegExp(
    String.raw`^(?:\p{L}+ing\b(?!$ to)|(?:to|for|on) (?:an?|the|my|\p{Lu}|(?:\p{L}+ )?\p{L}+s\b|church|`
      + String.raw`therapy|yoga|bed)|to the gym|out (?:to|for|with)|back to the same|swimming)`,
    'u',
  ),
  have: /^(?:game|movie|family|an? )/,
  do: new RegExp(
    String.raw`^(?:my |an? |some )?(?:yoga|pilates|karate|meditation|skincare|volunteer|puzzles?|`
      + String.raw`crosswords?|crafts?|\p{L}+ing\b)`,
    'iu',
  ),
  make: /^(?!(?:sure|it|that|this|an? (?:point|list|mess|plan|effort|mistake)|time|me|fun|sense|up|out|do)\b)/,
  take: new RegExp(
    String.raw`^(?:the (?:bus|train|subway|metro)|an? (?:walk|nap|bath|\p{L}+ (?:walk|bath|class))|`
      + String.raw`my (?:dog|dogs|kids?)|(?:long )?(?:walks|baths|naps|vitamins|photos))`,
    'iu',
  ),
  use: /^(?!(?:it|that|this|them|to)\b)/,
  work: /^(?:out|from|on (?:weekends|the weekends)|with)\b/,
  wake: /^up (?:early|at|late)/,
  stay: /^up (?:late|until|till)/,
  spend: new RegExp(
    String.raw`^(?:time|my (?:weekends?|evenings?|mornings?|summers?)|(?:the )?(?:weekends?|holidays|`
      + String.raw`christmas|summers?)|a lot of time)`,
    'i',
  ),
  study: /^(?!(?:for it|that|it)\b)./,
  buy: /^(?!(?:it|that|them)\b)./,
  meet: /^(?:up )?with\b/,
  run: /^(?:\d|on|in|along|every|marathons|with|for)/,
  read: /^./,
  order: /^./,
  play: /^(?!for |with (?:it|them|him|her)\b)./,
  attend: /^(?:church|mass|\p{L}+s\b|the )/u,
  give: /^my (?:pets|kids|dogs|cats|plants) /,
  get: /^(?:my \p{L}+ (?:done|cut|dyed)|up (?:early|at|late))\b/u,
}

/** Habits that need no object. */
const ALONE = /^(?:jog|swim|hike|bake|paint|meditate|journal|exercise|dance|sing|knit|crochet|sew|cycle|ski|surf)$/

/** Returns the verb phrases that a conjunction or a comma joins, as gerunds, up to the first that needs context. */
function activities(phrase: string, name: string): string | null {
  let found = ''
  const parts = phrase.split(/(,? (?:and|or) |, )(?=(\p{L}+))/u)
  for (let i = 0; i < parts.length; i += 3) {
    let [part = '', joint = ''] = [parts[i], parts[i - 2]]
    // A conjunction of nouns: "read books and comics".
    while (i + 3 < parts.length && !((verbOf(parts[i + 2]!.toLowerCase())?.forms ?? 0) & BASE)) {
      part += parts[i + 1]! + parts[i + 3]!
      i += 3
    }
    const activity = thing(gerund(part), name)
    if (activity === null) break
    found += joint + activity
    if (activity.length < part.length) break
  }
  return found === '' ? null : found
}

/** Reads a habit. */
function habit({ name, predication }: Scene): Statement | null {
  const { verb, adverbs, rest } = predication
  const isRegular = RHYTHM.test(rest)
  const isPastime = /^(?:a lot|in my (?:free|spare) time|for fun|as a hobby|)$/.test(rest) && ALONE.test(verb)
  // "I do bake" may answer anything.
  if (isPastime) return statement(HABIT, adverbs.includes('do') ? null : gerund(verb), 0.8)
  if (!isRegular && !adverbs.some((each) => USUAL.has(each))) return null
  if (HABITS[verb]?.test(rest) === false && !(isRegular && /^(?:an?(?! few\b)|my|some) /i.test(rest))) return null
  const object = activities(`${verb} ${rest}`.trim(), name)
  return object
    && (isLong(object) || ALONE.test(verb))
    && !/^(?:running late|going (?:home|back|crazy)|always )|\b(?:too|so) (?:much|many)\b/i.test(object)
    ? statement(HABIT, object, 0.8)
    : null
}

/** Skills that need no object. */
const SKILLS = new RegExp(
  String.raw`^(?:swim|drive|cook|bake|sing|dance|ski|snowboard|skate|surf|juggle|whistle|knit|sew|`
    + String.raw`crochet|draw|paint|code|program|drive stick)$`,
)
function skill({ name, predication }: Scene): Statement | null {
  const { verb, rest, isDenied } = predication
  const [well] = /^(?:(?:pretty |very |really |quite )?well)\b/i.exec(rest) ?? []
  if (well && !isDenied) return statement('can', `${verb} ${well.toLowerCase()}`, 0.85)
  const plain = rest.replace(/^(?:at all|well|to save my life|for the life of me)(?:$|[, ].*)/i, '')
  const predicate = isDenied ? 'cannot' : 'can'
  if (plain === '') return SKILLS.test(verb) ? statement(predicate, verb, 0.85) : null
  if (isDenied && /^(?:eat|drink)$/.test(verb)) return statement(`does not ${verb}`, standalone(plain, name), 0.85)
  if (!/^(?:speak|play|read|ride|cook|bake|do|make|write|drive|tolerate)$/.test(verb)) return null
  const object = standalone(`${verb} ${plain}`, name)
  return object && !isDenied && /^(?:do|make|write|read|drive|cook|bake)$/.test(verb)
    ? null
    : statement(predicate, object, 0.8)
}

export const HABIT_FRAMES: Frame[] = [
  // Habits
  frame(PRACTICES, PRESENT, '', habit),
  frame('listen', PRESENT, 'to (?:a lot of |lots of )?', ({ name, predication }, what) => {
    const often = / (?:sometimes|occasionally|often|every \p{L}+)$/iu
    const isSometimes = / (?:sometimes|occasionally)$/i.test(what) || predication.adverbs.includes('sometimes')
    return statement(`${isSometimes ? 'sometimes ' : ''}listens to`, liking(what.replace(often, ''), name), 0.8)
  }),
  frame('play|watch|read', PRESENT, '(?:a lot of|lots of|tons of)', ({ name, predication }, what) => {
    const object = liking(what, name)
    return statement(thirdPerson(predication.verb), object && `a lot of ${object}`, 0.8)
  }),
  frame('try', PRESENT, 'to', ({ name, predication }, what) =>
    statement(
      'usually tries to',
      predication.adverbs.some((each) => USUAL.has(each)) ? standalone(what, name) : null,
      0.75,
    ),
  ),
  frame('tend', PRESENT, 'to', ({ name }, what) =>
    statement('tends to', isLong(what) && !/\bdifferent\b/i.test(what) ? standalone(what, name) : null, 0.75),
  ),
  frame(
    'listen',
    PROGRESSIVE | PERFECT_PROGRESSIVE,
    'to (?=the .*\\b(?:podcast|band|radio|audiobooks?)\\b)',
    ({ name }, what) =>
      statement('listens to', standalone(what.replace(/ for (?:an? )?(?:really |very )?long time$/i, ''), name), 0.8),
  ),
  frame('spend', PRESENT, 'a lot of (?:my )?time', ({ name }, what) =>
    statement('spends a lot of time', thing(what, name), 0.75),
  ),
  frame('feel', PRESENT, '((?:more |most )comfortable)', ({ name }, what, [how]) =>
    statement(`feels ${how!.toLowerCase()}`, standalone(what, name), 0.75),
  ),
  frame(
    'follow',
    PRESENT,
    '(?:the )?(?=(?:e-?sports?|sports|news|politics|nba|nfl|football|soccer|f1|formula 1|cricket|tennis)\\b)',
    ({ name }, what) => statement('follows', thing(what, name), 0.8),
  ),
  frame('gravitate', PRESENT, 'to|towards?', ({ name }, what) =>
    statement('gravitates towards', standalone(what, name), 0.75),
  ),
  frame('dabble', PRESENT, 'in', ({ name }, what) => statement('dabbles in', standalone(what, name), 0.8)),
  frame('see', PRESENT, '(?:myself|ourselves) as', ({ name }, what) =>
    statement('sees oneself as', standalone(what, name), 0.8),
  ),
  frame('use', PRESENT, '', ({ name }, what) => {
    const tool = what.replace(/ (?:for|as|at|on|every|once|twice|with|instead|to|after|before|and an?)\b.*$/i, '')
    const isOnBody =
      /^(?!(?:their|his|her|it|that|this|them)\b)[\p{L}' -]+ on my (?:hair|skin|face|hands|body)\b/iu.test(what)
    const isNamed = /^(?:the )?\p{Lu}\p{L}+(?: [\p{L}-]+){0,6}$/u.test(tool)
    return statement('uses', wholeName(tool) ?? (isOnBody || isNamed ? standalone(tool, name) : null), 0.8)
  }),
  frame('collect', NOW, '(?!my thoughts)', (scene, what) =>
    during(scene, statement('collects', liking(what, scene.name))),
  ),
  frame(
    'teach|coach|mentor|tutor|knit|sew|crochet|bake|paint|draw|write|garden|foster',
    PRESENT,
    '(?!to|of|about|back|down|up|in|at|for|with|on|(?:class|course|lesson)(?:e?s)?\\b)',
    (scene, what) => during(scene, statement(thirdPerson(scene.predication.verb), standalone(what, scene.name), 0.8)),
  ),
  frame(
    'do|practice|practise',
    PRESENT,
    '(?:some |my )?((?:\\p{L}+ )?(?:yoga|pilates|karate|judo|taekwondo|meditation|ballet|'
      + 'gymnastics|crossfit|martial arts|kickboxing|boxing|calligraphy|photography|pottery|'
      + 'ceramics|origami))',
    (_, __, [what]) => statement('practices', what!.toLowerCase(), 0.8),
  ),
  // Skills
  frame(
    'speak|play|read|ride|cook|bake|do|make|write|drive|swim|sing|dance|ski|snowboard|skate|'
      + 'surf|juggle|whistle|knit|sew|crochet|draw|paint|code|program',
    ABILITY,
    '',
    skill,
  ),
  denial(
    'speak|play|read|ride|cook|bake|drive|eat|drink|swim|sing|dance|ski|snowboard|skate|surf|'
      + 'juggle|whistle|knit|sew|crochet|draw|paint|code',
    ABILITY,
    '',
    skill,
  ),
  frame('know', PRESENT, 'how to', ({ name }, what) =>
    statement('can', /^(?:to|it|that|do)\b/i.test(what) ? null : standalone(what, name), 0.8),
  ),
  frame('know', PERFECT, '', ({ name, period }, what) => {
    const whom = thing(what.replace(/ for .*$/i, ''), name)
    return whom && period?.since
      ? { ...statement(`has known ${whom} since`, period.since, 0.85), validFrom: period.from }
      : null
  }),
]
