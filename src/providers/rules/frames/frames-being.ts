// The frames of "be": origin, age, work, character, health, tastes and groups, as in "I'm a nurse", "I'm allergic to …",
// "we're from …". Moods ("I'm tired") and places of the moment are not facts.

import { properName, standalone, thing } from '../sentences/objects.ts'
import { dwelling, organisation, place, indefinite } from '../places.ts'
import { CHARACTERS, DEMONYMS, GROUPS, JOBS, STATES, STUDENTS } from '../lists.ts'
import { denial, during, frame, NOW, SIMPLE, simple, type Frame } from './frame.ts'
import { PAST_TENSE, PERFECT, PRESENT } from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'
import { liking, topic } from '../tastes.ts'
import { verbOf } from '../sentences/verbs.ts'

const FOLLOWED =
  '(?=$|[,;(]| (?:and|but|so|which|because|since|for|now|with|at|in|by|who|from|when|that|'
  + 'too|as|here|of (?:one|two|three|four|five|\\d))\\b)'
const isCapital = (text: string) => /^\p{Lu}/u.test(text)
const lower = (text: string) => text.toLowerCase()
const article = (noun: string) => (/^[aeiou]/i.test(noun) ? 'an' : 'a')

/** Returns a statement of the age in years; null unless it is 10 to 110. */
const aged = (age: string): Statement | null =>
  Number(age) >= 10 && Number(age) <= 110 ? statement('is aged', age, 0.9) : null

/** Reads a job, with its employer, if any: "software engineer", "at Globex". */
function job(what: string, org: string, name: string): Statement[] {
  if (/student$/i.test(what)) return [statement('is', `${article(what)} ${what.toLowerCase()}`, 0.85)]
  if (/\b(?:good|bad|great|not|huge|big|terrible|former|better|real|best|worst)\b/i.test(what)) return []
  const at = isCapital(org) ? organisation(org, name) : null
  return [statement('works as', what.replace(/^(?:an?|the) /i, '')), ...(at ? [statement('works at', at)] : [])]
}

/** Reads what somebody is good or bad at. Few gerunds need no object, so that "building" is none. */
function skill(text: string, name: string): string | null {
  const what = standalone(text, name)
  return what && /^\p{L}+ing$/u.test(what) && !PASTIMES.has(verbOf(what.toLowerCase())?.lemma ?? '') ? null : what
}
const PASTIMES = new Set(
  'cook bake draw paint sing dance swim write drive ski skate code run climb sew knit bowl surf golf'.split(' '),
)

const AGE = /^(?:a )?(\d{1,3})(?:[- ]years?[- ]olds?| years? of age| months? old| yo| y\/o)?$/i
const MBTI = /^[ie][ns][tf][jp]$/i
/** Adjectives that do not change a character: "a big foodie". */
const SIZE =
  '(?:huge|big|bit of an?|proud|total|massive|real|true|hardcore|avid|complete|'
  + 'self-proclaimed|definite|major|natural|great|good)'

const ADJECTIVES = new RegExp(
  '^(?:shy|introverted|extroverted|competitive|ambidextrous|religious|jewish|muslim|christian|catholic|'
    + 'outgoing|spiritual|messy|organized|stubborn|indecisive|clumsy|forgetful|impatient|superstitious|'
    + 'spontaneous|easygoing|adventurous|sentimental|athletic|artistic|talkative)$',
)
const NATIONALITY = new RegExp(
  `^(?:an? )?((?:half|part|originally|ethnically) )?(${DEMONYMS})(?: (?:guy|girl|man|woman|person|american))?`
    + '(?:$|,| (?:and (?:i|my|we|half|part)|but|so|too|by)\\b)',
  'i',
)

