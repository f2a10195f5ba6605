// The forms of the verbs that the extraction rules know: "moves", "moved" and "moving" of "move". A word that is not a
// form of one of these verbs is never read as a verb.

/** Forms of a verb as bits, because one word may be several of them: "read". */
export const BASE = 1
export const THIRD = 2
export const PAST = 4
export const PARTICIPLE = 8
export const ING = 16

export type Verb = { lemma: string; forms: number }

/** Verbs with regular forms. */
const REGULAR = `live, reside, stay, move, relocate, work, study, major, minor, graduate, volunteer, intern, train, coach, mentor,
  tutor, own, like, love, enjoy, adore, hate, dislike, detest, loathe, prefer, miss, want, need, hope, plan, decide,
  agree, use, play, practice, practise, learn, collect, cook, bake, paint, knit, crochet, garden, foster, dance,
  act, exercise, jog, hike, walk, camp, climb, surf, skate, ski, snowboard, cycle, bike, box, meditate, journal,
  travel, visit, tour, explore, watch, listen, follow, stream, smoke, vape, gamble, sail, fish, hunt, attend, join,
  start, finish, complete, end, stop, retire, resign, apply, adopt, rescue, order, purchase, receive, earn, save,
  rent, lease, renovate, create, design, develop, open, launch, found, publish, release, host, organize, organise,
  celebrate, marry, date, divorce, engage, raise, expect, care, value, cherish, treasure, believe, worship, pray,
  support, vote, call, name, struggle, suffer, diagnose, injure, sprain, twist, fracture, recover, perform, compete,
  participate, enroll, enrol, register, sign, donate, plant, harvest, clean, shop, style, dye, try, test, taste,
  photograph, record, produce, compose, program, code, game, research, invest, trade, manage, supervise, direct,
  serve, groom, look, consider, dream, wish, admire, respect, trust, fear, avoid, skip, crave, stretch, lift, nap,
  commute, drop, switch, transfer, change, return, happen, share, talk, chat, text, interview, propose, elope, turn,
  pass, fail, bulk, sketch, craft, carve, decorate, juggle, whistle, binge, rewatch, roast, grill, brew, dabble,
  gravitate, specialize, specialise, identify, convert, immigrate, emigrate, migrate, settle, ask, help, seem, lack,
  tend, continue, promise, remember, cry, laugh, wonder, wait, guess, blog, vlog, carry, contact, score, inherit,
  hatch, apologize, chop, fix, repair, restore, rehearse, network, sculpt, mourn, unpack, pack, book, reserve,
  stargaze, kayak, bowl, golf, row, gain, shave`

/** Irregular verbs: base, past and participle. */
const IRREGULAR = `be was been, have had had, do did done, get got got, go went gone, come came come, see saw seen,
  find found found, feel felt felt, hear heard heard, know knew known, give gave given, put put put, set set set,
  run ran run, hang hung hung, keep kept kept, become became become, begin began begun, make made made, take took taken,
  retake retook retaken, teach taught taught, draw drew drawn, write wrote written, sing sang sung, swim swam swum,
  read read read, reread reread reread, drink drank drunk, eat ate eaten, drive drove driven, ride rode ridden,
  quit quit quit, buy bought bought, sell sold sold, build built built, speak spoke spoken, break broke broken,
  grow grew grown, wear wore worn, lead led led, feed fed fed, breed bred bred, think thought thought, wake woke woken,
  sleep slept slept, fly flew flown, spend spent spent, meet met met, win won won, lose lost lost, hurt hurt hurt,
  fall fell fallen, cut cut cut, leave left left, say said said, tell told told, let let let, bring brought brought,
  mean meant meant, hold held held, pay paid paid, sit sat sat, stand stood stood, catch caught caught,
  throw threw thrown, send sent sent, show showed shown, forget forgot forgotten, understand understood understood,
  babysit babysat babysat, sew sewed sewn, die died died`

/** Verbs that double their last consonant: "jogging". */
const DOUBLED = new Set(
  `jog plan knit swim quit run get shop chat set put cut sit drop stop win begin let babysit program
  nap prefer skip transfer`.split(/\s+/),
)

const listed = (text: string) => text.split(/,\s*/).map((each) => each.trim())

const isConsonantY = (verb: string) => /[^aeiou]y$/.test(verb)

function thirdPersonOf(verb: string): string {
  if (verb === 'be') return 'is'
  if (verb === 'have') return 'has'
  if (isConsonantY(verb)) return `${verb.slice(0, -1)}ies`
  return /(?:s|sh|ch|x|z|o)$/.test(verb) ? `${verb}es` : `${verb}s`
}

function gerundOf(verb: string): string {
  if (verb === 'be') return 'being'
  if (verb === 'die') return 'dying'
  if (DOUBLED.has(verb)) return `${verb}${verb.at(-1)}ing`
  return /[^eo]e$/.test(verb) ? `${verb.slice(0, -1)}ing` : `${verb}ing`
}

function pastOf(verb: string): string {
  if (isConsonantY(verb)) return `${verb.slice(0, -1)}ied`
  if (DOUBLED.has(verb)) return `${verb}${verb.at(-1)}ed`
  return verb.endsWith('e') ? `${verb}d` : `${verb}ed`
}

const verbs = new Map<string, Verb>()
const add = (form: string, lemma: string, bit: number) => {
  const known = verbs.get(form)
  // A form of two verbs, such as "found", belongs to the irregular one, which is added first.
  if (!known) verbs.set(form, { lemma, forms: bit })
  else if (known.lemma === lemma) known.forms |= bit
}
const irregular = new Map(
  listed(IRREGULAR).map((entry) => {
    const [base = '', past = '', participle = ''] = entry.split(' ')
    return [base, [past, participle]] as const
  }),
)
const lemmas = [...irregular.keys(), ...listed(REGULAR)]
for (const lemma of lemmas) {
  const [past, participle] = irregular.get(lemma) ?? [pastOf(lemma), pastOf(lemma)]
  add(past, lemma, PAST)
  add(participle, lemma, PARTICIPLE)
}
for (const lemma of lemmas) {
  add(lemma, lemma, BASE)
  add(thirdPersonOf(lemma), lemma, THIRD)
  add(gerundOf(lemma), lemma, ING)
}
add('travelled', 'travel', PAST | PARTICIPLE)
add('travelling', 'travel', ING)
add('gotten', 'get', PARTICIPLE)
add('learnt', 'learn', PAST | PARTICIPLE)

/** Returns the verb of which the word is a form; null if no such verb is known. `word` is in lower case. */
export const verbOf = (word: string): Verb | null => verbs.get(word) ?? null

/** Returns the base form of a verb in the third person singular: "live" for "lives"; null for other words. */
export function baseOfThird(word: string): string | null {
  const verb = verbs.get(word)
  return verb && verb.forms & THIRD ? verb.lemma : null
}

/** Returns a verb phrase in the base form as a gerund: "going to bed" for "go to bed". */
export function gerund(phrase: string): string {
  const [verb = '', ...rest] = phrase.split(' ')
  return [gerundOf(verb.toLowerCase()), ...rest].join(' ')
}

/** Returns the third person singular of a verb phrase in the base form: "goes to" for "go to". */
export function thirdPerson(phrase: string): string {
  const [verb = '', ...rest] = phrase.toLowerCase().split(' ')
  return [thirdPersonOf(verb), ...rest].join(' ')
}
