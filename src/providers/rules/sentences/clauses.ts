// Splits a turn into the clauses to which rules apply. Drops text that the speaker does not personally assert: questions,
// hypotheses and hearsay. Drops a clause in case of doubt.

import { COUNTED, RELATIVES } from '../lists.ts'
import { CUT, prose, sentences, withoutQuotes } from './prose.ts'
import { spelledOut } from './chat-spelling.ts'

export type Clause = {
  text: string
  /** Whether the clause's sentence, or an earlier one on the same line, begins with a greeting: "Hi, I'm Ada". */
  isGreeting: boolean
  /** Whether the speaker is a person and asks to remember the clause. */
  isToRemember: boolean
  /** The kind of thing that the question before the clause asks for: "tea" of "What's your favorite tea?"; or ''. */
  asked: string
  /** The time or occasion at the beginning of the clause, which `text` lacks: "last week"; '' without one. */
  occasion: string
}

/** Number of UTF-16 units of a turn that are read. The rest is ignored. */
const READ_UNITS = 32 * 1024
/** Maximum length of a sentence, in UTF-16 units. Longer sentences are dropped. */
const SENTENCE_UNITS = 400

/** Words that make a whole sentence uncertain, reported or hypothetical. */
const UNSURE = new RegExp(
  "\\b(?:if|unless|would|wouldn't|wish|imagine|suppose|supposing|pretend|hypothetically|"
    + 'for example|e\\.g|joking|kidding|jk|in theory|what if|in case|as though|rumou?rs?|apparently|allegedly|'
    + 'supposedly|(?:he|she|they|people|someone|somebody|everyone) (?:says?|said|told|claims?|claimed|thinks?|'
    + 'thought|asked)|(?:says?|said|told (?:me|us|him|her|them)|claims?|claimed|heard|read) that|i heard|'
    + 'i read that|according to|you (?:said|mentioned|told|wrote|asked)|as you|i (?:remember|recall) (?:you|'
    + 'that you)|my character|roleplay|dream(?:ed|t) (?:that|about|i)|i promise|lyrics?|quote|untrue|false|lie|'
    + 'lied|lying|not true|sarcasm|no way)\\b',
  'i',
)
/** Words that make a clause uncertain. */
const MAYBE = new RegExp(
  String.raw`\b(?:maybe|perhaps|might|may(?! \d| is|$)|could|couldn't|should|probably|possibly|hopefully|hope|`
    + String.raw`hoping|guess|think|thinking(?! (?:of|about) \w+ing\b)|thought|seems?|feels? like|as if|`
    + String.raw`almost|nearly|pretty sure|not sure|`
    + String.raw`wonder|wondering|considering(?! \w+ing\b)|wanted to|trying to|wanna|either|supposed|i'd|we'd)\b`,
  'i',
)

