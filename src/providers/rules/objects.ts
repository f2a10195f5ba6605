// Reads a name, a place or a thing from the text that a rule matched. Cuts the text where the next clause begins, and
// returns null for text that needs its context ("it", "there", "the same").

import { CUT } from './clauses.ts'
import { knownPlace } from './places.ts'
import { RELATIVE } from './times.ts'

const WORD = "\\p{Lu}[\\p{L}\\p{M}\\p{N}'’.&-]*"
const LINK = '(?:of|the|de|la|del|am|an der|upon|and|for|&|van|von|du|da)'
const PROPER = new RegExp(`^(?:the )?${WORD}(?:(?: ${LINK}){0,2} ${WORD}){0,5}`, 'u')
const PLACE = new RegExp(`^(?:the )?${WORD}(?:(?:,? ${LINK}){0,2},? ${WORD}){0,4}`, 'u')

/** Capitalised words that are not names of people or places. */
const NO_NAME = new RegExp(
  "^(?:i|i'm|god|mom|dad|mum|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|"
    + 'june|july|august|september|october|november|december|christmas|easter|halloween|thanksgiving|happy|sorry|fine|'
    + 'good|great|ok|so|not|very|and|but|just|the|here|there|back|home|now|ready|done|in|at|on|a|an)$',
  'i',
)

/** Matches the next clause, to the end of the text. */
const STOP = new RegExp(
  '(?:[,;:(\\[]|\\s[-–—]\\s|—|-+\\s|\\s(?:because|since|but|so|which|who|whom|when|where|while|whereas|although|'
    + "though|as|if|unless|whenever|once (?:i|we|you|it|they|the)|than|until|till|that|thanks|'cause|cuz|"
    + 'to be|especially|even|just|'
    + 'like (?:when|that|this|those|these|it|crazy)|(?:after|before) (?:i|we|my|the|work|school|bed|that|this)|'
    + "and the \\p{L}+ (?:is|are|was|were)|it's|it is|they're|they are|that's|there's|there is|he's|she's|you're|"
    + 'or (?:something|whatever|anything|so)|and (?:stuff|such|whatnot|so on|everything|all)|etc\\.?|'
    + "and (?:love|like|enjoy|hate|want|need|feel|thought|think|know|usually|often|always|never|hopefully|maybe|don't|"
    + "didn't|can't|won't|wouldn't|couldn't|doesn't|haven't|he's|she's|they're|that's|there's|you|my|the "
    + '(?:weather|food))|'
    + "and (?:\\p{L}{3,}ed (?:to|the|an?|my|our|some|in|on|for|\\p{L}+s)\\b|i|i'm|it|it's|he|she|they|we|this|"
    + 'that|has|have|am|is|are|was|were|just|then|now|also|so|got|had|would|will|can|how|what|loved|really|ended|'
    + 'started|'
    + "it'll|there))(?=\\s|$)).*$",
  'iu',
)

/** Fillers at the end. */
const FILLER = new RegExp(
  '(?:[\\s,]+(?:occasionally|sometimes|usually|often|once in a while|every once in a while|every now and then|'
    + 'from time to time|honestly|basically|a ton|a bunch|quite a bit|a bit|a little|a little bit|in my '
    + '(?:free|spare) time|'
    + 'before|mainly|mostly|surprisingly|sadly|unfortunately|luckily|thankfully|bro|dude|man|guys|btw|'
    + 'please|so bad|better|like crazy|always|a lot more|so far|no matter what|personally|in particular|'
    + 'specifically|'
    + 'too|as well|also|a lot|so much|very much|right now|now|these days|nowadays|at the moment|currently|'
    + 'again|anyway|haha|lol|actually|really|the most|of course|already|here|together|any ?more|though|btw|instead|'
    + 'for sure|today|for now|in general|more than anything|to death|at all|either|the best|yet|myself|ourselves|'
    + 'over there|by the way|lately|recently))+$',
  'i',
)

/** Words that need context. */
const DANGLING = new RegExp(
  `${CUT}|\\b(?:it|it's|its|this|that|that's|these|those|them|they|their|theirs|him|his|her|hers|he|she|you|your|`
    + "yours|i|i'm|i've|i'd|i'll|we|we're|there|here|one|ones|something|anything|everything|nothing|someone|somebody|"
    + 'everyone|stuff|things?|what|how|why|who|whatever|same|both|such|another|others?|somewhere|more|way|most|'
    + 'lot|lots|all|any|kind|yourself|yourselves|themselves|himself|herself|itself|'
    + 'sort|bit)\\b',
  'iu',
)

/** Endings of an incomplete phrase. */
const UNFINISHED = new RegExp(
  String.raw`\b(?:and|or|with|for|to|of|in|at|on|by|from|a|an|the|my|not|very|so|really|been|is|are|was|were|few|`
    + String.raw`several|couple)$`,
  'i',
)

