// Makes a title from the first turns of a conversation, by rules for English: selects an early sentence with words that
// many sentences contain, and removes introductions, pronouns and subordinate clauses from it, so that three to seven
// words name the topic. In other languages, the title is usually a whole sentence. Pure.

import { headline, withoutFronted } from './headline.ts'
import { sentencesOf } from './words/segments.ts'
import { isSmallTalk, namesOf, withoutHail } from './small-talk.ts'
import { terms } from './words/words.ts'

/** Maximum length of a title, in characters. @internal Exported for tests. */
export const TITLE_CHARACTERS = 60
/** Maximum number of sentences that are considered. */
const MAX_SENTENCES = 60
/** Minimum number of distinct content words in a title. */
const MIN_WORDS = 2
/** Maximum number of content words that count for the score of a sentence, so that a long one has no advantage. */
const SCORED_WORDS = 4
/**
 * Added to the divisor of a sentence's score for each turn before it, and for each candidate sentence before it in its
 * turn, because the first sentences name the topic.
 */
const LATER_TURN = 0.3
const LATER_SENTENCE = 0.05

/**
 * Number of words below which a title says too little, and words that need context, with the factors of the score of a
 * phrase that has them.
 */
const FEW_WORDS = 3
const FEW_FACTOR = 0.7
const VAGUE = new RegExp(
  String.raw`\b(?:it|that|this|these|those|they|them|there|here|something|anything|`
    + String.raw`everything|things?|stuff|he|she|him|her|you|your)\b`,
  'i',
)
const VAGUE_FACTOR = 0.6

const PRONOUN = String.raw`(?:i|we|you|he|she|they|it|there|this|that|im|ive|weve|its|theres|thats|youre)`
const AUXILIARY =
  String.raw`(?:am|is|are|was|were|be|been|being|have|has|had|do|did|does|will|would|can|could|should|`
  + String.raw`might|'?(?:m|s|re|ve|d|ll)|ain't|dont|didnt|cant|wont)`
const ADVERB =
  String.raw`(?:just|also|really|actually|finally|recently|still|always|already|currently|only|so|very|`
  + String.raw`definitely|probably|honestly|literally|not)`
const LIGHT =
  String.raw`(?:go|going|went|gone|get|getting|got|make|making|made|take|taking|took|do|doing|did|have|`
  + String.raw`having|had|try|trying|tried|start|starting|started|want|wanted|need|needed|like|love|`
  + String.raw`loved|think|thought|know|hear|heard|see|saw|seen|find|found|meet|met|look|looking|looked|`
  + String.raw`work|working|plan|planning|planned|decide|decided|wonder|wondering|hope|hoping|feel|`
  + String.raw`feeling|felt|say|tell|give|be|come|came|coming|finish|finished|wait|waiting|sit|sitting|`
  + String.raw`stay|staying|spend|spending|spent|gonna|wanna|gotta|buy|bought|enjoy|enjoyed|end|ended)`
const LINK =
  String.raw`(?:to|for|at|on|in|into|of|with|about|up|out|if|that|forward|a bit|a lot|back|from|over|`
  + String.raw`through|off)`
const OBJECT = String.raw`(?:you|me|him|her|us|them|everyone)`
const DETERMINER = String.raw`(?:a|an|the|my|our|your|his|her|their|some|this|that|these|those|any)`

