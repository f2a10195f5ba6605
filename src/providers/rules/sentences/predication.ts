// Analyses a clause in the first person: its verb, tense, negation and adverbs, and the text after the verb. Returns
// null for clauses that are not plain assertions, such as "I would …", and for verbs that verbs.ts does not know.

import { BASE, ING, PARTICIPLE, PAST, verbOf } from './verbs.ts'

/** Tenses as bits. FORMER: "used to"; FUTURE: "going to" and "will"; ABILITY: "can". */
export const PRESENT = 1
export const PROGRESSIVE = 2
export const PAST_TENSE = 4
export const PAST_PROGRESSIVE = 8
export const PERFECT = 16
export const PERFECT_PROGRESSIVE = 32
export const FORMER = 64
export const FUTURE = 128
export const ABILITY = 256

export type Predication = {
  /** The verb in its base form; "be" for "I'm a nurse". */
  verb: string
  /** The verb as written, in lower case. */
  form: string
  tense: number
  isDenied: boolean
  /** Whether the subject is "we". */
  isPlural: boolean
  /** Adverbs before the verb, in lower case, and the emphatic "do" of "I do bake". */
  adverbs: string[]
  /** The text after the verb. */
  rest: string
}

const ADVERBS = new Set(
  `really absolutely just also always still currently now only totally truly actually mostly usually both all recently
  finally mainly often officially simply personally definitely definetly definitly particularly especially sometimes
  happily quite very super so such typically normally generally frequently regularly occasionally honestly literally even
  already yet deeply genuinely obviously secretly surprisingly lately previously originally once initially casually
  constantly basically completely ever too then indeed randomly somehow avidly myself sadly unfortunately
  luckily thankfully`.split(/\s+/),
)
/** Adverbs that make a statement neither true nor false. */
const WEAK = new Set(['hardly', 'rarely', 'barely', 'seldom', 'almost', 'nearly', 'probably', 'maybe'])
const MODALS = new Set(
  `could couldn't would wouldn't should shouldn't might may must shall ought mustn't better
  dare`.split(/\s+/),
)
const BE = new Set(['am', 'are', 'is', 'was', 'were', "isn't", "aren't", "wasn't", "weren't", 'be'])
/** Nouns after "do" that are also verbs: "I do research". */
const NOUNS = new Set(['research', 'dance', 'exercise', 'journal'])
/** Verbs whose base form is also their past, and which mean the past without an adverb. */
const ENDED = new Set(['quit', 'hurt', 'cut', 'let', 'put', 'set', 'become'])
const JUST = new Set(['just', 'finally', 'recently', 'already', 'once'])