/** Verbs that lack their object at the end of a phrase: "playing", "a project to watch". */
const TRANSITIVE =
  'play|watch|make|get|do|have|see|take|find|give|keep|try|be|become|use|buy|go|feel|look|say|tell|put|'
  + 'start|bring|meet|enjoy|want|need'
const WITHOUT_OBJECT = new RegExp(
  `^(?:really |still )?(?:${TRANSITIVE}|study)$|\\bto (?:${TRANSITIVE})$|\\b(?:playing|watching|making|`
    + `getting|having|doing|going|taking|using|`
    + 'trying|being|keeping|finding|seeing|buying|giving|putting|telling|saying|becoming|feeling|looking|'
    + 'coming|liking|wanting|starting|knowing|meeting|bringing)$',
  'iu',
)
/** A definite noun without further words needs context, except a noun of this list. */
const DEFINITE = new RegExp(
  String.raw`^(?:\p{Ll}+ing )?(?:the|those|these) (?!(?:gym|beach|park|zoo|doctor|dentist|hospital|`
    + String.raw`library|mall|movies|cinema|theat(?:er|re)|store|bank|`
    + String.raw`airport|pool|museum|aquarium|sea|ocean|outdoors|mountains?|countryside|rain|snow|sun|`
    + String.raw`sunshine|cold|heat|summer|winter|`
    + String.raw`spring|autumn|fall|night|piano|guitar|violin|drums|flute|cello|saxophone|environment|`
    + String.raw`planet|world|internet|news|military|army|`
    + String.raw`navy|government|vet|market|church|lake|river|forest|woods|garden|circus|opera|ballet|`
    + String.raw`club|bar|pub|spa|salon|`
    + String.raw`suburbs|arts?|future|past|stars|sky|moon|universe|bus|train|subway|metro|dark|trees|`
    + String.raw`holidays|weather|community|`
    + String.raw`truth|dorms?|supermarket|farmers|poor|elderly|homeless|waterpark|casino|fair|bakery|`
    + String.raw`clinic|barbershop)\b)[\p{Ll}-]+$`,
  'u',
)
/** Indefinite ordinals, which need what precedes them. */
const ORDINAL = new RegExp(
  String.raw`\b(?:an?|the) (?:second|third|other|next|latter|former|same|only)\b(?! (?:grade|`
    + String.raw`year|language|generation|cousin|world|half))`,
  'i',
)
/** The kind of a work before its name: "a little known game called Celeste" becomes "Celeste". */
const CALLED = new RegExp(
  String.raw`\b(?:an?|another|this(?: one)?|one|the) (?:[\p{L}-]+ ){0,4}?(?:game|book|show|`
    + String.raw`series|movie|film|anime|manga|podcast|channel|app|song|album|band|comic|novel|webtoon|`
    + String.raw`musical) (?:called|named|titled) (?=\S)`,
  'iu',
)
/** Ordinals of parts of a work, which need the work. */
const PART =
  /\b(?:first|last|final) (?:movie|game|book|season|part|episode|half|time|level|chapter|film|series|day|week)$/i
/** Verbs whose object may be a title that begins with "my": "watching My Neighbor Totoro". */
const TITLED = new RegExp(
  String.raw`^((?:re-?)?(?:watch|read|binge|stream)(?:ing|ed)?|finish(?:ing|ed)?) my `
    + String.raw`(?!(?:own|favou?rite|e?mails?|messages?|notes?|shows?|books?|textbook|phone|kids?|step|`
    + String.raw`weight|mouth|tv)\b)`,
  'i',
)

/** A thing that lacks its noun, because it was cut at a comma: "a warm" of "a warm, quiet kitchen". */
const ADJECTIVE = new RegExp(
  String.raw`\ban? (?:very |really )?(?:safe|quiet|warm|nice|big|small|new|old|good|great|cozy|happy|better|`
    + String.raw`beautiful|long|short|simple|calm|kind|stable|healthy|fun|cool|huge|tiny|\p{L}+(?:ful|ous))$`,
  'iu',
)

/** Things that are incomplete, or a part of something that is not named. */
const INCOMPLETE = [
  /^(?:and|or|but|too|every|each)\b|\bmyself$|\band (?:put|get|go|take|make|use|do|have|try|see|let)$/i,
  /\b(?:some|most|part|half|all|rest|end) of the \p{Ll}+$/u,
  UNFINISHED,
  ADJECTIVE,
  WITHOUT_OBJECT,
  PART,
  DEFINITE,
  ORDINAL,
]

/** Maximum number of words of a thing. */
const MAX_WORDS = 10

/** Uses of "others" for people in general, and uses of "each other". Both need no context. */
const PEOPLE =
  /\b(?:help|helping|with|support|supporting|inspire|inspiring|teach|teaching|for) others\b|\beach other\b/gi