/** Boundaries at which a doubt or a hypothesis ends. */
const BOUNDARIES = new RegExp(
  String.raw`\s*;\s+|,\s+(?=i don't know\b)|\s[-–—]+\s|,?\s+but\s+(?=(?:(?:most of the time |`
    + String.raw`usually |sometimes )?i|i'm|i've|it|it's|they|we|he|she|that|the|my|you)\b)`,
  'i',
)
/** A condition of the part before it: "I like tea, but it has to be sweet". */
const LIMIT = /^(?:it|they|that)(?:'d| would)? (?:have to|has to|needs? to|must|only)\b/i
const FAVORITE_ASKED = /\byour favou?rite ((?:[\p{L}-]+ ){0,2}[\p{L}-]+)\?$/iu
/** Where the part of a clause ends that its hedges are about. */
const HEAD = new RegExp(
  String.raw`,? (?:but|because|so|since|which|that|who|although|though|while|when|even) .*$|`
    + String.raw`,(?! (?:maybe|perhaps|hopefully|probably|possibly|i think|i guess|not sure)).*$`,
  'i',
)
const HEDGED = /\b(?:(?:i|we) (?:think|guess|believe|suppose)|maybe|i hope|not sure|hopefully|probably)$/i

/** Separators between the clauses of a sentence: dashes, semicolons, and conjunctions or commas before "I" or "my". */
const JOINTS = new RegExp(
  String.raw`\s*(?:;\s+|\s[-–—]+\s|—|-+\s+(?=(?:i|i'm|i've|i'd|we|we're|we've|we'd)\b)|`
    + String.raw`\s+after\s+(?=(?:i|we)\b)|\s+when\s+(?=(?:i|we) (?:visited|lived|moved|worked|studied|`
    + String.raw`travell?ed|graduated)\b)|(?<!\bme),?\s+(?:and|but|so|because|since|though|although|plus|while|`
    + String.raw`whereas|`
    + String.raw`'?cause)\s+(?=(?:also |now |then )?`
    + String.raw`(?:i|i'm|i've|i'd|my|we|we're|we've|we'd|our)\b)|`
    // The comma of "Last Friday, I …" is no separator, because the date belongs to the next clause. Neither is the
    // comma of "Rex, my dog".
    + String.raw`(?<!^(?:(?:so|well|and|but|oh|yeah|also|then|hey|actually),? )*(?:last|this|next|yesterday|`
    + String.raw`today|tomorrow|on \w+day|when (?:i|we) (?:was|were)|in (?:\w+ )?\d{4}|\w+ \w+ ago)\b[^,]{0,20}),\s+`
    + String.raw`(?=(?:i|i'm|i've|i'd|my|we|we're|we've|we'd)\b)(?!my (?:${RELATIVES})(?:$|[,.])))`,
  'i',
)

/** The speaker among several subjects, which "we" replaces: "my sister and I", "me and my dad". */
const TOGETHER = new RegExp(
  String.raw`(?<=^|[,;] |\b(?:and|but|because|so|since|when|that|as|if|think|guess|hope|wish|[Mm]aybe|`
    + String.raw`[Pp]erhaps|[Ss]uppose|[Ii]magine) )(?:(?:[Mm]y|`
    + String.raw`[Oo]ur) (?:[\p{L}'-]+ ){0,2}?(?:${RELATIVES}|${COUNTED}|parents|family|`
    + String.raw`friends) and (?:[Ii]|me)|`
    + String.raw`(?:[Mm]e|[Ii]) and (?:my|our) [\p{L}'-]+(?: friend)?|\p{Lu}\p{L}+ and (?:[Ii]|me)) (?=\p{L})`,
  'gu',
)

/** Introductory words, which are removed from the beginning of a clause. */
const LEADS = new RegExp(
  // In "No music …", "no" is not an answer.
  '^(?:(?:well|so|oh|ok|okay|yeah|yep|yes|no(?! (?!i\\b)[a-z])|nope|'
    + 'hey|hi|hello|haha|lol|wow|thanks|thank you|btw|by the way|actually|'
    + 'honestly|also|and|but|plus|then|fun fact|just so you know|fyi|for the record|as for me|to be honest|tbh|in fact|'
    + "what's (?:crazy|funny|weird|worse|cool|more)(?: is)?(?: that)?|"
    + 'the (?:crazy|funny|weird|best|worst|good) (?:thing|part) is(?: that)?|'
    + 'i will say(?: though)?|i must say|i have to say|anyway|sure|hmm|personally|these days|'
    + 'nowadays|currently|right now|at the moment|now|sadly|luckily|fortunately|'
    + 'unfortunately|finally|recently|update|note|ps|guess what|good news|great news|big news|news|(?:as )?you know|'
    + 'on a personal note|in my opinion|in addition|in general|for me|for sure|as always|on the other hand|however|'
    + 'nah|ooh?|aw+|honestly|definitely|absolutely|exactly|true|right|same|'
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

/** Omitted subjects and auxiliary verbs at the beginning of a clause, with their full forms. */
const EXPANSIONS: [informal: RegExp, full: string][] = [
  [/^(?:just )?going to (?=\p{L}+ )/iu, "I'm going to "],
  [/^(?:just )?(?=(?:finally )?(?:bought|finished|signed up|joined|started \w+ing) )/i, 'I just '],
  [/^(?:just|finally|recently) (?=(?:got|made|moved|went|saw|read|tried|adopted|ordered|graduated) )/i, 'I just '],
  [/^(?=(?:went to|moved to|visited|got a new|adopted) )/i, 'I '],
  [/^(?:just |also )*been (?=(?:\w+ing|to)\b)/i, "I've been "],
  [/^(?:really |also |absolutely )*(?=(?:love|hate) \p{L})/iu, 'I '],
]
const OMITTED = new RegExp(
  String.raw`^(?:just|finally|recently|also|really|absolutely|going|bought|finished|signed|joined|`
    + String.raw`started|went|moved|visited|got|adopted|been|love|hate)\b`,
  'i',
)
const expanded = (clause: string) =>
  OMITTED.test(clause) ? EXPANSIONS.reduce((text, [informal, full]) => text.replace(informal, full), clause) : clause

/** Words before "I" after which it does not begin a new statement: "if I", "the way I", "I think I". */
const BEFORE_I = new Set(
  `if when whenever where wherever what whatever how who whom which why that than as like unless whether until till before
  after while once think guess hope wish suppose believe know feel felt sure bet swear say said says told thought wonder
  glad happy sad sorry time way day moment and or but so because since though although am was were do did does can could
  should would will have had must might may not never thing things one reason all everything something anything`.split(
    /\s+/,
  ),
)
const FIRST_PERSON = /^(?:i|i'm|i've|we|we're|we've)\b/i
/** A few words before "I" that are no part of the statement: "Nice I love it". */
const INTERJECTION = /^(?!(?:the|this|that|these|those|my|an?|all|every|some|any|no)\b)(?:[\p{L}']+,? ){1,2}$/iu
/** A short answer before a statement: "Yes I do I have two". */
const ANSWER = /^(?:i|we) (?:do|am|have|did|can|was|dont|don't)$/i
/** The end of a noun phrase, after which "I" begins a relative clause: "the cartoons I watched". */
const NOUN_PHRASE =
  /\b(?:the|all|any|every|this|that|those|these|some|an?|few|many|most|best|first|last|only|my)(?: [\p{L}-]+){1,3}$/iu
const RUN_ON = /(?<=[\p{L}\d,]) (?=(?:i|i'm|i've)\s(?!(?:think|guess|suppose|believe|hope)$))/giu

/** Splits a clause where another one begins without a separator: "I love cats I have two". */
function runOns(clause: string): string[] {
  const parts: string[] = []
  let start = 0
  for (const { index } of clause.matchAll(RUN_ON)) {
    const before = clause.slice(start, index)
    const last = /[\p{L}']+$/u.exec(before)?.[0].toLowerCase() ?? ''
    const isAnswer = ANSWER.test(before)
    if (
      (BEFORE_I.has(last) && !isAnswer)
      || MAYBE.test(before)
      || (NOUN_PHRASE.test(before.trim()) && !isAnswer && !/^ ?i(?: will|'m| am)\b/i.test(clause.slice(index)))
      || !(FIRST_PERSON.test(before) || INTERJECTION.test(`${before} `))
    )
      continue
    if (!FIRST_PERSON.test(before) && ADVERBIAL.test(before.replace(/,$/, ''))) continue
    parts.push(before.replace(/[,\s]+$/, ''))
    start = index + 1
  }
  return [...parts, clause.slice(start)]
}

/** Times and occasions: "last week", "every summer", "on weekends". */
const ADVERBIAL = new RegExp(
  String.raw`^(?:(?:last|this|next|the day|yesterday|today|tomorrow|on (?:\w+days?|weekends|weekdays|the weekends?|my)|`
    + String.raw`in (?:the (?:summer|winter|spring|fall|autumn|mornings?|evenings?|past)|high school|`
    + String.raw`college|\w+ (?:19|20)\d\d|(?:19|20)\d\d|my (?:free|spare) time)|`
    + String.raw`(?:an?|two|three|four|five|six|several|\d+) \w+ ago|every|each|once|growing|as a|`
    + String.raw`when (?:i|we) (?:was|were)|sometimes|usually|normally|typically|often|generally|`
    + String.raw`most of the time|(?:the )?majority of the time|since)\b[^,]{0,40}?)$`,
  'i',
)
const FRONTED = /^([\w' -]{2,45}?),? (?=(?:i|we|i'm|i've|we're|we've|my)\b)(.+)$/i
/** A part of the speaker's life at the beginning: "When I was younger, I …". */
const STAGE = /^(when (?:i|we) (?:was|were) [^,]{3,30}), (?=(?:i|we|i'm|i've|we're|we've)\b)(.+)$/i
const FREQUENCY = /^(?:sometimes|usually|normally|typically|often|generally)$/i
const MOSTLY = /^(?:most of the time|(?:the )?majority of the time)$/i

/** Takes a time from the beginning of a clause: "last week" of "Last week I moved". */
function unfronted(clause: string): Pick<Clause, 'text' | 'occasion'> {
  const [, adverbial, statement] = FIRST_PERSON.test(clause) ? [] : (STAGE.exec(clause) ?? FRONTED.exec(clause) ?? [])
  if (!adverbial || !statement || !ADVERBIAL.test(adverbial)) return { text: clause, occasion: '' }
  if (FREQUENCY.test(adverbial) || MOSTLY.test(adverbial)) {
    const adverb = MOSTLY.test(adverbial) ? 'usually' : adverbial.toLowerCase()
    return { text: statement.replace(/^(\S+)/, `$1 ${adverb}`), occasion: '' }
  }
  return { text: statement, occasion: `${adverbial.charAt(0).toLowerCase()}${adverbial.slice(1)}` }
}

/** Matches the sentences that may state a fact about the speaker. The others are not read further. */
const ABOUT_SPEAKER = new RegExp(
  String.raw`\b(?:i|im|ive|i'm|i've|me|my|mine|we|weve|we're|we've|our|us|myself|dream|decision|decided|agreed)\b|`
    + String.raw`^\W*(?:[a-z]+,? ){0,3}(?:just|finally|recently|gonna|going|bought|finished|signed|joined|started|went|`
    + String.raw`moved|visited|got|adopted|been|love|hate|remember|note|keep in|don't forget|write down|make a note)\b`,
  'i',
)

/**
 * Yields the clauses of a turn in order, and null for each line without clauses, so that the caller can pause between
 * lines. Drops a sentence that asks to remember something, unless `isPerson` and the sentence is neither advice, a
 * reminder ("remember to …") nor an instruction.
 * @param mentions matches the names of the people whom clauses may be about, beside the speaker; null for none
 */
export function* clausesOf(
  text: string,
  isPerson: boolean,
  mentions: RegExp | null = null,
): Generator<Clause | null, void> {
  for (const line of prose(text.slice(0, READ_UNITS))) {
    const clauses = line === null ? [] : clausesOfLine(line, isPerson, mentions)
    if (clauses.length === 0) yield null
    else yield* clauses
  }
}

function clausesOfLine(line: string, isPerson: boolean, mentions: RegExp | null): Clause[] {
  const clauses: Clause[] = []
  let [isGreeting, asked] = [false, '']
  for (const written of sentences(withoutQuotes(line).replace(/[*_~]+/g, ''))) {
    isGreeting ||= GREETING.test(written)
    asked = FAVORITE_ASKED.exec(written)?.[1]?.toLowerCase() ?? (written.includes('?') ? '' : asked)
    if (written.length > SENTENCE_UNITS || written.includes('?')) continue
    if (!ABOUT_SPEAKER.test(written) && !mentions?.test(written)) continue
    const sentence = spelledOut(written).replace(TOGETHER, 'we ')
    if (sentence.includes(CUT)) continue
    const remembered = sentence.replace(REMEMBER, '')
    const isAdvice = ADVICE.test(sentence) || /^to /i.test(remembered)
    const isToRemember = isPerson && remembered !== sentence && !isAdvice && !COMMAND.test(remembered)
    if (remembered !== sentence && !isToRemember) continue
    const parts = remembered.replace(/[.!…,;\s]+$/, '').split(BOUNDARIES)
    for (const [index, part] of parts.entries()) {
      if (UNSURE.test(part) || LIMIT.test(parts[index + 1] ?? '')) continue
      for (const each of part.split(JOINTS).flatMap(statedIn))
        clauses.push({ ...each, isGreeting, isToRemember, asked })
    }
  }
  return clauses
}

/** A hedge before a habit, which means little: "I feel like most of the time I walk". */
const HEDGE = new RegExp(
  String.raw`^i feel like(?: that)?,? (?=(?:i|most of the time|`
    + String.raw`(?:the )?majority of the time) )(?=.{0,30}\b(?:tend|usually|always|often|mostly|gravitate)\b)`,
  'i',
)
/** A conjunction without the clause after it. */
const LEFT_OVER = / (?:and|but|so|or)$/i

/** Returns the clauses of a part of a sentence that are not uncertain. */
function statedIn(part: string): Pick<Clause, 'text' | 'occasion'>[] {
  const bare = part.replace(LEADS, '').replace(VOCATIVE, '').replace(LEADS, '').trim()
  return runOns(bare)
    .map((each) => each.replace(LEADS, '').replace(HEDGE, '').replace(LEFT_OVER, '').trim())
    .map((each) => unfronted(expanded(each)))
    .filter(({ text }) => text !== '' && !MAYBE.test(text.replace(HEAD, '')) && !HEDGED.test(text))
}