/** Adverbs between "be" and its complement that do not change its meaning. */
const TIMES = new RegExp(
  String.raw`^(?:(?:currently|now|still|also|just|only|already|actually|both|all|officially|`
    + String.raw`definitely|technically|basically|usually|always) )+`,
  'i',
)
const SUBJECT = /^(?:i|we)(?:'(m|re|ve|d|ll))?(?=\s)/i
const WORD = /\s*([\p{L}]+(?:['-]\p{L}+)*)(?=$|[\s.,;:!)-])/uy

/** Reads the words of a text one by one. */
class Words {
  readonly #text: string
  /** Index after the last word read. */
  at: number
  constructor(text: string, at: number) {
    this.#text = text
    this.at = at
  }
  /** Returns the next word in lower case, and moves behind it; '' if there is none. */
  next(): string {
    WORD.lastIndex = this.at
    const match = WORD.exec(this.#text)
    if (!match) return ''
    this.at = WORD.lastIndex
    return match[1]!.toLowerCase()
  }
  rest(): string {
    return this.#text.slice(this.at).trim()
  }
}

type State = Pick<Predication, 'isDenied' | 'isPlural' | 'adverbs'> & { words: Words }

/** Returns the next word that is neither an adverb nor a negation, which it adds to the state; '' if there is none. */
function content(state: State): string {
  for (;;) {
    const word = state.words.next()
    if (word === 'not' || word === 'never') state.isDenied = true
    if (ADVERBS.has(word) || word === 'never') state.adverbs.push(word)
    else if (word === 'no') {
      if (state.words.next() !== 'longer') return word
      state.isDenied = true
      state.adverbs.push('no longer')
    } else if (word !== 'not') return word
  }
}

const found = (state: State, verb: string, form: string, tense: number): Predication => ({
  ...{ verb, form, tense, isDenied: state.isDenied, isPlural: state.isPlural, adverbs: state.adverbs },
  rest: state.words.rest(),
})

/** Reads what follows a form of "be". */
function afterBe(state: State, tenses: { plain: number; progressive: number }): Predication | null {
  const before = { at: state.words.at, adverbs: [...state.adverbs] }
  const word = content(state)
  const verb = verbOf(word)
  if (!verb || !(verb.forms & ING)) {
    // The adverbs belong to an adjective: "I'm so happy".
    state.words.at = before.at
    state.adverbs = before.adverbs
    const times = TIMES.exec(state.words.rest())
    if (times) for (const _ of times[0].trim().split(' ')) state.words.next()
    if (/^\s+not\b/i.test(` ${state.words.rest()}`)) {
      state.words.next()
      state.isDenied = true
    }
    return found(state, 'be', 'be', tenses.plain)
  }
  if (word !== 'going') return found(state, verb.lemma, word, tenses.progressive)
  const here = state.words.at
  if (state.words.next() === 'to') {
    const infinitive = verbOf(content(state))
    if (infinitive && infinitive.forms & BASE)
      return tenses.progressive === PROGRESSIVE ? found(state, infinitive.lemma, infinitive.lemma, FUTURE) : null
  }
  state.words.at = here
  return found(state, 'go', 'going', tenses.progressive)
}

/** Reads what follows "have", "has" or "had". */
function afterHave(state: State, form: string): Predication | null {
  const before = { at: state.words.at, adverbs: [...state.adverbs], isDenied: state.isDenied }
  const isPast = form === 'had'
  const word = content(state)
  if (word === 'been') return isPast ? null : afterBe(state, { plain: PERFECT, progressive: PERFECT_PROGRESSIVE })
  const verb = verbOf(word)
  if (verb && verb.forms & PARTICIPLE) {
    if (isPast) return null
    if (word === 'got') {
      const next = state.words.rest()
      if (/^to\b/i.test(next)) return null
      if (/^into\b/i.test(next)) return found(state, 'get', word, PERFECT)
      return found(state, 'have', 'have', PRESENT)
    }
    return found(state, verb.lemma, word, PERFECT)
  }
  Object.assign(state.words, { at: before.at })
  Object.assign(state, { adverbs: before.adverbs, isDenied: before.isDenied })
  return found(state, 'have', form, isPast ? PAST_TENSE : PRESENT)
}

const CONTRACTED: Record<string, string> = { m: 'am', re: 'are', ve: 'have', ll: 'will', d: 'would' }

function afterDo(state: State, form: string): Predication | null {
  const before = state.words.at
  if (form.endsWith("n't")) state.isDenied = true
  const adverbs = [...state.adverbs]
  const word = content(state)
  const verb = verbOf(word)
  if (verb && verb.forms & BASE && !(NOUNS.has(word) && !state.isDenied)) {
    if (form === 'do' && !state.isDenied) state.adverbs.push(form)
    return found(state, verb.lemma, word, form.startsWith('did') ? PAST_TENSE : PRESENT)
  }
  if (state.isDenied) return null
  state.words.at = before
  state.adverbs = adverbs
  return found(state, 'do', form, form === 'did' ? PAST_TENSE : PRESENT)
}

/** Analyses a clause that begins with "I" or "we"; null for other clauses and for those that assert nothing. */
export function predicationOf(clause: string): Predication | null {
  const subject = SUBJECT.exec(clause)
  if (!subject) return null
  const isPlural = /^we/i.test(clause)
  const state: State = { isDenied: false, isPlural, adverbs: [], words: new Words(clause, subject[0].length) }
  const contracted = subject[1] === undefined ? undefined : CONTRACTED[subject[1].toLowerCase()]
  const word = contracted ?? content(state)
  if (WEAK.has(word) || MODALS.has(word)) return null
  if (BE.has(word)) {
    if (word.endsWith("n't")) state.isDenied = true
    return word.startsWith('w')
      ? afterBe(state, { plain: PAST_TENSE, progressive: PAST_PROGRESSIVE })
      : afterBe(state, { plain: PRESENT, progressive: PROGRESSIVE })
  }
  if (/^(?:have|has|had)(?:n't)?$/.test(word)) {
    if (word.endsWith("n't")) state.isDenied = true
    return afterHave(state, word.replace("n't", ''))
  }
  if (/^(?:do|does|did)(?:n't)?$/.test(word)) return afterDo(state, word)
  if (/^(?:can|cannot|can't)$/.test(word)) {
    if (word !== 'can') state.isDenied = true
    return infinitive(state, ABILITY)
  }
  if (/^(?:will|won't)$/.test(word)) return word === 'will' ? afterWill(state) : null
  if (word === 'used') return state.words.next() === 'to' ? infinitive(state, FORMER) : null
  const verb = verbOf(word)
  if (!verb || !(verb.forms & (BASE | PAST))) return null
  const isPast =
    !(verb.forms & BASE) || (verb.forms & PAST && (ENDED.has(word) || state.adverbs.some((a) => JUST.has(a))))
  return found(state, verb.lemma, word, isPast ? PAST_TENSE : PRESENT)
}

function infinitive(state: State, tense: number): Predication | null {
  const word = content(state)
  const verb = verbOf(word)
  return verb && verb.forms & BASE ? found(state, verb.lemma, word, tense) : null
}

function afterWill(state: State): Predication | null {
  const word = content(state)
  if (word !== 'be') {
    const verb = verbOf(word)
    return verb && verb.forms & BASE ? found(state, verb.lemma, word, FUTURE) : null
  }
  const before = state.words.at
  const doing = content(state)
  const verb = verbOf(doing)
  if (verb && verb.forms & ING) return found(state, verb.lemma, doing, FUTURE)
  state.words.at = before
  return found(state, 'be', 'be', FUTURE)
}
