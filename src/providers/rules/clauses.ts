// Splits a turn into the clauses to which rules apply. Drops text that the speaker does not personally assert: code,
// quotations, copied text, questions, hypotheses and hearsay. Drops a clause in case of doubt.

import { RELATIVES } from './lists.ts'

export type Clause = {
  text: string
  /** Whether the clause's sentence, or an earlier one on the same line, begins with a greeting: "Hi, I'm Ada". */
  isGreeting: boolean
  /** Whether the speaker is a person and asks to remember the clause. */
  isToRemember: boolean
}

/** Number of UTF-16 units of a turn that are read. The rest is ignored. */
const READ_UNITS = 32 * 1024
/** Maximum length of a sentence, in UTF-16 units. Longer sentences are dropped. */
const SENTENCE_UNITS = 400

/** Replaces a quotation. A sentence that contains it is dropped. */
export const CUT = '\uFFFC'

const FENCE = /^\s{0,3}(```|~~~)/
const CODE = new RegExp(
  String.raw`[{};]\s*$|=>|^(?:\t| {4})|^\s*(?:import|export|const|let|var|def|function|class|select|return|`
    + String.raw`#include)\b|<\/?\w{1,20}[^>]{0,200}>|^\s*[$#|]`,
  'i',
)
/** A line copied from a conversation: "Ada: I live in Rome", but not "Decision: …". */
const COPIED = new RegExp(
  String.raw`^\s*(?:[-*]\s*)?(?:\[[^\]]{0,40}\]\s*)?(?!(?:note|decision|decided|remember|reminder|update|ps|fyi|`
    + String.raw`fun fact|btw)\b)[\p{L}][\p{L} ._'-]{0,30}(?:\([^)]{0,30}\))?:\s`,
  'iu',
)
const ITEM = /^\s*(?:[-*•]|\d+[.)])\s+/

/**
 * Yields the lines of prose, without list markers, and null for each other line: code, quoted lines, copied lines, and
 * lists after a line that ends with a colon.
 */
function* prose(text: string): Generator<string | null, void> {
  /** The mark of the open code fence; null outside code fences. */
  let fence: string | null = null
  /** Whether a list may follow, because the last line of text ended with a colon: "What I remember:". */
  let isListing = false
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1]
    let kept: string | null = null
    if (fence === null && mark) fence = mark
    else if (fence !== null) fence = mark === fence ? null : fence
    else if (!isCopied(line) && !(ITEM.test(line) && isListing)) {
      isListing = /:\s*$/.test(line) || (isListing && line.trim() === '')
      kept = line.replace(ITEM, '')
    }
    yield kept
  }
}

