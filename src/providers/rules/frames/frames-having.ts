// The frames of people, pets, belongings and conditions: "I've got two …", "I got a new …", "I don't have …".

import { denial, DONE, during, frame, NOW, simple, SIMPLE, timeOf, type Frame } from './frame.ts'
import { HABIT } from './frames-habits.ts'
import { BELONGINGS, COUNTED, LANGUAGES, PETS, PLAYED, RELATIVES, TROUBLES } from '../lists.ts'
import { properName, singular, standalone, thing, wholeName } from '../sentences/objects.ts'
import { FORMER, PAST_TENSE, PERFECT, PERFECT_PROGRESSIVE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'
import { liking } from '../tastes.ts'

/** Reads "two dogs, Max and Moritz" and the like as a possession and its names. */
function counted(what: string, name: string): Statement[] {
  const [, things = '', names] = COUNT_NAMED.exec(what) ?? []
  const relative = singular(things.split(' ').at(-1)!.toLowerCase())
  const named = (names ?? '')
    .split(/,? and |, /)
    .map((part) => wholeName(part))
    .filter((each) => each !== null)
  return [statement('has', thing(things, name)), ...named.map((each) => statement(`has a ${relative} named`, each))]
}
const NUMBERS = '(?:one|two|three|four|five|six|seven|\\d)'
const COUNT_NAMED = new RegExp(
  `^(${NUMBERS}(?: \\p{L}+){0,2}? (?:${COUNTED}))(?:(?:,? (?:named|called)|:|,)? (.+))?$`,
  'iu',
)
const NAMED = new RegExp(
  `^(?:an?|another) ((?:[\\p{L}\\d-]+ ){0,3}?)(${RELATIVES})(?:,? (?:named|called|whose name is))[,:]? (.+)$`,
  'iu',
)
const FOLLOWED =
  '(?=$|[,;-]| (?:of|from|with|about|in|by|near|for|who|that|which|at|and|but|so|as|named|'
  + 'called|since|because|here|too|now)\\b)'
const NOUNS =
  "(?:(?!(?:of|about|for|with|in|on|to|at|and|the|an?|more|question|problem|bad|great)\\b)[\\p{L}\\d'-]+ ){0,4}?"
/** Possessions, people and conditions worth remembering, with what determines them. */
const POSSESSION = new RegExp(
  `^(?:(?:lots of|a lot of|tons of|plenty of|a few|several|some|many|an?|another|my own|${NUMBERS}) )${NOUNS}`
    + `(?:${RELATIVES}|${COUNTED}|${PETS}|${BELONGINGS})${FOLLOWED}`,
  'iu',
)
const TROUBLE = new RegExp(`^(?:an? |some )?(?:\\p{L}+ ){0,2}?(?:${TROUBLES})${FOLLOWED}`, 'iu')
/** Words that keep a possession from being one: "a cat nap", "a friend coming over". */
const NOT_OWNED =
  /\b(?:coming|visiting|staying|over|questions?|idea|appointment|chance|photo|picture|video|reservation|way|problem)\b/i
const LACKED = new RegExp(
  `^(?:any |an? )?(?:\\p{L}+ )?(?:${RELATIVES}|${COUNTED}|${PETS}|car|license|licence|job|`
    + `pets|tv|social media|allergies|tattoos?)(?=$|[,.;]| (?:of|at|but|because|so|or|right|yet|`
    + `and|in)\\b)`,
  'iu',
)

/** Reads a possession: "a new car" becomes "a new car"; null for what is not worth remembering. */
function possession(what: string, name: string): string | null {
  if (
    NOT_OWNED.test(what)
    || /^an? (?:\p{L}+ )?friend\b/iu.test(what)
    || !(POSSESSION.test(what) || TROUBLE.test(what))
  )
    return null
  return standalone(what.replace(/^my own /i, 'a ').replace(/^some (?=\p{L}+ ?(?:allergies|anxiety))/iu, ''), name)
}

const languages = new RegExp(`\\b(?:${LANGUAGES})\\b`, 'giu')
const PET = new RegExp(`\\b(?:${PETS})\\b`, 'iu')

/** Words that say that a possession is over. */
const FORMERLY = new RegExp(
  String.raw`,? (?:in the past|before|growing up|as an? (?:kid|child|teen\w*)|when i was .*|`
    + String.raw`back (?:then|in the day).*|years ago|for (?:many )?years)$`,
  'i',
)

export const HAVING_FRAMES: Frame[] = [
  // People, pets and belongings
  frame('have|get|adopt', PRESENT | DONE, '', (_, what) => {
    const [, , relative, who] = NAMED.exec(what) ?? []
    return relative ? statement(`has a ${relative.toLowerCase()} named`, properName(who!)) : null
  }),
  frame('have', PRESENT, '', ({ name }, what) => (COUNT_NAMED.test(what) ? counted(what, name) : null)),
  frame('have', SIMPLE, '', (scene, what) =>
    scene.predication.tense === PERFECT && !scene.period
      ? null
      : during(scene, statement('has', possession(what, scene.name), 0.85)),
  ),
  frame(
    'have',
    PRESENT,
    `(siblings|kids|children|sisters|brothers|pets|dogs|cats|roommates)${FOLLOWED}`,
    (_, __, [who]) => statement('has', who!.toLowerCase(), 0.85),
  ),
  frame('have', PRESENT, '(?=an? (?:\\p{L}+ )?(?:internship|\\p{L}+ side)\\b)', ({ name, at }, what) => {
    const { time, text } = timeOf(what, at, false)
    const object = standalone(text, name)
    return statement('has', object && time ? `${object} ${time.when}` : object, 0.8)
  }),
  frame('have', PRESENT, '(?:no|zero) interest in', ({ name }, what) =>
    statement('has no interest in', liking(what, name), 0.85),
  ),
  frame('have', PRESENT, 'an? (?:\\p{L}+ )?(?:fear|phobia) of', ({ name }, what) =>
    statement('is afraid of', standalone(what, name), 0.85),
  ),
  frame('have', PRESENT, 'an? (?:\\p{L}+ )?passion for', ({ name }, what) =>
    statement('likes', standalone(what, name), 0.85),
  ),
  frame('have', PRESENT, 'an? (?:\\p{L}+ ){0,2}allergy to', ({ name }, what) =>
    statement('is allergic to', standalone(what, name), 0.95),
  ),
  frame('have', PRESENT, 'an? (?:\\p{L}+ ){0,2}(?:habit|tendency) of', ({ name }, what) =>
    statement(HABIT, standalone(what, name), 0.8),
  ),
  frame('have', PRESENT, 'an? (?:\\p{L}+ ){0,2}(?:habit|tendency) to', ({ name }, what) =>
    statement('tends to', standalone(what, name), 0.8),
  ),
  denial('have', PRESENT, '', (_, what) => {
    const lacked = LACKED.exec(what)?.[0].replace(/^any /i, '')
    return lacked ? statement('does not have', lacked.toLowerCase(), 0.85) : null
  }),
  frame('have', PRESENT, 'no', (_, what) => {
    const lacked = LACKED.exec(what)?.[0]
    return lacked && lacked.length > 3 && /s$/i.test(lacked)
      ? statement('does not have', lacked.toLowerCase(), 0.85)
      : null
  }),
  frame('have|own', PAST_TENSE | PERFECT | FORMER, '', ({ name, at, predication }, what) => {
    const isFormer = FORMERLY.test(what) || predication.tense === FORMER
    const object = possession(what.replace(FORMERLY, ''), name)
    if (object === null || !PET.test(object) || timeOf(what, at, true).time) return null
    if (predication.tense === PERFECT) return statement('has had', object, 0.85)
    return isFormer ? statement('used to have', object, 0.85) : null
  }),
  frame('get|adopt|rescue|buy', DONE, '', ({ name, at, predication }, what) => {
    const { time, text } = timeOf(what, at, true)
    const object = possession(
      text.replace(/,? (?:recently|the other day|not (?:too )?long ago|a while (?:ago|back))$/i, ''),
      name,
    )
    if (object === null || !/^(?:an?|another|two|three|my own)\b/i.test(text) || TROUBLE.test(text)) return null
    return statement(predication.form, time ? `${object} ${time.when}` : object, 0.8)
  }),
  simple('foster|babysit', PRESENT | PROGRESSIVE | PERFECT_PROGRESSIVE, '', 'fosters'),
  frame('drive|ride', PRESENT, '(?=an? )', ({ name, predication }, what) =>
    statement(predication.verb === 'drive' ? 'drives' : 'rides', standalone(what, name)),
  ),
  frame('speak', PRESENT, '', ({ predication }, what) =>
    predication.tense === PRESENT && !/\b(?:no|little|bit|not|some|broken|words?|learning)\b/i.test(what)
      ? [...what.matchAll(languages)].map(([language]) => statement('speaks', language))
      : null,
  ),
  frame(
    'play|practice|practise',
    NOW,
    `(?:some |a lot of |club |intramural |competitive |professional )*(?:the )?(${PLAYED})`,
    (scene, _, [what]) =>
      scene.predication.tense & (PRESENT | PERFECT_PROGRESSIVE)
        ? during(scene, statement('plays', what!.toLowerCase()))
        : null,
  ),
]
