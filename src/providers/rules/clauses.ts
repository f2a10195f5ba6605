// Turns what was said into the clauses that a rule may read: whatever the speaker did not say for sure, now and in
// person is gone. No code, no quotation, no recalled text, no question, no hypothesis, no hearsay. When in doubt, out.

import { KIN } from './lists.ts'

export type Clause = {
  text: string
  /** The sentence began with a greeting: "Hi, I'm Ada". */
  isGreeting: boolean
  /** It was asked to be remembered. */
  isToRemember: boolean
}

/** UTF-16 units of a turn, and of a sentence, that are read. */
const READ_UNITS = 32 * 1024
const SENTENCE_UNITS = 400

/** Stands where a quotation was: no rule reads across it. */
export const CUT = '\uFFFC'

const FENCE = /^\s{0,3}(```|~~~)/
const CODE = new RegExp(
  String.raw`[{};]\s*$|=>|^(?:\t| {4})|^\s*(?:import|export|const|let|var|def|function|class|select|return|`
    + String.raw`#include)\b|<\/?\w{1,20}[^>]{0,200}>|^\s*[$#|]`,
  'i',
)
/** "Ada: I live in Rome" is somebody's words in a copied talk; "Decision: …" is not. */
const COPIED = new RegExp(
  String.raw`^\s*(?:[-*]\s*)?(?:\[[^\]]{0,40}\]\s*)?(?!(?:note|decision|decided|remember|reminder|update|ps|fyi|`
    + String.raw`fun fact|btw)\b)[\p{L}][\p{L} ._'-]{0,30}(?:\([^)]{0,30}\))?:\s`,
  'iu',
)
const ITEM = /^\s*(?:[-*•]|\d+[.)])\s+/

/** The lines the speaker wrote in prose. */
function prose(text: string): string[] {
  const kept: string[] = []
  /** What the fence we are in began with, and ends with. */
  let fence: string | null = null
  /** Below a line such as "What I remember:". */
  let isListing = false
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1]
    if (fence === null && mark) fence = mark
    else if (fence !== null) fence = mark === fence ? null : fence
    else if (/^\s*(?:>|\[)/.test(line) || CODE.test(line) || COPIED.test(line)) continue
    else if (ITEM.test(line) && isListing) continue
    else {
      isListing = /:\s*$/.test(line) || (isListing && line.trim() === '')
      kept.push(line.replace(ITEM, ''))
    }
  }
  return kept
}