/** Whether the line is code, a quoted line, or a line copied from a conversation. */
const isCopied = (line: string) => /^\s*(?:>|\[)/.test(line) || CODE.test(line) || COPIED.test(line)

/**
 * Removes the quotation marks of short quotations, which are usually titles. Replaces longer quotations, and those in
 * the first person, with CUT.
 */
function withoutQuotes(line: string): string {
  const cut = (_: string, inner: string) =>
    inner.split(/\s+/).length <= 4 && !/\b(?:i|i'm|my|we|our|me)\b/i.test(inner) ? inner : CUT
  const unquoted = line
    .replace(/`([^`]{1,200})`/g, cut)
    .replace(/[’ʼ`´]/g, "'")
    .replace(/"([^"]{1,400})"/g, cut)
    .replace(/[“„«]([^”“»]{1,400})[”“»]/g, cut)
    .replace(/(?<=^|\s)'([^'\n]{1,400})'(?=$|[\s.,!?])/g, cut)
  // An unclosed quotation extends to the end of the line.
  return unquoted.replace(/["“„«].*$/, CUT)
}

/** Words that make a whole sentence uncertain, reported or hypothetical. */
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
/** Words that make a clause uncertain. */
const MAYBE = new RegExp(
  String.raw`\b(?:maybe|perhaps|might|may(?! \d| is|$)|could|couldn't|should|probably|possibly|hopefully|hope|`
    + String.raw`hoping|guess|think|thinking|thought|seems?|feels? like|as if|almost|nearly|pretty sure|not sure|`
    + String.raw`wonder|wondering|considering|wanted to|trying|wanna|either|supposed|i'd|we'd)\b`,
  'i',
)

/** Separators between the clauses of a sentence: dashes, semicolons, and conjunctions or commas before "I" or "my". */
const JOINTS = new RegExp(
  String.raw`\s*(?:;\s+|\s[-–—]+\s|—|-+\s+(?=(?:i|i'm|i've|i'd|we|we're|we've|we'd)\b)|\s+after\s+(?=(?:i|we)\b)|`
    + String.raw`,?\s+(?:and|but|so|because|since|though|although|plus|'cause)\s+(?=(?:also |now |then )?`
    + String.raw`(?:i|i'm|i've|i'd|my|we|we're|we've|we'd|our)\b)|`
    // The comma of "Last Friday, I …" is no separator, because the date belongs to the next clause. Neither is the
    // comma of "Rex, my dog".
    + String.raw`(?<!^(?:(?:so|well|and|but|oh|yeah|also|then|hey|actually),? )*(?:last|this|next|yesterday|`
    + String.raw`today|tomorrow|on \w+day|in (?:\w+ )?\d{4}|\w+ \w+ ago)\b[^,]{0,20}),\s+`
    + String.raw`(?=(?:i|i'm|i've|i'd|my|we|we're|we've|we'd)\b)(?!my (?:${RELATIVES})(?:$|[,.])))`,
  'i',
)

/** Introductory words, which are removed from the beginning of a clause. */
const LEADS = new RegExp(
  // In "No music …", "no" is not an answer.
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
/** The addressee at the beginning of a clause, followed by a comma or an exclamation mark: "Mel, I …". */
const VOCATIVE =
  /^(?!(?:Last|Next|This|On|In|Yesterday|Today|Tomorrow)\b)\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?[,!]\s*(?=\p{L})/u
/** Requests to remember the rest of the sentence. */
const REMEMBER = new RegExp(
  String.raw`^(?:please |pls |and |also |just )*(?:remember|note|keep in mind|don't forget|do not forget|`
    + String.raw`make a note|for the record|write down)(?: (?:that|this))?[:,]? +(?=\p{L})`,
  'iu',
)
/** Advice, as in "Remember, practice makes perfect." */
const ADVICE = /^(?:and |just )*(?:remember|keep in mind),/i
/** Words of instructions. Instructions to a model are not facts. */
const COMMAND = new RegExp(
  String.raw`\b(?:you|your|always|never|must|ignore|instructions?|prompt|system|assistant|obey|reply|respond|`
    + String.raw`password|token|key)\b`,
  'i',
)

/** Informal words and omitted subjects, with their full forms. */
const EXPANSIONS: [informal: RegExp, full: string][] = [
  [/^(?:just )?gonna\b/i, "I'm going to"],
  [/\bgonna\b/gi, 'going to'],
  [/^(?:just )?(?=(?:finally )?(?:bought|finished|signed up|joined|started \w+ing) )/i, 'I just '],
  [/^(?:just|finally) (?=got )/i, 'I just '],
  [/^(?:just |also )*been (?=\w+ing\b)/i, "I've been "],
  [/\b(i|we) (really |just |also |still )?wanna\b/gi, '$1 $2want to'],
]
const expanded = (clause: string) => EXPANSIONS.reduce((text, [informal, full]) => text.replace(informal, full), clause)

const ABBREVIATED = /\b(?:dr|mr|mrs|ms|st|prof|vs|e\.g|i\.e|etc|no|u\.s|a\.m|p\.m|inc|ltd|jr|sr)\.$/i
const ENDS = /(?<=[.!?…]["')\]]{0,2})\s+/

/** An emoji or a smiley, with the punctuation after it. */
const SMILE = new RegExp(
  String.raw`\s?(?:\p{Extended_Pictographic}[\p{Extended_Pictographic}\u200d\ufe0f\p{EMod}]*|`
    + String.raw`(?<=\s)[:;]-?[()DPp](?=\s|$))([.!?]*)`,
  'gu',
)

/** Splits a line into sentences with their punctuation. An emoji or a smiley also ends a sentence. */
function sentences(line: string): string[] {
  const found: string[] = []
  const plain = line.replace(SMILE, (_, mark: string) => (mark ? `${mark} ` : ' . '))
  for (const piece of plain.split(ENDS)) {
    if (found.length > 0 && ABBREVIATED.test(found.at(-1)!)) found.push(`${found.pop()} ${piece}`)
    else found.push(piece)
  }
  return found.map((sentence) => sentence.trim()).filter(Boolean)
}

/**
 * Yields the clauses of a turn in order, and null for each line without clauses, so that the caller can pause between
 * lines. Drops a sentence that asks to remember something, unless `isPerson` and the sentence is neither advice, a
 * reminder ("remember to …") nor an instruction.
 */
export function* clausesOf(text: string, isPerson: boolean): Generator<Clause | null, void> {
  for (const line of prose(text.slice(0, READ_UNITS))) {
    const clauses = line === null ? [] : clausesOfLine(line, isPerson)
    if (clauses.length === 0) yield null
    else yield* clauses
  }
}

function clausesOfLine(line: string, isPerson: boolean): Clause[] {
  const clauses: Clause[] = []
  let isGreeting = false
  for (const sentence of sentences(withoutQuotes(line).replace(/[*_~]+/g, ''))) {
    isGreeting ||= GREETING.test(sentence)
    if (sentence.length > SENTENCE_UNITS || sentence.includes('?') || UNSURE.test(sentence)) continue
    const remembered = sentence.replace(REMEMBER, '')
    const isAdvice = ADVICE.test(sentence) || /^to /i.test(remembered)
    const isToRemember = isPerson && remembered !== sentence && !isAdvice && !COMMAND.test(remembered)
    if (remembered !== sentence && !isToRemember) continue
    for (const part of remembered.replace(/[.!…,\s]+$/, '').split(JOINTS)) {
      const bare = expanded(part.replace(LEADS, '').replace(VOCATIVE, '').replace(LEADS, '').trim())
      if (bare && !MAYBE.test(bare)) clauses.push({ text: bare, isGreeting, isToRemember })
    }
  }
  return clauses
}