/** A greeting at the beginning of a sentence, with the punctuation after it, if any. */
const GREETING = /^(?:hello|hi+|hey+|hiya|yo|greetings|(?:good )?(?:morning|afternoon|evening|day))\b[,!.]*\s*/i
/** Sentences about the conversation itself, and good wishes. */
const FILLER = [
  /\bsince (?:we|our) last\b|\bsince then\b|\b(?:lots?|much|a lot)(?:['’]s| has| have)? (?:been going on|happened)\b/i,
  new RegExp(
    String.raw`^(?:i )?(?:really )?hop(?:e|ing) (?:that )?(?:you|u|your|youre|everything|all|`
      + String.raw`things|it)\b|^happy (?:new|birthday|holidays|friday|monday)`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:thank you|thanks)\b|^how (?:can|may|could) i (?:help|assist)\b|^what can i `
      + String.raw`do for you|^how goes it|^any(?:thing)? (?:new|else|exciting|fun)\b|how are you\b`,
    'i',
  ),
  new RegExp(
    String.raw`\bask (?:you|u) (?:a|something|some)\b|\btell you something\b|\bspill the `
      + String.raw`beans\b|\bguess what\b|\bmissed you\b|\bsay (?:hi|hello)\b|\bheads up\b`,
    'i',
  ),
  new RegExp(
    String.raw`\bmy name is\b|\bnice to meet\b|\bgreat to meet\b|\bwhere are you from\b|^(?:i `
      + String.raw`am|i['’]?m) (?:doing )?(?:good|fine|ok|okay|well|great)[.!]*$`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:so |i'm |i’m )?sorry\b(?! to (?:say|tell|bother))|\btake a look\b|^(?:it['’]s `
      + String.raw`)?been a (?:\w+ )?(?:while|day|week|month|minute)\b`,
    'i',
  ),
]
/** Phrases at the beginning of a sentence that precede its topic. */
const OPENERS = [
  new RegExp(
    String.raw`^(?:so|well|anyway|anyways|also|and|but|or|ok|okay|yeah|yes|yep|no|nope|oh|ah|`
      + String.raw`wow|hmm|um|please|btw|by the way|guess what|you know|i mean|in fact|actually|honestly|`
      + String.raw`sure|of course|absolutely|great news|news|great|right|in the meantime|meanwhile|lately|`
      + String.raw`recently|sorry to (?:say|tell you|bother you)(?: this)?(?:,? but)?)\b[,.!:;–—-]*\s+`,
    'i',
  ),
  /^since (?:we|our) last (?:\w+),?\s+/i,
  new RegExp(
    String.raw`^(?:(?:last|this|next) \w+(?: \w+)?|yesterday|today|tonight|on \w+day|the other day|`
      + String.raw`(?:a|two|three|few|a few) (?:days?|weeks?|months?) ago),?\s+(?=${PRONOUN}\b)`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:can|could|would|will) you (?:please |maybe |kindly )?(?:help me (?:to |with `
      + String.raw`)?|tell me (?:about )?|show me |explain (?:to me )?|give me )?`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:(?:please )?help me (?:to |with |out with )?|i (?:need|want|would like|'d `
      + String.raw`like) (?:your )?(?:help|advice) (?:with |on |to |in )?|i(?:'d| would) like (?:you )?to |`
      + String.raw`i (?:need|want) (?:you )?to |let'?s (?:talk about |discuss )?|we (?:need|have) to (?:talk about|discuss) |do you know |tell me (?:more )?about |here(?:'s| is| are) |`
      + String.raw`what(?:'s| is) the (?:best |easiest |right )?way to |how much (?:does|do|is|are) |i was wondering if (?:you|i|we) (?:could|can) |`
      + String.raw`i think (?:that )?(?:we|i|you) (?:should|could|need to) |there (?:is|was|are|were|has been) |what do you `
      + String.raw`think (?:of|about) |how about |what about |have you (?:ever )?(?:heard (?:of|about) |`
      + String.raw`tried )?)`,
    'i',
  ),
]
const SUBJECT = new RegExp(
  String.raw`^${PRONOUN}(?:['’](?:m|s|re|ve|d|ll)|\b)(?:\s+(?:${AUXILIARY}|${ADVERB}|`
    + String.raw`${LIGHT})\b)*(?:\s+${OBJECT}\b)?(?:\s+${LINK}\b)*(?:\s+${LIGHT}\b)?(?:\s+${OBJECT}\b)?(?`
    + String.raw`:\s+${LINK}\b)*[,]?\s+`,
  'i',
)
/** A beginning without a subject: "Just got back from …". */
const OMITTED = new RegExp(
  String.raw`^(?:just|finally|recently|been|currently|still)\s+(?:${LIGHT}\s+)*(?:${LINK}\s+)*`,
  'i',
)
const ARTICLE = new RegExp(String.raw`^${DETERMINER}\s+`, 'i')
/** A clause at the end of a sentence that is removed, because it only explains or comments. */
const CLAUSE = new RegExp(
  String.raw`\s*(?:[;:…]|\s[–—-]\s|,\s|\s(?:but|because|since|although|though|which|so that|`
    + String.raw`and (?:i|it|we|he|she|they|that)|so (?:i|we|it))\s).*$`,
  'i',
)
/** A function word at the end of a shortened text. */
const DANGLING = new RegExp(
  String.raw`\s+(?:and|or|but|the|a|an|of|for|to|with|in|on|at|by|from|about|my|our|your|his|`
    + String.raw`her|their|its|is|are|was|were|that|which|as|so|if|when|because|some|very)$`,
  'i',
)

/** Returns the text without fenced code, URLs and Markdown marks, which do not belong in a title. */
const plainText = (text: string) =>
  text
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+|\bwww\.\S+/gi, ' ')
    .replace(/^\s*(?:#+|[-*+>]|\d+[.)])\s+/gm, '')
    .replace(/[`*_~|]+/g, (marks) => (marks.length > 1 || marks !== '_' ? '' : marks))

const withoutOpeners = (sentence: string): string => {
  let rest = sentence
  for (let shorter = ''; shorter !== rest;) {
    shorter = rest
    for (const opener of OPENERS) rest = rest.replace(opener, '')
  }
  return rest
}

/**
 * Returns the text if it has at most `max` characters; otherwise its beginning, cut between words if possible, without
 * function words at the end, and with an ellipsis.
 */
function cut(text: string, max: number): string {
  if ([...text].length <= max) return text
  const characters = [...text].slice(0, max - 1).join('')
  const space = characters.lastIndexOf(' ')
  let kept = space > max / 2 ? characters.slice(0, space) : characters
  for (let shorter = ''; shorter !== kept;) {
    shorter = kept
    kept = kept.replace(DANGLING, '').replace(/[\s,;:–—-]+$/, '')
  }
  return `${kept}…`
}

const content = (text: string) => new Set(terms(text))

/** Returns the title, cut to at most TITLE_CHARACTERS. */
export const cutTitle = (title: string): string => cut(title, TITLE_CHARACTERS)

/** Returns the text without punctuation at its ends. */
const bare = (text: string) => text.replace(/[\s.,!?;:…"'“”’()[\]–—-]+$/, '').replace(/^[\s"'“(–—-]+/, '')

/** Returns the phrase of a sentence that can be a title. */
function phraseOf(sentence: string): string {
  const opened = withoutFronted(withoutOpeners(sentence))
  const clause = opened.replace(CLAUSE, '')
  let phrase = content(clause).size >= MIN_WORDS ? clause : opened
  for (let shorter = ''; shorter !== phrase;) {
    shorter = phrase
    const shortened = withoutOpeners(phrase.replace(SUBJECT, '').replace(OMITTED, '')).replace(ARTICLE, '')
    if (content(shortened).size >= MIN_WORDS) phrase = shortened
  }
  return cut(bare(headline(bare(phrase)).replace(ARTICLE, '')), TITLE_CHARACTERS)
}

/** Yields the sentences of a turn that may be titles, without greetings. */
function* candidatesOf(text: string, names: readonly string[]): Generator<string> {
  for (const raw of sentencesOf(plainText(text))) {
    const sentence = withoutHail(raw.replace(/\s+/g, ' ').trim()).toWellFormed()
    const greeted = sentence.replace(GREETING, '')
    const [first = ''] = greeted.match(/^[\p{L}'’-]+/u) ?? []
    const rest =
      greeted !== sentence && names.includes(first.toLowerCase()) ? greeted.slice(first.length).trim() : greeted
    if (rest && !isSmallTalk(rest, names) && !FILLER.some((filler) => filler.test(rest))) yield rest
  }
}

/**
 * Returns a title of one line and at most TITLE_CHARACTERS for a conversation that begins with these turns; null if no
 * sentence qualifies, for example because they contain only small talk.
 */
export function titleOf(turns: readonly { speaker: string; text: string }[]): string | null {
  const names = namesOf(turns.map(({ speaker }) => speaker))
  const isContent = (word: string) => !names.includes(word)
  const candidates = turns
    .flatMap(({ text }, turn) => [...candidatesOf(text, names)].map((sentence, index) => ({ sentence, turn, index })))
    .slice(0, MAX_SENTENCES)
  const counts = new Map<string, number>()
  for (const { sentence } of candidates) {
    for (const word of content(sentence)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  let best: string | null = null
  let bestScore = 0
  for (const { sentence, turn, index } of candidates) {
    const phrase = phraseOf(sentence)
    const weights = [...content(phrase)].filter(isContent).map((word) => Math.sqrt(counts.get(word) ?? 1))
    if (weights.length < MIN_WORDS || isSmallTalk(phrase, names)) continue
    const top = weights.toSorted((a, b) => b - a).slice(0, SCORED_WORDS)
    const factor = (phrase.split(' ').length < FEW_WORDS ? FEW_FACTOR : 1) * (VAGUE.test(phrase) ? VAGUE_FACTOR : 1)
    const total = factor * top.reduce((sum, weight) => sum + weight, 0)
    const score = total / (1 + LATER_TURN * turn + LATER_SENTENCE * index)
    if (score > bestScore) [best, bestScore] = [phrase, score]
  }
  return best && best.charAt(0).toUpperCase() + best.slice(1)
}
