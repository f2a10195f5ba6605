// Classifies predicates. Synonyms and denials belong to one class; the class determines how many objects a subject can
// have at a time, and the section of the user's profile. A predicate that is not in TABLE or DENIALS and is not a
// favourite is a class of its own with the cardinality MANY, so only its denial contradicts it.

import { stem } from '../../../../text/words/stems.ts'
import { words } from '../../../../text/words/words.ts'

/**
 * Section of a user's profile. ABOUT: identity and relationships; ENVIRONMENT: home, possessions and tools;
 * CONSTRAINTS: requirements such as allergies, diets and deadlines.
 */
export type Section = 'ABOUT' | 'PREFERENCES' | 'WORK' | 'ENVIRONMENT' | 'CONSTRAINTS' | 'OTHER'

/**
 * Number of objects that a subject can have at a time. ONE_PER_KIND: one object per group of alternatives (see
 * isRelated in same.ts).
 */
type Cardinality = 'MANY' | 'ONE' | 'ONE_PER_KIND'

export type PredicateClass = {
  /** Name of the class, shared by synonyms and by a predicate and its denial. */
  name: string
  /**
   * Whether the predicate denies its class, as "does not like", "dislikes" and "no longer likes" deny "likes". A denial
   * has the cardinality MANY.
   */
  isDenied: boolean
  cardinality: Cardinality
  section: Section
}

type Row = [name: string, cardinality: Cardinality, section: Section, synonyms: string]

