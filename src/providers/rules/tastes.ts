// Reads the objects of likes and values. A momentary like, or a like of something that needs context, is not a fact.

import { isNamed, standalone, thing, VAGUE } from './sentences/objects.ts'
import { verbOf, BASE, ING } from './sentences/verbs.ts'

/** Infinitives and gerunds of the moment or of the conversation. */
const MOMENT_VERBS = new Set(
  `see hear know think say ask be talk chat get join come have feel understand look tell let find mention hope believe
  meet catch give imagine keep put say call start wait try stop show send add seem joke pretend`.split(/\s+/),
)
/** Objects of momentary likes: a thought, or something that needs context. */
const MOMENT = new RegExp(
  String.raw`^(?:how|when|where|what|why|the (?:way|fact|idea|sound|look|thought|photo|picture|pic|song|`
    + String.raw`view|one|part|vibe|colou?rs|mix|fit|combination|details?|design|style|feeling|change)\b|`
    + String.raw`(?:some (?!(?:\p{L}+ )+(?:\p{L}+s|food|music|cuisine|wine|cheese|chocolate)\b)|two|three|`
    + String.raw`both of|all of|all the (?![\p{L}\d-]+ (?:movies|films|books|games|shows|songs|albums|`
    + String.raw`seasons)\b)|most|every|each|everything|nothing|anything|something|any|one|being (?!busy|`
    + String.raw`outdoors|outside|in nature|around (?:people|animals|kids|nature)|alone|active|by the (?:sea|`
    + String.raw`ocean|water|beach)|an? )|having|doing it|and|a good|it|that|this|these|those|`
    + String.raw`going for (?!an?\b|runs|walks|hikes|drives)|go(?:ing)? with|my (?:new|job today|day|time|`
    + String.raw`outfit|nails)|a lot of|lots of|so|to that|at|in|on|with|for|from)\b|')`,
  'iu',
)
/** What only other words determine: "the south where …", "scents like this", "taking a look". */
const RESTRICTED = new RegExp(
  String.raw`^(?:to )?tak(?:e|ing) (?:a look|control)\b|\bthe \p{L}+ (?:where|that|which|when)\b|`
    + String.raw`\b\p{L}+s that (?:have|are)\b|\b(?:like|such as) (?:this|that|these|those)\b`,
  'u',
)
/** "Some" that is no number: "some good Italian food". */
const SOME_FOOD = /^some (?=(?:\p{L}+ )+(?:food|music|cuisine|wine|cheese|chocolate)\b)/iu
/** Food in the way in which the speaker likes it: "my coffee black". */
const PREPARED = new RegExp(
  String.raw`^my (?=\p{L}+ (?:(?:just|simply|very|extra) )*(?:\p{L}{3,}ed|black|hot|cold|iced|spicy|`
    + String.raw`rare|raw|plain|sweet|strong)\b)`,
  'iu',
)
/** Lasting states: "I like to be outdoors". */
const LASTING_STATE = new RegExp(
  String.raw`^(?:to be|being) (?:honest|alone|outside|outdoors|busy|active|prepared|organi[sz]ed|`
    + String.raw`on time|early|independent|creative)\b`,
  'i',
)
const INTENSIFIED = /^(?:to )?(?:just |also |really |always |especially |sometimes |simply )+/i

/** Verbs whose gerund says nothing without an object. */
const LACKS_OBJECT = new RegExp(
  String.raw`^(?:do|play|share|watch|make|have|use|want|need|give|put|take|bring|buy|wear|show|go|`
    + String.raw`create|learn|own|add)$`,
)

/** Reads the object of a like; null if the like is momentary or the object needs context. */
export function liking(text: string, name: string): string | null {
  const plain = text
    .replace(INTENSIFIED, (words) => (/^to /i.test(words) ? 'to ' : ''))
    .replace(/^like (?=\p{L})/u, '')
    .replace(PREPARED, '')
    .replace(SOME_FOOD, '')
  if (MOMENT.test(plain) || RESTRICTED.test(plain)) return null
  const [, to, first = ''] = /^(to )?([\p{L}-]+)/u.exec(plain) ?? []
  const verb = verbOf(first.toLowerCase())
  const isVerbal = verb !== null && (to ? verb.forms & BASE : verb.forms & ING)
  if ((to && !verb) || (isVerbal && MOMENT_VERBS.has(verb.lemma) && !LASTING_STATE.test(plain))) return null
  const object = standalone(plain, name)
  if (object === null || (/^the /i.test(object) && !isNamed(object))) return null
  // "I like to do" and "I love making" lack their object.
  const isSingle = !object.replace(/^to | (?:occasionally|sometimes|often)$/gi, '').includes(' ')
  if (isVerbal && isSingle && LACKS_OBJECT.test(verb.lemma)) return null
  return object
}

/** Finite verbs. A topic with one is a part of a sentence. */
const FINITE = /\b(?:is|are|was|were|has|have|had|can|will|do|does|did|makes?|helps?|gets?|says?|means?|isn't|not)\b/i
/** Topics that need context. "The sea" and similar topics do not. */
const NEEDS_CONTEXT = new RegExp(
  String.raw`^(?:the(?! (?:environment|planet|climate|sea|ocean|beach|outdoors|mountains|arts?|truth|`
    + String.raw`future)$)|this|that|these|those|an?|my favou?rite|thanks?|and|or|but|just|no|nobody|none|not|`
    + String.raw`few|little|hardly|seeing|hearing|knowing|such|what|who|which|it|yes|yeah|here|there|one|maybe|`
    + String.raw`so|also|oh|for)\b|\b(?:me|us|you|your)\b`,
  'i',
)
/** Maximum number of words of a topic. */
const MAX_TOPIC_WORDS = 7

/** Reads a topic, which may be a list: "Friends, family and music". Null if it needs context or is too long. */
export function topic(text: string, name: string): string | null {
  const list = text.trim().replace(/, /g, ' + ')
  if (NEEDS_CONTEXT.test(list) || VAGUE.test(list) || FINITE.test(list) || list.split(' ').length > MAX_TOPIC_WORDS)
    return null
  return thing(list, name)?.replaceAll(' +', ',') ?? null
}
