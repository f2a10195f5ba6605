// Splits a turn into the clauses to which rules apply. Drops text that the speaker does not personally assert: code,
// quotations, copied text, questions, hypotheses and hearsay. Drops a clause in case of doubt.

import { spelledOut } from './chat.ts'
import { RELATIVES } from './lists.ts'

export type Clause = {
  text: string
  /** Whether the clause's sentence, or an earlier one on the same line, begins with a greeting: "Hi, I'm Ada". */
  isGreeting: boolean
  /** Whether the speaker is a person and asks to remember the clause. */
  isToRemember: boolean
  /** Whether the clause tells a wish, an attempt or an intention that is not settled: "I'm thinking of moving". */
  isTentative: boolean
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

const QUOTED = /["“„«]|(?:^|\s)'/

/** Returns a short quotation as it is, and CUT for a longer one or one in the first person. */
const cut = (_: string, inner: string) =>
  inner.split(/\s+/).length <= 4 && !/\b(?:i|i'm|my|we|our|me)\b/i.test(inner) ? inner : CUT

/**
 * Removes the quotation marks of short quotations, which are usually titles. Replaces longer quotations, and those in
 * the first person, with CUT.
 */
function withoutQuotes(line: string): string {
  const plain = line.includes('`') ? line.replace(/`([^`]{1,200})`/g, cut) : line
  const apostrophes = plain.replace(/[’ʼ`´]/g, "'")
  if (!QUOTED.test(apostrophes)) return apostrophes
  const unquoted = apostrophes
    .replace(/"([^"]{1,400})"/g, cut)
    .replace(/[“„«]([^”“»]{1,400})[”“»]/g, cut)
    .replace(/(?<=^|\s)'([^'\n]{1,400})'(?=$|[\s.,!?])/g, cut)
  // An unclosed quotation extends to the end of the line.
  return unquoted.replace(/["“„«].*$/, CUT)
}

/** Words that make a whole sentence uncertain, reported or hypothetical. */
const UNSURE = new RegExp(
  `${CUT}|\\b(?:imagine|suppose|supposing|pretend|hypothetically|for example|e\\.g|joking|kidding|in theory|what if|`
    + 'in case|as though|rumou?rs?|apparently|allegedly|supposedly|i heard|i read that|according to|'
    + 'you (?:said|mentioned|told|wrote|asked)|as you|i (?:remember|recall) (?:you|that you)|my character|roleplay|'
    + 'dream(?:ed|t) (?:that|about|i)|lyrics?|quote|untrue|false|lie|lied|lying|not true|sarcasm|no way)\\b',
  'i',
)
/** Words that make their clause and the following ones uncertain or reported: "I have a cat, and if …". */
const UNSURE_FROM_HERE = new RegExp(
  '\\b(?:if|unless|wish|'
    + '(?:he|she|they|people|someone|somebody|everyone) (?:says?|said|told|claims?|claimed|thinks?|thought|asked)|'
    + '(?:says?|said|told (?:me|us|him|her|them)|claims?|claimed|heard|read) that)\\b',
  'i',
)
/** Words that make a clause uncertain. */
const MAYBE = new RegExp(
  String.raw`\b(?:maybe|perhaps|might|may(?! \d| is|$)|could|couldn't|should|shouldn't|probably|possibly|hopefully|`
    + String.raw`guess|thought|seems?|feels? like|as if|almost|nearly|pretty sure|not sure|wonder|wondering|`
    + String.raw`wanted to|(?:i|i'm|am|we|are) either|supposed|assuming|(?:would|wouldn't|i'd|we'd)(?! `
    + String.raw`(?:really |absolutely )?(?:love|like) to))\b`,
  'i',
)
/** Words of wishes, attempts and open intentions, to which only the rules of wishes.ts apply. */
const TENTATIVE = /\b(?:hope|hoping|think|thinking|considering|trying|would|i'd|we'd)\b/i
/** Hedges at the end of a clause, which are removed. */
const HEDGE = /,?\s+(?:i (?:think|believe|mean)|you know|though|too|for real|ya know|so far|idk)$/i

/** Separators between the clauses of a sentence: dashes, semicolons, and conjunctions or commas before "I" or "my". */
const JOINTS = new RegExp(
  String.raw`\s*(?:;\s+|\s[-–—]+\s|—|-+\s+(?=(?:i|i'm|i've|i'd|we|we're|we've|we'd)\b)|\s+after\s+(?=(?:i|we)\b)|`
    + String.raw`,?\s+(?:so|and)\s+(?=(?:let|maybe|hopefully|if|you|please)\b)|,\s+(?=(?:trying|hoping|`
    + String.raw`thinking|recently|currently)\b|[^,]{1,40} (?:is|are) (?:one of )?my fav)|`
    + String.raw`\s+(?:as|while|whereas)\s+(?=(?:i'm|i've|i am|i have|my|we're)\b)|`
    + String.raw`,?\s+(?:and|but|so|because|since|though|although|plus|then|'cause)\s+`
    + String.raw`(?=(?:also |now |then |currently |usually |sometimes )?`
    + String.raw`(?:i|i'm|i've|i'd|my|we|we're|we've|we'd|our)\b)|`
    // The comma of "Last Friday, I …" is no separator, because the date belongs to the next clause. Neither is the
    // comma of "Rex, my dog".
    + String.raw`(?<!^(?:(?:so|well|and|but|oh|yeah|also|then|hey|actually),? )*(?:last|this|next|yesterday|`
    + String.raw`today|tomorrow|on \w+day|in (?:\w+ )?\d{4}|\w+ \w+ ago|every \w+|growing up|as an? `
    + String.raw`\w+|in (?:high|middle) school|in college|`
    + String.raw`when (?:i|we) (?:was|were))\b[^,]{0,20}),\s+`
    + String.raw`(?=(?:i|i'm|i've|i'd|my|we|we're|we've|we'd)\b)(?!my (?:${RELATIVES})(?:$|[,.])))`,
  'i',
)

/** Introductory words, which are removed from the beginning of a clause. */
const LEADS = new RegExp(
  // In "No music …", "no" is not an answer.
  '^(?:(?:well|so|oh|ok|okay|yeah|yep|yes|no(?! (?!i\\b)[a-z])|nope|'
    + 'hey|hi|hello|haha|lol|wow|thanks|thank you|btw|by the way|actually|nah|yup|yea|ya|aw|aww|ooh|ohh|'
    + 'oof|dang|bro|dude|'
    + 'girl|man|mate|true|exactly|obviously|basically|lately|mostly|so far|to be fair|in addition|additionally|however|'
    + 'although|though|therefore|moreover|(?:yes )?i (?:do|did|am|have)(?=,? i\\b)|in the (?:summer|winter|'
    + 'spring|fall|mornings?|evenings?)(?=,? i\\b)|'
    + 'in my opinion|on a personal note|not gonna lie|i mean|for me|in general|'
    + 'even though|that being said|speaking of \\w+|i must say|i will say|'
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
  [/^(?:just )?going to (?=\p{Ll}+ )/iu, "I'm going to "],
  [/^(?:just )?(?=(?:finally )?(?:bought|finished|signed up|joined|started \w+ing) )/i, 'I just '],
  [/^(?:just|finally) (?=got )/i, 'I just '],
  [/^(?:just |also )*been (?=\w+ing\b)/i, "I've been "],
  [/^(?:just |recently |finally )*(?=(?:went (?:to|on|for)|watched|visited|attended|took my|adopted) )/i, 'I '],
  [/^(i|we) do (?=(?:really |also |still )?(?:like|love|enjoy|hate|play|have|want|live|work|own|use|prefer) )/i, '$1 '],
  [/^(?:also |really )?(?=(?:love|hate) (?!(?:the|is|was|and|for|to all)\b))/i, 'I '],
  [
    new RegExp(
      String.raw`^(i|we) (also|actually|already|personally|still) (have|am|are) (?=\w+(?:ed|ing|`
        + String.raw`en)\b|been\b|had\b|done\b|seen\b|gone\b|read\b)`,
      'i',
    ),
    '$1 $3 $2 ',
  ],
  [/^born and raised in /i, 'I was born and raised in '],
  [/^originally from /i, "I'm originally from "],
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

/** Every emoji and smiley contains one of these characters. */
const MAY_SMILE = /[^\u0000-\u00a8]|\s[:;]/

/** Splits a line into sentences with their punctuation. An emoji or a smiley also ends a sentence. */
function sentences(line: string): string[] {
  const found: string[] = []
  const plain = MAY_SMILE.test(line) ? line.replace(SMILE, (_, mark: string) => (mark ? `${mark} ` : ' . ')) : line
  for (const piece of plain.split(ENDS)) {
    if (found.length > 0 && ABBREVIATED.test(found.at(-1)!)) found.push(`${found.pop()} ${piece}`)
    else found.push(piece)
  }
  return found.map((sentence) => sentence.trim()).filter(Boolean)
}

/**
 * Words of the first person, of requests to remember, and of beginnings without a subject. A line without any of them
 * states nothing about its speaker.
 */
const MAY_STATE = new RegExp(
  String.raw`\b(?:i|im|ive|iam|i'm|we|weve|my|our|me|us|mine|this is|remember|note|keep in mind|don.?t forget|record|`
    + String.raw`write down|deci(?:ded|sion)|been|gonna|going|just|went|watched|visited|attended|took|adopted|bought|`
    + String.raw`finished|signed|joined|started|got|love|hate|born|originally)\b`,
  'i',
)

/**
 * Yields the clauses of a turn in order, and null for each line without clauses, so that the caller can pause between
 * lines. Drops a sentence that asks to remember something, unless `isPerson` and the sentence is neither advice, a
 * reminder ("remember to …") nor an instruction.
 * @param names first names of the people about whom a line may state something
 */
export function* clausesOf(
  text: string,
  isPerson: boolean,
  names: readonly string[] = [],
): Generator<Clause | null, void> {
  for (const line of prose(text.slice(0, READ_UNITS))) {
    const isStating = line !== null && (MAY_STATE.test(line) || names.some((name) => line.includes(name)))
    const clauses = isStating ? clausesOfLine(line, isPerson) : []
    if (clauses.length === 0) yield null
    else yield* clauses
  }
}

function clausesOfLine(line: string, isPerson: boolean): Clause[] {
  const clauses: Clause[] = []
  let isGreeting = false
  for (const sentence of sentences(spelledOut(withoutQuotes(line)).replace(/[*_~]+/g, ''))) {
    isGreeting ||= GREETING.test(sentence)
    if (sentence.length > SENTENCE_UNITS || sentence.includes('?') || UNSURE.test(sentence)) continue
    const remembered = sentence.replace(REMEMBER, '')
    const isAdvice = ADVICE.test(sentence) || /^to /i.test(remembered)
    const isToRemember = isPerson && remembered !== sentence && !isAdvice && !COMMAND.test(remembered)
    if (remembered !== sentence && !isToRemember) continue
    for (const bare of statedClauses(remembered)) {
      clauses.push({ text: bare, isGreeting, isToRemember, isTentative: TENTATIVE.test(bare) })
    }
  }
  return clauses
}

/** Separators after which a condition or a report no longer applies. */
const RESTARTS = /\s*;\s+|,?\s+but\s+/i

/** Yields the clauses of a sentence that the speaker asserts, without introductory words. */
function* statedClauses(sentence: string): Generator<string, void> {
  for (const section of sentence.replace(/[.!…,;\s]+$/, '').split(RESTARTS)) {
    for (const part of section.split(JOINTS)) {
      if (UNSURE_FROM_HERE.test(part)) break
      const bare = bareOf(part)
      if (bare && !MAYBE.test(bare)) yield bare
    }
  }
}

/** Returns the clause without introductory words, addressees and hedges, with informal words in full. */
function bareOf(part: string): string {
  const led = part
    .replace(/^[\s,;:.!-]+/, '')
    .replace(LEADS, '')
    .replace(VOCATIVE, '')
    .replace(LEADS, '')
  return expanded(led.replace(HEDGE, '').replace(HEDGE, '').trim())
}