/** Each class with its synonyms, comma-separated. Predicates are compared by stems, without the words of IGNORED. */
const TABLE: Row[] = [
  ['is named', 'ONE', 'ABOUT', 'name, named, has name, called, full name, name of'],
  ['goes by', 'MANY', 'ABOUT', 'nickname, nicknamed, likes to be called, prefers to be called, known as'],
  ['is aged', 'ONE', 'ABOUT', 'age, aged, has age, age in years, years old'],
  ['has birthday on', 'ONE', 'ABOUT', 'birthday, born on, birth date, birthdate, date of birth'],
  ['was born in', 'ONE', 'ABOUT', 'born in, birthplace, place of birth'],
  ['comes from', 'ONE', 'ABOUT', 'from, originally from, came from, hails from, hometown, home country'],
  ['grew up in', 'MANY', 'ABOUT', 'grown up in, raised in'],
  [
    'is married to',
    'ONE',
    'ABOUT',
    'married to, married with, spouse, husband, wife, has a husband named, ' + 'has a wife named',
  ],
  ['is engaged to', 'ONE', 'ABOUT', 'engaged to, fiance, fiancee, fiancé, fiancée'],
  ['is dating', 'ONE', 'ABOUT', 'dates, boyfriend, girlfriend, has a boyfriend named, has a girlfriend named'],
  ['is', 'MANY', 'ABOUT', ''],
  ['lives with', 'MANY', 'ABOUT', 'live with'],
  ['is a member of', 'MANY', 'ABOUT', 'member of, belongs to'],
  ['is afraid of', 'MANY', 'ABOUT', 'fears, scared of'],
  ['is bad at', 'MANY', 'ABOUT', ''],
  ['believes in', 'MANY', 'ABOUT', 'belief'],
  ['is seen as', 'MANY', 'ABOUT', ''],
  ['sees oneself as', 'MANY', 'ABOUT', ''],
  ['feels comfortable', 'MANY', 'ABOUT', 'feels more comfortable, feels most comfortable'],
  ['is lucky to have', 'MANY', 'ABOUT', 'blessed to have, thankful for, grateful for'],
  ['draws strength from', 'MANY', 'ABOUT', 'supported by, looks up to'],
  ['is motivated by', 'MANY', 'ABOUT', 'inspired by, driven by'],
  [
    'is helped by',
    'MANY',
    'ABOUT',
    'kept sane by, kept going by, kept grounded by, kept calm by, kept motivated by, '
      + 'kept at peace by, kept busy by, made happy by, made calm by',
  ],
  ['wants remembered', 'MANY', 'ABOUT', 'asked to remember'],
  ['has the pronouns', 'ONE', 'ABOUT', 'pronouns, uses the pronouns'],
  ['speaks', 'MANY', 'ABOUT', 'speak, language, spoken language'],
  [
    'lives in',
    'ONE',
    'ENVIRONMENT',
    'live, live at, living in, resides in, resides at, residence, based in, '
      + 'located in, location, home, home city, city, moved to, relocated to, has moved to, current city',
  ],
  ['has the time zone', 'ONE', 'ENVIRONMENT', 'timezone, time zone, in the time zone'],
  ['has the address', 'ONE', 'ENVIRONMENT', 'address, home address, postal address'],
  ['uses', 'MANY', 'ENVIRONMENT', 'use, works with, runs on'],
  ['drives', 'MANY', 'ENVIRONMENT', 'drive'],
  ['owns', 'MANY', 'ENVIRONMENT', 'own, has, have, does have, possesses'],
  [
    'works at',
    'ONE',
    'WORK',
    'work for, works for, employed by, employed at, employer, working at, company, '
      + 'workplace, joined, got a job at, started at, started working at',
  ],
  ['works as', 'ONE', 'WORK', 'job, occupation, profession, job title, employed as, working as, role'],
  ['works', 'MANY', 'WORK', ''],
  ['works in', 'MANY', 'WORK', 'working in, field, industry'],
  ['graduated from', 'MANY', 'WORK', ''],
  ['has a degree in', 'MANY', 'WORK', 'degree'],
  ['volunteers at', 'MANY', 'WORK', 'volunteers for, volunteers with, volunteers as'],
  ['teaches', 'MANY', 'WORK', ''],
  ['studies', 'MANY', 'WORK', 'study, studying, student of, majors in, major'],
  ['studies at', 'ONE', 'WORK', 'student at, attends, goes to school at'],
  ['likes', 'MANY', 'PREFERENCES', 'like, loves, enjoys, is a fan of, fan of, fond of, into, adores, can stand'],
  ['values', 'MANY', 'PREFERENCES', 'cherishes, treasures, holds dear, cares about, finds it important to'],
  [
    'finds joy in',
    'MANY',
    'PREFERENCES',
    'finds peace in, finds comfort in, finds happiness in, finds strength in, '
      + 'finds freedom in, finds hope in, finds purpose in, finds calm in, finds energy in, finds inspiration in',
  ],
  ['plays', 'MANY', 'PREFERENCES', ''],
  ['collects', 'MANY', 'PREFERENCES', ''],
  ['listens to', 'MANY', 'PREFERENCES', ''],
  ['has the hobby', 'MANY', 'PREFERENCES', 'hobby'],
  ['dabbles in', 'MANY', 'PREFERENCES', ''],
  ['got into', 'MANY', 'PREFERENCES', ''],
  ['follows', 'MANY', 'PREFERENCES', ''],
  ['tends to', 'MANY', 'PREFERENCES', 'tries to, gravitates towards'],
  ['spends a lot of time', 'MANY', 'PREFERENCES', 'spends much time'],
  ['has the habit of', 'MANY', 'PREFERENCES', 'habit'],
  ['prefers', 'ONE_PER_KIND', 'PREFERENCES', 'prefer, preference, would rather have, favors, favours'],
  ['is allergic to', 'MANY', 'CONSTRAINTS', 'allergy, allergic, allergies, has an allergy to'],
  ['eats', 'MANY', 'CONSTRAINTS', 'eat, can eat'],
  ['drinks', 'MANY', 'CONSTRAINTS', 'drink, can drink'],
  ['has the budget', 'ONE', 'CONSTRAINTS', 'budget'],
  ['has the deadline', 'ONE', 'CONSTRAINTS', 'deadline'],
  ['must', 'MANY', 'CONSTRAINTS', 'needs, has to, requires, only'],
  ['follows the diet', 'MANY', 'CONSTRAINTS', 'diet, dietary restriction'],
]

