// Makes a title from the first turns of a conversation, by rules for English: selects an early sentence with words that
// many sentences contain, and removes introductions, pronouns and subordinate clauses from it. In other languages, the
// title is usually a whole sentence. Pure.

import { sentencesOf } from './sentences.ts'
import { isSmallTalk, namesOf, withoutHail } from './small-talk.ts'
import { terms } from './words.ts'

/** Maximum length of a title, in characters. */
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

const PRONOUN = String.raw`(?:i|we|you|he|she|they|it|there|this|that)`
const AUXILIARY = String.raw`(?:am|is|are|was|were|be|been|being|have|has|had|do|did|does|will|would|can|could|should|might|'?(?:m|s|re|ve|d|ll)|ain't)`
const ADVERB = String.raw`(?:just|also|really|actually|finally|recently|still|always|already|currently|only|so|very|definitely|probably|honestly|literally|not)`
const LIGHT = String.raw`(?:go|going|went|gone|get|getting|got|make|making|made|take|taking|took|do|doing|did|have|having|had|try|trying|tried|start|starting|started|want|wanted|need|needed|like|love|loved|think|thought|know|hear|heard|see|saw|seen|find|found|meet|met|look|looking|looked|work|working|plan|planning|planned|decide|decided|wonder|wondering|hope|hoping|feel|feeling|felt|say|tell|give|be)`
const LINK = String.raw`(?:to|for|at|on|in|into|of|with|about|up|out|if|that|forward|a bit|a lot)`
const OBJECT = String.raw`(?:you|me|him|her|us|them|everyone)`
const DETERMINER = String.raw`(?:a|an|the|my|our|your|his|her|their|some|this|that|these|those|any)`

/** A greeting at the beginning of a sentence, with the punctuation after it, if any. */
const GREETING = /^(?:hello|hi+|hey+|hiya|yo|greetings|(?:good )?(?:morning|afternoon|evening|day))\b[,!.]*\s*/i
/** Sentences about the conversation itself, and good wishes. */
const FILLER = [
  /\bsince (?:we|our) last\b|\bsince then\b|\b(?:lots?|much|a lot)(?:['’]s| has| have)? (?:been going on|happened)\b/i,
  /^(?:i )?(?:really )?hop(?:e|ing) (?:that )?(?:you|u|your|youre|everything|all|things|it)\b|^happy (?:new|birthday|holidays|friday|monday)/i,
  /^(?:thank you|thanks)\b|^how (?:can|may|could) i (?:help|assist)\b|^what can i do for you|^how goes it|^any(?:thing)? (?:new|else|exciting|fun)\b|how are you\b/i,
  /\bask (?:you|u) (?:a|something|some)\b|\btell you something\b|\bspill the beans\b|\bguess what\b|\bmissed you\b|\bsay (?:hi|hello)\b|\bheads up\b/i,
  /^(?:so |i'm |i’m )?sorry\b(?! to (?:say|tell))|\btake a look\b|^(?:it['’]s )?been a (?:\w+ )?(?:while|day|week|month|minute)\b/i,
]
/** Phrases at the beginning of a sentence that precede its topic. */
const OPENERS = [
  /^(?:so|well|anyway|anyways|also|and|but|or|ok|okay|yeah|yes|yep|no|nope|oh|ah|wow|hmm|um|please|btw|by the way|guess what|you know|i mean|in fact|actually|honestly|sure|of course|absolutely|great news|news|great|right|in the meantime|meanwhile|lately|recently|sorry to (?:say|tell you)(?: this)?(?: but)?)\b[,.!:;–—-]*\s+/i,
  /^since (?:we|our) last (?:\w+),?\s+/i,
  new RegExp(
    String.raw`^(?:(?:last|this|next) \w+(?: \w+)?|yesterday|today|tonight|on \w+day|the other day|(?:a|two|three|few|a few) (?:days?|weeks?|months?) ago),?\s+(?=${PRONOUN}\b)`,
    'i',
  ),
  /^(?:can|could|would|will) you (?:please |maybe |kindly )?(?:help me (?:to |with )?|tell me (?:about )?|show me |explain (?:to me )?|give me )?/i,
  /^(?:(?:please )?help me (?:to |with |out with )?|i (?:need|want|would like|'d like) (?:your )?(?:help|advice) (?:with |on |to |in )?|i(?:'d| would) like (?:you )?to |i (?:need|want) (?:you )?to |let'?s (?:talk about |discuss )?|do you know |what do you think (?:of|about) |how about |what about |have you (?:ever )?(?:heard (?:of|about) |tried )?)/i,
]
const SUBJECT = new RegExp(
  String.raw`^${PRONOUN}(?:['’](?:m|s|re|ve|d|ll)|\b)(?:\s+(?:${AUXILIARY}|${ADVERB}|${LIGHT})\b)*(?:\s+${OBJECT}\b)?(?:\s+${LINK}\b)*(?:\s+${LIGHT}\b)?(?:\s+${OBJECT}\b)?(?:\s+${LINK}\b)*[,]?\s+`,
  'i',
)
const ARTICLE = new RegExp(String.raw`^${DETERMINER}\s+`, 'i')
/** A clause at the end of a sentence that is removed, because it only explains or comments. */
const CLAUSE =
  /\s*(?:[;:…]|\s[–—-]\s|,\s|\s(?:but|because|since|although|though|which|so that|and (?:i|it|we|he|she|they|that)|so (?:i|we|it))\s).*$/i
/** A function word at the end of a shortened text. */
const DANGLING =
  /\s+(?:and|or|but|the|a|an|of|for|to|with|in|on|at|by|from|about|my|our|your|his|her|their|its|is|are|was|were|that|which|as|so|if|when|because|some|very)$/i

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

/** Returns the phrase of a sentence that can be a title. */
function phraseOf(sentence: string): string {
  const opened = withoutOpeners(sentence)
  const clause = opened.replace(CLAUSE, '')
  let phrase = content(clause).size >= MIN_WORDS ? clause : opened
  for (let shorter = ''; shorter !== phrase;) {
    shorter = phrase
    const bare = withoutOpeners(phrase.replace(SUBJECT, '')).replace(ARTICLE, '')
    if (content(bare).size >= MIN_WORDS) phrase = bare
  }
  return cut(phrase.replace(/[\s.,!?;:…"'“”’()[\]–—-]+$/, '').replace(/^[\s"'“”(–—-]+/, ''), TITLE_CHARACTERS)
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
    const score = top.reduce((sum, weight) => sum + weight, 0) / (1 + LATER_TURN * turn + LATER_SENTENCE * index)
    if (score > bestScore) [best, bestScore] = [phrase, score]
  }
  return best && best.charAt(0).toUpperCase() + best.slice(1)
}
