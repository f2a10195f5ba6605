// Finds whom a clause is about: the speaker, a named participant, or a relative of the speaker. Rewrites the clause in the
// first person, which is the form that verb frames read: "My sister lives in Rome" becomes "I live in Rome".

import { COUNTED, RELATIVES } from '../lists.ts'
import { properName } from './objects.ts'
import { BASE, baseOfThird, PAST, verbOf } from './verbs.ts'

export type Subject = {
  /** The name of whom the clause is about. */
  name: string
  /** The name with which "my" is replaced. */
  owner: string
  kind: 'SPEAKER' | 'PERSON' | 'RELATIVE'
  /** The clause in the first person. */
  text: string
}

/** Verb forms that are no forms of a verb of verbs.ts, with their form in the first person. */
const AUXILIARIES: Record<string, string> = {
  is: "I'm",
  are: "I'm",
  was: 'I was',
  were: 'I was',
  has: 'I have',
  have: 'I have',
  "isn't": "I'm not",
  "aren't": "I'm not",
  "doesn't": "I don't",
  "don't": "I don't",
  does: 'I do',
  do: 'I do',
  "hasn't": "I haven't",
  can: 'I can',
  "can't": "I can't",
  used: 'I used',
}
const ADVERB = new RegExp(
  String.raw`^(?:also|really|always|just|still|usually|actually|recently|finally|never|currently|`
    + String.raw`both|all|now|no longer|often|sometimes|only|already|totally|absolutely|mostly) `,
  'i',
)

/** "Is" contracted with the subject, and what follows it: "'s a nurse". */
const CONTRACTED = new RegExp(
  String.raw`^['’]s (?=(?:an?|the|called|named|from|in|at|on|not|so|very|allergic|also|married|vegan|`
    + String.raw`\p{L}+ing|\d+)\b)(.+)$`,
  'iu',
)

/** Rewrites a verb phrase in the third person, such as "lives in Rome", in the first; null for other text. */
function inFirstPerson(phrase: string): string | null {
  const contracted = CONTRACTED.exec(phrase)?.[1]
  if (contracted === undefined && /^['’]s/.test(phrase)) return null
  if (contracted) return `I'm ${contracted}`
  let [adverbs, rest] = ['', phrase.trimStart()]
  for (let match = ADVERB.exec(rest); match; match = ADVERB.exec(rest)) {
    adverbs += match[0]
    rest = rest.slice(match[0].length)
  }
  const [, verb = '', more = ''] = /^(\S+)(.*)$/s.exec(rest) ?? []
  const lower = verb.toLowerCase()
  if (Object.hasOwn(AUXILIARIES, lower)) {
    const first = AUXILIARIES[lower]!
    const [subject, ...auxiliary] = first.split(' ')
    return adverbs === '' ? `${first}${more}` : `${subject} ${[adverbs.trim(), ...auxiliary].join(' ')}${more}`
  }
  const base = baseOfThird(lower)
  if (base) return `I ${adverbs}${base}${more}`
  const known = verbOf(lower)
  return known && known.forms & (PAST | BASE) ? `I ${adverbs}${verb}${more}` : null
}

const RELATIVE = new RegExp(
  `^(?:my|our|(one of) my) ((?:(?:little|big|oldest|older|younger|eldest|youngest|twin|late|close|closest|`
    + `good|best|current|new|whole|entire|baby) ){0,2}(?:${RELATIVES}|${COUNTED}|parents|grandparents|in-laws|`
    + `family|friends|stepkids))`
    + `( \\p{Lu}[\\p{L}-]+)?(?=['’]s | )(.+)$`,
  'iu',
)
const FRIEND_OF_MINE = /^an? (?:good |close |old )?(friend|cousin|colleague|coworker|neighbou?r) of mine (.+)$/i

/** What mine.ts and events.ts read: names and deaths. */
const NO_DOING =
  /^ ?(?:name\b|(?:['’]s|is|was) (?:called|named)\b|(?:just |sadly |recently |also |suddenly )*(?:passed|died)\b)/i

/** Returns "one of " or '', a relative, its name with the space before it, and the verb phrase. */
function relativeIn(text: string): string[] {
  const [, oneOf, relative, name, phrase] = RELATIVE.exec(text) ?? []
  if (!relative || NO_DOING.test(`${name ?? ''}${phrase}`)) return []
  // The pattern ignores case, so it takes a verb for a name, too.
  const [called, does] = name && /^ \p{Lu}/u.test(name) ? [name, phrase!] : ['', `${name ?? ''}${phrase}`]
  return [oneOf ? 'one of ' : '', relative, called, does]
}

/** Returns whom the clause is about, with the clause in the first person. */
export function subjectOf(text: string, speaker: string, names: readonly string[]): Subject {
  const asSpeaker = (words: string): Subject => ({ name: speaker, owner: speaker, kind: 'SPEAKER', text: words })
  if (/^(?:i|we)\b/i.test(text)) return asSpeaker(text)
  for (const name of names) {
    const matched = [name, name.split(' ')[0]!].find((each) => text.startsWith(each))
    if (!matched) continue
    const rest = text.slice(matched.length)
    const possessive = /^['’]s (?=\p{L}+ (?:\p{L}+ )?(?:is|are)\b)/u.exec(rest)
    if (possessive) return { name, owner: name, kind: 'PERSON', text: `my ${rest.slice(possessive[0].length)}` }
    const first = /^['’ ]/.test(rest) ? inFirstPerson(rest) : null
    if (first) return { name, owner: name, kind: 'PERSON', text: first }
  }
  const [oneOf = '', relative, called = '', phrase = ''] = relativeIn(text)
  const friend = FRIEND_OF_MINE.exec(text)
  const [who, does] = relative ? [relative, phrase] : [friend?.[1], friend?.[2] ?? '']
  // In "my dad loves my sister", the second "my" still refers to the speaker.
  if (who && !/\b(?:my|our|me|us)\b/i.test(does)) {
    const isName = called === '' || properName(called.trim()) !== null
    const first = isName ? inFirstPerson(does) : null
    const name = `${oneOf}${speaker}'s ${who.toLowerCase()}${called}`
    if (first) return { name, owner: name, kind: 'RELATIVE', text: first }
  }
  return asSpeaker(text)
}
