// Reads a name, a place or a thing from the text that a rule matched. Cuts the text where the next clause begins, and
// returns null for text that needs its context ("it", "there", "the same").

import { CUT } from './clauses.ts'
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
    + "though|as|until|till|that|thanks|'cause|cuz|to be|especially|even|like when|just|"
    + "and (?:\\p{L}{3,}ed (?:to|the|an?|my|our|some|in|on|for|\\p{L}+s)\\b|i|i'm|it|it's|he|she|they|we|this|"
    + 'that|has|have|am|is|are|was|were|just|then|now|also|so|got|had|would|will|can|how|what|loved|really|ended|'
    + 'started|'
    + "it'll|there))(?=\\s|$)).*$",
  'iu',
)

/** Fillers at the end. */
const FILLER = new RegExp(
  '(?:[\\s,]+(?:too|as well|also|a lot|so much|very much|right now|now|these days|nowadays|at the moment|currently|'
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

/** A thing that lacks its noun, because it was cut at a comma: "a warm" of "a warm, quiet kitchen". */
const ADJECTIVE = new RegExp(
  String.raw`\ban? (?:very |really )?(?:safe|quiet|warm|nice|big|small|new|old|good|great|cozy|happy|better|`
    + String.raw`beautiful|long|short|simple|calm|kind|stable|healthy|fun|cool|huge|tiny|\p{L}+(?:ful|ous))$`,
  'iu',
)

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
 * Reads a thing without fillers, with the speaker's name instead of "my" and "our". Null if it needs context, is
 * incomplete, or has more than MAX_WORDS words.
 */
export function thing(text: string, speaker: string): string | null {
  // In "make that happen", the words after "that" belong to the verb.
  if (/^\S+(?: \S+)? that\b/i.test(text.trim())) return null
  const bare = text.trim().replace(/^(?:(?:a lot|lots|tons|loads|plenty) of|both) /i, '')
  let cut = bare.replace(SELF, '$1oneself').replace(PAIRED, '$1 and ').replace(STOP, '')
  cut = cut
    .replace(FILLER, '')
    .replace(/[\s.,!'"-]+$/, '')
    .replace(/^(?:to|on|at|in) (?=(?:my|our)\b)/i, '')
  const named = cut.replace(/\b(?:my|our)(?: own)?\b/gi, `${speaker}'s`).replace(/\b(?:me|us)\b(?![-'])/gi, speaker)
  const count = named.split(/\s+/).length
  if (!/\p{L}|\d/u.test(named) || count > MAX_WORDS) return null
  const withoutSpeaker = named.replaceAll(`${speaker}'s`, '').replaceAll(speaker, '').replace(PEOPLE, '')
  if (DANGLING.test(withoutSpeaker) || RELATIVE.test(withoutSpeaker)) return null
  if (/^(?:and|or|but|too)\b/i.test(named)) return null
  if (UNFINISHED.test(named) || ADJECTIVE.test(named)) return null
  return named
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
  const found = PLACE.exec(text.trim())?.[0]
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