export const BEING_FRAMES: Frame[] = [
  frame('be', PRESENT, '', (_, what) => {
    const [whole, age] = AGE.exec(what.replace(/,? (?:now|right now|btw|by the way)$/i, '')) ?? []
    if (!age || !whole) return null
    if (/old|age/i.test(whole))
      return Number(age) > 110 ? null : statement('is aged', /month/i.test(whole) ? `${age} months` : age)
    return age.length > 1 ? aged(age) : null
  }),
  frame('turn', PAST_TENSE, '(\\d{2,3})', (_, __, [age]) => aged(age!)),
  frame('be', PRESENT, '(?:originally |actually )?from', (_, what) => statement('comes from', place(what))),
  frame('be', PAST_TENSE, 'born (?:and raised )?in', (_, what) => statement('was born in', place(what))),
  frame('be', PAST_TENSE, 'raised in', (scene, what) =>
    statement('grew up in', place(what) ?? dwelling(what, scene.name)),
  ),
  frame('be', SIMPLE, '(?:living|based|located|residing) in', (scene, what) =>
    during(scene, statement('lives in', place(what) ?? dwelling(what, scene.name), 0.95)),
  ),
  frame('be', NOW, '(?:severely |deathly |highly |mildly )?allergic to', ({ name }, what) =>
    statement('is allergic to', thing(what, name), 0.95),
  ),
  frame('be', SIMPLE, '(married|engaged) to', (scene, who, [state]) =>
    during(scene, statement(`is ${lower(state!)} to`, properName(who))),
  ),
  frame('be', SIMPLE, `(${STATES})${FOLLOWED}`, (scene, what, [state]) => {
    const of = /^of (?:one|two|three|four|five|\d)\b/i.exec(what)?.[0]
    return during(scene, statement('is', of ? `${lower(state!)} ${of}` : lower(state!)))
  }),
  denial('be', PRESENT, `(${STATES})${FOLLOWED}`, (_, __, [state]) => statement('is not', lower(state!), 0.85)),
  // Studies and work
  frame(
    'be',
    SIMPLE,
    `(?:an? |in my )?(${STUDENTS})(?: year)?(?: here)?(?: (?:at|attending|in) (.+))?${FOLLOWED}`,
    (scene, _, [year, org]) => {
      const at = org && isCapital(org) ? organisation(org, scene.name) : null
      const what = lower(year!).replace('freshmen', 'freshman')
      if (!at && org) return null
      return [
        ...(what === 'student' ? [] : [during(scene, statement('is', `${article(what)} ${what}`, 0.85))]),
        ...(at ? [during(scene, statement('studies at', at))] : []),
      ]
    },
  ),
  frame('be', SIMPLE, '(?:an? )?(?:\\p{L}+ )?student (?:at|of)', (scene, what) =>
    during(scene, statement('studies at', organisation(what, scene.name))),
  ),
  frame(
    'be',
    SIMPLE,
    `an? ((?:[\\p{L}-]+ ){0,3}?(?:${JOBS}))(?:(?: at| for| with) (.+)|${FOLLOWED})`,
    (scene, _, [what, org]) => job(what!, org!, scene.name).map((each) => during(scene, each)),
  ),
  frame('be', PAST_TENSE, `an? ((?:[\\p{L}-]+ )?(?:${JOBS})) (?:for|from|until|in|at)`, (scene, _, [what]) =>
    scene.period ? during(scene, statement('worked as', what!, 0.8)) : null,
  ),
  frame('be', PAST_TENSE, `an? (${JOBS})$`, (scene, _, [what]) =>
    scene.period ? during(scene, statement('worked as', what!, 0.8)) : null,
  ),
  frame('be', PRESENT, '(?:retired) from', ({ name }, what) =>
    statement('no longer works at', organisation(what, name)),
  ),
  // Character and origin
  frame('be', SIMPLE, `(?:an? )?(?:${SIZE} )*(${CHARACTERS})${FOLLOWED}`, ({ predication }, _, [what]) => {
    const noun = MBTI.test(what!) ? what!.toUpperCase() : lower(what!)
    const isNoun = !ADJECTIVES.test(noun)
    // "I'm a bit messy" is often about a moment.
    if (!isNoun && /^an? (?:bit|little) /i.test(predication.rest)) return null
    return statement('is', isNoun ? `${article(noun)} ${noun}` : noun, 0.85)
  }),
  denial('be', PRESENT, `(?:an? )(?:${SIZE} )*(${CHARACTERS})${FOLLOWED}`, (_, __, [what]) =>
    statement('is not', `${article(what!)} ${lower(what!)}`, 0.85),
  ),
  frame('be', PRESENT, '', (_, what) => {
    const [, part, nation] = NATIONALITY.exec(what) ?? []
    if (!nation) return null
    const capital = `${nation.charAt(0).toUpperCase()}${lower(nation.slice(1))}`
    return statement('is', `${lower(part ?? '')}${capital}`, 0.85)
  }),
  frame(
    'be',
    PRESENT,
    '(?:someone|the type|the kind|a person|the type of person|the kind of person) (?:who|'
      + 'that) (?:really |also )?(?:likes?|loves?|enjoys?)',
    ({ name }, what) => statement('likes', liking(what, name), 0.85),
  ),
  denial(
    'be',
    PRESENT,
    '(?:one for|(?:one|someone|a person|the type|the kind|the type of person) (?:who|'
      + 'that) (?:really |also )?(?:likes?|loves?|enjoys?))',
    ({ name }, what) => statement('dislikes', liking(what, name), 0.85),
  ),
  frame(
    'be',
    PRESENT,
    'the (oldest|youngest|middle|only) (child|sibling|boy|girl|daughter|son)',
    (_, __, [which, who]) => statement('is', `the ${lower(which!)} ${lower(who!)}`, 0.85),
  ),
  denial(
    'be',
    PRESENT,
    'the (?:best|greatest|strongest) (?=\\p{L}+(?:er|or|cook|artist|student)\\b)',
    ({ name }, what) => statement('is not', thing(`the best ${what}`, name), 0.85),
  ),
  // Likes and interests
  frame(
    'be',
    SIMPLE,
    '(?:always )?(?:such )?an? (?:(?:big|huge|great|massive|die-?hard|avid|real|lifelong|proud) )*(?:fan|lover) o[fn]',
    ({ name }, what) => statement('likes', liking(what, name)),
  ),
  frame(
    'be',
    PRESENT,
    'an? (?:(?:big|huge|great|massive|die-?hard|avid|real|lifelong|proud) )*((?!(?:of|a|the|'
      + 'his|her|your)\\b)\\p{L}+(?: \\p{L}+)?) (?:fan|lover|enthusiast)',
    (_, __, [what]) =>
      statement(
        'likes',
        /^(?:big|huge|number one|great|new|secret|loyal)\b/i.test(what!) ? null : liking(what!, ''),
        0.85,
      ),
  ),
  denial(
    'be',
    PRESENT,
    '(?:(?:an? )?(?:(?:big|huge|great|real) )*(?:fan|lover) of|into|fond of|keen on|crazy about)',
    ({ name }, what) => statement('dislikes', liking(what, name), 0.85),
  ),
  denial(
    'be',
    PRESENT,
    'an? (?:(?:big|huge|great|real|much of an?) )*((?!of\\b)\\p{L}+(?: \\p{L}+)?) (?:fan|lover|person)',
    (_, __, [what]) =>
      statement(
        'dislikes',
        /^(?:big|huge|bad|good|nice|great|mean|morning|different|very)\b/i.test(what!) ? null : liking(what!, ''),
        0.8,
      ),
  ),
  frame(
    'be',
    SIMPLE,
    '(?:all |more )?(?:into|fond of|obsessed with|passionate (?:about|when it comes to)|'
      + 'keen on|crazy about|mad about|hooked on|about)(?: doing)?',
    ({ name, predication }, what) =>
      statement(
        'likes',
        /^(?:all )?about\b/i.test(predication.rest) && !/^all/i.test(predication.rest) ? null : liking(what, name),
        0.85,
      ),
  ),
  frame('be', SIMPLE, '(?:interested in|curious about|fascinated by)', ({ name }, what) =>
    statement('is interested in', liking(what, name), 0.8),
  ),
  frame('be', SIMPLE, '(?:deathly )?(?:afraid|scared|terrified|frightened|fearful) of', ({ name }, what) =>
    statement('is afraid of', standalone(what, name), 0.85),
  ),
  frame(
    'be',
    PRESENT,
    '(?:(?:very|really|pretty|quite|so|super|extremely|too) )*(good|great|bad|terrible|horrible|awful|decent) at',
    ({ name }, what, [how]) =>
      statement(
        `is ${/^(?:good|great|decent)$/i.test(how!) ? 'good' : 'bad'} at`,
        /^(?:least|it|this|that|all|first|night|times|work|home)\b/i.test(what) ? null : skill(what, name),
        0.8,
      ),
  ),
  denial('be', PRESENT, '(?:(?:very|really|that|so|too|the) )*(?:good|great|best) at', ({ name }, what) =>
    statement('is not good at', /^(?:least|it|this|that|all)\b/i.test(what) ? null : skill(what, name), 0.8),
  ),
  simple(
    'be',
    PRESENT,
    '(?:still )?(?:new to|an? (?:total |complete )?(?:newbie|novice) (?:in|at|to|when it comes to))',
    'is new to',
  ),
  frame('be', PAST_TENSE | PERFECT, '(?:recently |just )?diagnosed with', ({ name }, what) =>
    statement('was diagnosed with', standalone(what, name), 0.85),
  ),
  // Groups, ties and possessions
  frame(
    'be',
    SIMPLE,
    `(?:a )?(?:(?:part|(?:\\p{L}+ )?member|captain|president) of|on|in) ((?:an?|the|my|`
      + `our) (?:[\\p{L}'-]+ ){0,4}(?:${GROUPS}))${FOLLOWED}`,
    (scene, more, [what]) => {
      const group = standalone(`${what} ${/^(?:at|in|of) /i.test(more) ? more : ''}`.trim(), scene.name)
      return during(
        scene,
        statement(
          'is a member of',
          group && !/^the (?:team|club|band|group|choir|community|church)$/i.test(group) ? indefinite(group) : null,
          0.8,
        ),
      )
    },
  ),
  frame('be', SIMPLE, 'dating', ({ name }, what) =>
    statement('is dating', /^(?:an? |my |\p{Lu})/u.test(what) ? standalone(what, name) : null, 0.8),
  ),
  frame('be', PRESENT, '(?:so |very )?(?:lucky|blessed|fortunate) to have', ({ name }, what) =>
    statement('is lucky to have', /^(?:an?|my|two|three|four) /i.test(what) ? standalone(what, name) : null, 0.8),
  ),
  frame('be', PRESENT, '(?:so |very )?(?:thankful|grateful) for', ({ name }, what) =>
    statement('is thankful for', /^my /i.test(what) ? topic(what, name) : null, 0.75),
  ),
  frame('be', PRESENT, 'ready to', ({ name }, what) =>
    statement(
      'is ready to',
      /^(?:be an?|become|adopt|retire|settle|have (?:kids|children|a)|buy|start (?:a|my) (?:family|new|own))\b/i.test(
        what,
      )
        ? thing(what, name)
        : null,
      0.75,
    ),
  ),
  frame('be', PRESENT, 'on (?:an?|my) ((?:[\\p{L}-]+ ){0,2}diet)', (_, __, [what]) =>
    statement('is on', `a ${lower(what!)}`, 0.85),
  ),
]