/** Uses of "myself" as an object. Other uses are only emphasis. */
const SELF = new RegExp(
  '\\b((?:express|expressing|accept|accepting|understand|understanding|push|pushing|challenge|challenging|to|of|for|'
    + 'with|in|be|being) )(?:myself|ourselves)\\b',
  'gi',
)

/** Two adjectives of one thing: "a warm, welcoming kitchen". */
const PAIRED = /(\ban? [\p{L}-]+), (?=[\p{L}-]+(?:ing|ful|al|ive|ous|ic|ed|able) \p{L}+)/giu

/**
 * Reads a thing without fillers, with the speaker's name instead of "my" and "our". A coordinated part that needs
 * context is dropped: "hiking and doing that" becomes "hiking". Null if the thing needs context, is incomplete, or has
 * more than MAX_WORDS words.
 */
export function thing(text: string, speaker: string): string | null {
  // In "make that happen", the words after "that" belong to the verb.
  if (/^[^\s,]+(?: [^\s,]+)? that\b(?!')/i.test(text.trim())) return null
  const cut = withoutNextClause(text)
  const whole = complete(cut, speaker)
  const and = whole === null ? cut.search(/,? and /) : -1
  return and < 0 ? whole : complete(cut.slice(0, and), speaker)
}

/** Returns the text up to the next clause, without fillers. */
function withoutNextClause(text: string): string {
  const bare = text
    .trim()
    .replace(/^(?:both|everything about) /i, '')
    .replace(/\b(?:(?:a lot|lots|tons|loads|plenty|a bunch) of) /gi, '')
    .replace(CALLED, '')
    .replace(/\blike (?=\d|(?:two|three|four|five|six|ten|twenty|half)\b)/gi, '')
    .replace(/\bgoing back and /i, '')
  return bare
    .replace(SELF, '$1oneself')
    .replace(PAIRED, '$1 and ')
    .replace(STOP, '')
    .replace(/^(?:actually|definitely|probably|honestly|really|also|just|mostly|especially|basically) /i, '')
    .replace(/^to (?:also|really|just) /i, 'to ')
    .replace(/ (?:also|really|just) (?=\p{L}+ing\b)/giu, ' ')
    .replace(FILLER, '')
    .replace(/[\s.,!'"-]+$/, '')
    .replace(/^(?:to|on|at|in) (?=(?:my|our)\b)/i, '')
}

/** Returns the phrase with the speaker's name instead of "my"; null if it needs context, is incomplete or too long. */
function complete(phrase: string, speaker: string): string | null {
  const named = phrase
    .replace(TITLED, '$1 §')
    .replace(/\b(?:my|our)(?: own)?\b/gi, `${speaker}'s`)
    .replace(/\b(?:me|us)\b(?![-'])/gi, speaker)
    .replace('§', 'my ')
  if (!/\p{L}|\d/u.test(named) || named.split(/\s+/).length > MAX_WORDS) return null
  const withoutSpeaker = named.replaceAll(`${speaker}'s`, '').replaceAll(speaker, '').replace(PEOPLE, '')
  const needsContext = [DANGLING, RELATIVE].some((pattern) => pattern.test(withoutSpeaker))
  return needsContext || INCOMPLETE.some((pattern) => pattern.test(named)) ? null : named
}

/** Reads a capitalised name at the beginning, such as "Ada" or "Ada Lovelace"; null if there is none. */
export function properName(text: string): string | null {
  const name = PROPER.exec(text.trim())?.[0].replace(/['’]s$|[.,'’-]+$/u, '')
  return !name || NO_NAME.test(name) || NO_NAME.test(name.split(' ')[0]!) ? null : name
}

/** Reads a name at the beginning that is the whole text or phrase; null for other text. */
export function wholeName(text: string): string | null {
  const name = properName(text)
  const rest = name === null ? 'x' : text.trim().slice(name.length)
  return /^(?:[.,!]|$| (?:and|but|by the way|here)\b)/.test(rest) ? name : null
}

/** Reads a place, such as "Berlin, Germany" or "the Netherlands"; null for other text. */
export function place(text: string): string | null {
  const found = PLACE.exec(text.trim())?.[0] ?? knownPlace(text)
  if (!found || found.endsWith("'s") || NO_NAME.test(found.split(/[ ,]/)[0]!)) return null
  const rest = text.trim().slice(found.length)
  if (/^(?:'s|’s|-)|^ (?:style|food|time|area of my)\b/.test(rest)) return null
  const clean = found.replace(/[.,'’-]+$/u, '')
  return clean.replace(/,? (?:and|of|the|for|&)$/, '')
}

/** Reads an employer or a school, such as "Initech" or "the local bakery"; null for other text. */
export function organisation(text: string, speaker: string): string | null {
  const name = properName(text)
  if (name) return name.replace(/ (?:and|for|of)$/, '')
  const other = thing(text.replace(/\s+(?:in|for|as|near|with|downtown)\s.*$/i, ''), speaker)
  return other && /^(?:an?|the|my)\s/i.test(other) ? other : null
}