/** Quotations of a few words are titles and stay, without their marks; longer ones, and what is in person, are cut. */
function withoutQuotes(line: string): string {
  const cut = (_: string, inner: string) =>
    inner.split(/\s+/).length <= 4 && !/\b(?:i|i'm|my|we|our|me)\b/i.test(inner) ? inner : CUT
  const open = line
    .replace(/`([^`]{1,200})`/g, cut)
    .replace(/[’ʼ`´]/g, "'")
    .replace(/"([^"]{1,400})"/g, cut)
    .replace(/[“„«]([^”“»]{1,400})[”“»]/g, cut)
    .replace(/(?<=^|\s)'([^'\n]{1,400})'(?=$|[\s.,!?])/g, cut)
  // A quotation that is not closed goes on to the end of the line.
  return open.replace(/["“„«].*$/, CUT)
}

/** In a sentence, these make the whole of it uncertain, reported, or about what is not. */
const UNSURE = new RegExp(
  `${CUT}|\\b(?:if|unless|would|wouldn't|wish|imagine|suppose|supposing|pretend|hypothetically|`
    + 'for example|e\\.g|joking|kidding|just kidding|in theory|what if|in case|as though|rumou?rs?|apparently|'
    + 'allegedly|supposedly|'
    + '(?:he|she|they|people|someone|somebody|everyone) (?:says?|said|told|claims?|claimed|thinks?|thought|asked)|'
    + '(?:says?|said|told (?:me|us|him|her|them)|claims?|claimed|heard|read) that|i heard|i read that|according to|'
    + 'you (?:said|mentioned|told|wrote|asked)|as you|i (?:remember|recall) (?:you|that you)|my character|roleplay|'
    + 'dream(?:ed|t) (?:that|about|i)|lyrics?|quote|untrue|false|lie|lied|lying|not true|sarcasm|no way)\\b',
  'i',
)
/** In a clause, these make it uncertain. */
const MAYBE = new RegExp(
  String.raw`\b(?:maybe|perhaps|might|may(?! \d| is|$)|could|couldn't|should|probably|possibly|hopefully|hope|`
    + String.raw`hoping|guess|think|thinking|thought|seems?|feels? like|as if|almost|nearly|pretty sure|not sure|`
    + String.raw`wonder|wondering|considering|wanted to|trying|wanna|either|supposed|i'd|we'd)\b`,
  'i',
)

/** Where the clauses of a sentence end: before another "I" or "my". */
const JOINTS = new RegExp(
  String.raw`\s*(?:;\s+|\s[-–—]+\s|—|-+\s+(?=(?:i|i'm|i've|i'd|we|we're|we've|we'd)\b)|\s+after\s+(?=(?:i|we)\b)|`
    + String.raw`,?\s+(?:and|but|so|because|since|though|although|plus|'cause)\s+(?=(?:also |now |then )?`
    + String.raw`(?:i|i'm|i've|i'd|my|we|we're|we've|we'd|our)\b)|`
    // Not behind "Last Friday, ", which is of what follows, nor before "Rex, my dog".
    + String.raw`(?<!^(?:(?:so|well|and|but|oh|yeah|also|then|hey|actually),? )*(?:last|this|next|yesterday|`
    + String.raw`today|tomorrow|on \w+day|in (?:\w+ )?\d{4}|\w+ \w+ ago)\b[^,]{0,20}),\s+`
    + String.raw`(?=(?:i|i'm|i've|i'd|my|we|we're|we've|we'd)\b)(?!my (?:${KIN})(?:$|[,.])))`,
  'i',
)

const LEADS = new RegExp(
  // "No music …" is no answer.
  '^(?:(?:well|so|oh|ok|okay|yeah|yep|yes|no(?! (?!i\\b)[a-z])|nope|'
    + 'hey|hi|hello|haha|lol|wow|thanks|thank you|btw|by the way|actually|'
    + 'honestly|also|and|but|plus|then|fun fact|just so you know|fyi|for the record|as for me|to be honest|tbh|in fact|'
    + 'anyway|sure|hmm|personally|these days|nowadays|currently|right now|at the moment|now|sadly|luckily|fortunately|'
    + 'unfortunately|finally|recently|update|note|ps|guess what|good news|great news|big news|news|(?:as )?you know|'
    + 'good (?:morning|evening|afternoon)|nice to meet you|same here|me too|of course|again|since|because|by now|'
    + "(?:i'm )?(?:so |very )?(?:happy|excited|proud|glad) to (?:say|report|announce|share)(?: that)?)"
    + '(?=[\\s,:!.-])[\\s,:!.-]*)+',
  'i',
)
const GREETING = /^(?:hey|hi|hello|good (?:morning|evening|afternoon)|nice to meet you)\b/i
/** Whom it is said to: "Mel, I …" and what is left of "Hey Mel! I …". */
const VOCATIVE =
  /^(?!(?:Last|Next|This|On|In|Yesterday|Today|Tomorrow)\b)\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?[,!]\s*(?=\p{L})/u
const REMEMBER = new RegExp(
  String.raw`^(?:please |pls |and |also |just )*(?:remember|note|keep in mind|don't forget|do not forget|`
    + String.raw`make a note|for the record|write down)(?: (?:that|this))?[:,]? +(?=\p{L})`,
  'iu',
)
/** "Remember, practice makes perfect." */
const ADVICE = /^(?:and |just )*(?:remember|keep in mind),/i
/** What is asked of the reader, not told: rules for a model are no facts. */
const COMMAND = new RegExp(
  String.raw`\b(?:you|your|always|never|must|ignore|instructions?|prompt|system|assistant|obey|reply|respond|`
    + String.raw`password|token|key)\b`,
  'i',
)

/** What is left out, or run together, when people chat. */
const FULL: [said: RegExp, meant: string][] = [
  [/^(?:just )?gonna\b/i, "I'm going to"],
  [/\bgonna\b/gi, 'going to'],
  [/^(?:just )?(?=(?:finally )?(?:bought|finished|signed up|joined|started \w+ing) )/i, 'I just '],
  [/^(?:just|finally) (?=got )/i, 'I just '],
  [/^(?:just |also )*been (?=\w+ing\b)/i, "I've been "],
  [/\b(i|we) (really |just |also |still )?wanna\b/gi, '$1 $2want to'],
]
const inFull = (clause: string) => FULL.reduce((text, [said, meant]) => text.replace(said, meant), clause)

const ABBREVIATED = /\b(?:dr|mr|mrs|ms|st|prof|vs|e\.g|i\.e|etc|no|u\.s|a\.m|p\.m|inc|ltd|jr|sr)\.$/i
const ENDS = /(?<=[.!?…]["')\]]{0,2})\s+/

/** An emoji or a smiley, and what ends the sentence after it. */
const SMILE = new RegExp(
  String.raw`\s?(?:\p{Extended_Pictographic}[\p{Extended_Pictographic}\u200d\ufe0f\p{EMod}]*|`
    + String.raw`(?<=\s)[:;]-?[()DPp](?=\s|$))([.!?]*)`,
  'gu',
)

/** The sentences of a line with what ends them. A smile ends one, too. */
function sentences(line: string): string[] {
  const found: string[] = []
  const plain = line.replace(SMILE, (_, mark: string) => (mark ? `${mark} ` : ' . '))
  for (const piece of plain.split(ENDS)) {
    if (found.length > 0 && ABBREVIATED.test(found.at(-1)!)) found.push(`${found.pop()} ${piece}`)
    else found.push(piece)
  }
  return found.map((sentence) => sentence.trim()).filter(Boolean)
}

/** What a rule may read of a turn, in order. `isPerson`: only a person may ask that something be remembered. */
export function clausesOf(text: string, isPerson: boolean): Clause[] {
  const clauses: Clause[] = []
  for (const line of prose(text.slice(0, READ_UNITS))) {
    let isGreeting = false
    for (const sentence of sentences(withoutQuotes(line).replace(/[*_~]+/g, ''))) {
      isGreeting ||= GREETING.test(sentence)
      if (sentence.length > SENTENCE_UNITS || sentence.includes('?') || UNSURE.test(sentence)) continue
      const remembered = sentence.replace(REMEMBER, '')
      const isAdvice = ADVICE.test(sentence) || /^to /i.test(remembered)
      const isToRemember = isPerson && remembered !== sentence && !isAdvice && !COMMAND.test(remembered)
      if (remembered !== sentence && !isToRemember) continue
      for (const part of remembered.replace(/[.!…,\s]+$/, '').split(JOINTS)) {
        const bare = inFull(part.replace(LEADS, '').replace(VOCATIVE, '').replace(LEADS, '').trim())
        if (bare && !MAYBE.test(bare)) clauses.push({ text: bare, isGreeting, isToRemember })
      }
    }
  }
  return clauses
}