/** Classes, each with the predicates that deny it, comma-separated. Only "stopped using" matches NEGATION. */
const DENIALS: [denied: string, synonyms: string][] = [
  ['likes', 'dislikes, hates, detests, loathes, averse to'],
  ['works at', 'left, quit, left the job at, quit the job at, resigned from, fired from'],
  ['lives in', 'moved away from, moved out of, left the city of'],
  ['is married to', 'divorced from, separated from'],
  ['is engaged to', 'broke off the engagement to'],
  ['is dating', 'broke up with'],
  ['uses', 'stopped using'],
]

const NEGATION = /\b(?:not|never|no longer|no more|cannot|stopped|formerly|used to)\b|n['’]t\b/gi
/** Words that do not identify a predicate. "ca" and "wo" are left of "can't" and "won't" without NEGATION. */
const IGNORED = new Set(
  `a an the is are was be been am do does did has have had currently now still also really usually sometimes always often just
  very much any anymore can ca will wo`.split(/\s+/),
)

/**
 * Matches predicates in the past tense. Each is a class of its own: "lived in" does not describe the present, but "has
 * lived in" does. Matches before stemming, which removes the tense.
 */
const PAST =
  /^(?:previously |once )?(?:lived|resided|worked|studied|attended|drove|owned|used|spoke|dated|liked)\b(?! to\b)/i

/** Returns the stems of the predicate's words that are not in IGNORED, or of all words if IGNORED contains them all. */
function keyOf(predicate: string): string {
  const all = words(predicate)
  const kept = all.filter((word) => !IGNORED.has(word))
  return (kept.length > 0 ? kept : all).map((word) => stem(word)).join(' ')
}

const byKey = new Map<string, Row>()
for (const row of TABLE) {
  for (const wording of [row[0], ...row[3].split(',')]) if (wording.trim()) byKey.set(keyOf(wording), row)
}
const denials = new Map<string, Row>()
for (const [denied, synonyms] of DENIALS) {
  const row = TABLE.find(([name]) => name === denied)!
  for (const synonym of synonyms.split(',')) denials.set(keyOf(synonym), row)
}

/** Captures the kind of a favourite: "colour is" in "favourite colour is". A subject has one favourite of each kind. */
const FAVOURITE = /^(?:has (?:a |the )?)?(?:favou?rite|preferred)\s+(\S.*)$/i
/** Captures the kind of one of several favourites: "cities" in "has as favourite cities". */
const ONE_OF_FAVOURITES = /^has as (?:a )?favou?rite\s+(\S.*)$/i

/** Returns the class of a predicate, and whether the predicate denies it. */
export function classify(predicate: string): PredicateClass {
  const favourite = FAVOURITE.exec(predicate.trim())
  if (favourite) {
    return { name: `favourite ${keyOf(favourite[1]!)}`, isDenied: false, cardinality: 'ONE', section: 'PREFERENCES' }
  }
  const oneOf = ONE_OF_FAVOURITES.exec(predicate.trim())
  if (oneOf) {
    return { name: `favourites ${keyOf(oneOf[1]!)}`, isDenied: false, cardinality: 'MANY', section: 'PREFERENCES' }
  }
  if (PAST.test(predicate.trim())) {
    return { name: `past ${keyOf(predicate)}`, isDenied: false, cardinality: 'MANY', section: 'OTHER' }
  }
  const negations = [...predicate.matchAll(NEGATION)].length
  const bare = negations > 0 ? predicate.replace(NEGATION, ' ') : predicate
  const key = keyOf(predicate)
  const denied = denials.get(key) ?? (negations > 0 ? denials.get(keyOf(bare)) : undefined)
  const row = denied ?? byKey.get(keyOf(bare))
  // DENIALS already accounts for the negation in "stopped using".
  const isDenied = denials.has(key) || (negations + (denied ? 1 : 0)) % 2 === 1
  const [name, cardinality, section]: Row = row ?? [keyOf(bare), 'MANY', 'OTHER', '']
  return { name, isDenied, cardinality: isDenied ? 'MANY' : cardinality, section }
}
