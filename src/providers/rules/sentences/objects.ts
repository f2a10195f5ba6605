// Reads a name or a thing from the text that a rule matched. Cuts the text where the next clause begins, and
// returns null for text that needs its context ("it", "there", "the same").

import { CUT } from './prose.ts'
import { RELATIVE } from '../times.ts'

export const WORD = "\\p{Lu}[\\p{L}\\p{M}\\p{N}'’.&-]*"
export const LINK = '(?:of|the|de|la|del|am|an der|upon|and|for|&|van|von|du|da)'
const PROPER = new RegExp(`^(?:the )?${WORD}(?:(?: ${LINK}){0,2} ${WORD}){0,5}`, 'u')

/** Capitalised words that are not names of people or places. */
export const NO_NAME = new RegExp(
  "^(?:i|i'm|god|mom|dad|mum|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|"
    + 'june|july|august|september|october|november|december|christmas|easter|halloween|thanksgiving|happy|sorry|fine|'
    + 'good|great|ok|so|not|very|and|but|just|the|here|there|back|home|now|ready|done|in|at|on|a|an)$',
  'i',
)

/** Matches the next clause, to the end of the text. */
const STOP = new RegExp(
  '(?:[,;:(\\[]|\\s[-–—]\\s|—|-+\\s|\\s(?:because|since|but|so|which|who|whom|when|where|while|whereas|although|'
    + "though|as(?! (?:an?|the|my|well)\\b)|as a (?:form|way|means|kind) of|it's|its (?:an?|so|"
    + "the)|after a long|until|till|that|thanks|'cause|cuz|to be|especially|even|like when|just|"
    + 'unless|besides|if|then|too be|cause|(?:and|or) other things|'
    + "anyway|i|he|she|they|we|i'm|i've|he's|she's|they're|we're|we've|"
    + "(?:and|or) (?:don't|doesn't|didn't|can't|couldn't|won't|wouldn't|want|need|have|go|get|do|think|know|feel|never|"
    + 'always|still|usually|actually|probably|maybe|even|not|whatever|everything|stuff|such|all|more|went|came|'
    + 'saw|took|made|bought|found|used|decided)|and (?:\\p{L}{3,}ed (?:to|the|an?|my|our|some|in|on|for|'
    + '\\p{L}+s)\\b|the \\p{L}+ (?:is|'
    + "are)\\b|i|i'm|it|it's|its|he|she|they|we|this|"
    + 'that|has|have|am|is|are|was|were|just|then|now|also|so|got|had|would|will|can|how|what|loved|really|ended|'
    + 'started|'
    + "it'll|there))(?=[\\s,]|$)).*$",
  'iu',
)

/** Fillers at the end. */
const FILLER = new RegExp(
  '(?:[\\s,]+(?:too|as well|also|a lot|so much|very much|right now|now|these days|nowadays|at the moment|currently|'
    + 'again|anyway|actually|really|the most|of course|already|here|together|any ?more|though|btw|instead|personally|'
    + 'better|more|like that|like this|or something|or so|and all|and such|and stuff|ever|right|honestly|before|'
    + 'for sure|today|for now|in general|more than anything|to death|at all|either|the best|yet|myself|ourselves|'
    + 'over there|by the way|lately|recently|mainly|mostly|all day(?: long)?|all the time|'
    + 'by the end of the year|(?:during |for |in )?this (?:semester|term)))+$',
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
    + String.raw`several|couple|like|than|about|into|over|because|after|before|without|between|no|every|each|have|get|`
    + String.raw`do|make|being|having|getting|making|be|super|pretty|too|be able|also|see|things|watching how)$`,
  'i',
)

/** A thing that lacks its noun, because it was cut at a comma: "a warm" of "a warm, quiet kitchen". */
const ADJECTIVE = new RegExp(
  String.raw`\ban? (?:very |really )?(?:safe|quiet|warm|nice|big|small|new|old|good|great|cozy|happy|better|`
    + String.raw`beautiful|long|short|simple|calm|kind|stable|healthy|fun|cool|huge|tiny|\p{L}+(?:ful|ous))$`,
  'iu',
)

/** Maximum number of words of a thing. */
const MAX_WORDS = 12

/** Uses of words of DANGLING that need no context: "others" for people in general, "each other", "things like chess". */
const CLEAR = new RegExp(
  String.raw`\b(?:help|helping|with|support|supporting|inspire|inspiring|teach|teaching|`
    + String.raw`for) others\b|\beach other\b|\bthings (?=like \p{L})`,
  'giu',
)

/** Uses of "myself" as an object. Other uses are only emphasis. */
const SELF = new RegExp(
  '\\b((?:express|expressing|accept|accepting|understand|understanding|push|pushing|challenge|challenging|to|of|for|'
    + 'with|in|be|being) )(?:myself|ourselves)\\b',
  'gi',
)

/** A list of things of few words: "cats, dogs and birds". */
const ITEM = String.raw`[\p{L}\p{M}'’-]+(?: [\p{L}\p{M}'’-]+){0,2}`
const NO_ITEM =
  'and|or|but|so|i|we|he|she|it|they|you|which|who|because|then|just|mostly|especially|if|when|like|not|now|also|more'
const LISTED = new RegExp(
  String.raw`^(?:to )?${ITEM}(?:, (?!(?:${NO_ITEM}|\p{L}+ly)\b)${ITEM}){1,4},? (?:and|or) `
    + String.raw`(?!(?:${NO_ITEM}|the|a|an|my)\b)\p{L}`,
  'iu',
)
/** A relative clause that says which people are meant: "families who lost their homes". */
const WHO = new RegExp(
  String.raw`\b(folks|people|those|anyone|kids|children|students|families|friends|veterans|women|men|`
    + String.raw`neighbou?rs) who (?=\p{L}+ )`,
  'giu',
)
/** A kind with a name, whose other words are a comment: "a little known game called Go". */
const CALLED = /\b(?:an?|another|this|the) (?:[\p{L}-]+ ){0,3}?(\p{L}+) (?:called|named) (?=\p{L})/giu
/** A name that follows what it names: "my old school, North High". */
const NAMED_AFTER = /(\b(?:my|our) [\p{L} -]{2,30}), (?=\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?(?:,|$))/gu
/** What the speaker has: "the friends I have". */
const HAD_BY_SPEAKER = /\bthe (\p{L}+) (?:that )?(?:i|we) have$/iu

/** Two adjectives of one thing: "a warm, welcoming kitchen". */
const PAIRED = /(\ban? [\p{L}-]+), (?=[\p{L}-]+(?:ing|ful|al|ive|ous|ic|ed|able) \p{L}+)/giu

/** Marks of a comma and of a relative pronoun that do not end a thing. */
const [COMMA, RELATIVE_WHO] = ['\uE000', '\uE001']

/** Rewrites or marks the words within a thing at which the next clause could begin. */
const withoutJoints = (text: string): string =>
  text
    .replace(SELF, '$1oneself')
    .replace(PAIRED, '$1 and ')
    .replace(HAD_BY_SPEAKER, 'my $1')
    .replace(CALLED, 'the $1 ')
    .replace(NAMED_AFTER, `$1${COMMA} `)
    .replace(LISTED, (list) => list.replaceAll(',', COMMA))

/**
 * Reads a thing without fillers, with the speaker's name instead of "my" and "our". Null if it needs context, is
 * incomplete, or has more than MAX_WORDS words.
 */
export function thing(text: string, speaker: string): string | null {
  const withRelative = text.replace(WHO, `$1 ${RELATIVE_WHO} `)
  return (withRelative === text ? null : wholeThing(withRelative, speaker)) ?? wholeThing(text, speaker)
}

function wholeThing(text: string, speaker: string): string | null {
  // In "make that happen", the words after "that" belong to the verb.
  if (/^(?:to )?(?:make|making|let|get|have|do|see|hear|find|keep|use|try)(?: \S+)? that\b/i.test(text.trim()))
    return null
  // A comparison is cut at "as", which leaves an incomplete phrase: "a plan to read as many books as I can".
  if (/^(?:(?! which | because | since ).)* as (?:many|much|few|long|often|soon|far)\b/i.test(text)) return null
  const bare = text.trim().replace(/\b(?:a lot|lots|tons|loads|plenty) of |^both /gi, '')
  let cut = withoutJoints(bare).replace(STOP, '').replaceAll(COMMA, ',').replaceAll(RELATIVE_WHO, 'who')
  cut = cut
    .replace(FILLER, '')
    .replace(/[\s.,!'"-]+$/, '')
    .replace(/^(?:to|on|at|in) (?=(?:my|our)\b)/i, '')
  const named = cut.replace(/\b(?:my|our)(?: own)?\b/gi, `${speaker}'s`).replace(/\b(?:me|us)\b(?![-'])/gi, speaker)
  const count = named.split(/\s+/).length
  if (!/\p{L}|\d/u.test(named) || count > MAX_WORDS) return null
  const withoutSpeaker = named
    .replaceAll(`${speaker}'s`, '')
    .replaceAll(speaker, '')
    .replace(CLEAR, '')
    .replace(/ who .+$/, (relative) => relative.replace(/\bwho|\btheir\b/g, ''))
  if (DANGLING.test(withoutSpeaker) || RELATIVE.test(withoutSpeaker)) return null
  if (/^(?:and|or|but|too)\b/i.test(named)) return null
  if (UNFINISHED.test(named) || ADJECTIVE.test(named)) return null
  return named
}

/** Returns the singular of a noun or of a noun phrase in lower case: "guinea pig" for "guinea pigs". */
export const singular = (many: string): string =>
  many
    .replace(/children$/, 'child')
    .replace(/(?<!\b(?:mov|cook|brown|smooth|ser))ies$/, 'y')
    .replace(/(?<=o|ss|sh|ch|x)es$/, '')
    .replace(/(?<!s)s$/, '')

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

/** Nouns that need no context after "the": "the sea", but not "the theme". */
const GENERAL = new RegExp(
  String.raw`^(?:sea|beach|ocean|outdoors|mountains?|countryside|country|cold|rain|snow|heat|sun|winter|`
    + String.raw`summer|spring|autumn|fall|night|piano|guitar|violin|gym|internet|news|environment|planet|`
    + String.raw`climate|world|theat(?:er|re)|movies|cinema|arts|truth|future|past|holidays|peace|army|navy|`
    + String.raw`military|police|zoo|moon|stars|sky|wild|woods|forest|desert|water|suburbs|weekends?|evenings?|`
    + String.raw`mornings?|dark|radio|lake|river|colou?rs?|color \p{L}+|colour \p{L}+|dentist|coast|shore|`
    + String.raw`hills?|valley|(?:north|south|east|west)(?:ern)? (?:coast|side)|cello|drums|flute|harp|`
    + String.raw`violin)(?=$| (?:in|of|and|at|by|on|or|during|with|for|near|scene)\b)`,
  'iu',
)
/** Adjectives that refer to the context: "the new one", "the whole place". */
const REFERRING =
  /^(?:new|whole|same|other|first|second|last|next|only|right|latest|recent|entire|actual|best|way|fact|idea|rest)\b/i
const DEFINITE = /^(?:(?:to )?\p{L}+ )?the (.+)/iu
const PREPOSITION = /^\S+ (?:of|in|at|from|to|on|near|for|with|by|behind|between|about) \S/i

/** Whether a noun phrase after "the" can be understood alone: it is general, a name, or has a complement. */
function isKnown(phrase: string): boolean {
  if (GENERAL.test(phrase) || /^\p{Lu}|^\p{L}?\d/u.test(phrase)) return true
  if (REFERRING.test(phrase)) return false
  const noun = phrase.split(/ (?:and|or) /)[0]!
  return PREPOSITION.test(noun) || noun.split(' ').length > 1
}

/** Whether a phrase with "the" is general or contains a name: "the sea", "the cuisine in Peru". */
export const isNamed = (phrase: string): boolean =>
  /^the (?:classic|original|traditional|occasional) /i.test(phrase)
  || phrase
    .replace(/^the /i, '')
    .split(/ (?:and|or) the /i)
    .every((part) => GENERAL.test(part) || /\s\p{Lu}|\d/u.test(` ${part}`))

/** Vague things: "the vibes", "a good point", "some pictures". */
export const VAGUE = new RegExp(
  String.raw`^(?:(?:the|an?|some|any|no|my|our) (?:\p{L}+ )?)?(?:vibes?|views?|looks?|ideas?|parts?|`
    + String.raw`feelings?|thoughts?|sounds?|names?|pics?|pictures?|photos?|options?|moments?|points?|`
    + String.raw`questions?|answers?|messages?|chats?|results?|experiences?|energy|concept|difference|`
    + String.raw`problems?|issues?|stuff|place|spot|event|person|people|guys?|way|reasons?|plans?|suggestions?|`
    + String.raw`advice|tips?|weather|process|change|design|choice|fun|time|times|days?|attitude|taste|shots?|`
    + String.raw`fit|mix|combo|combination|effect|image|video|answer|offer|style)$|^to get \p{L}+ going$`,
  'iu',
)
/** A part of a sentence instead of a thing: "is long", "about Rome". */
const NO_THING = new RegExp(
  String.raw`^(?:because|'?cause|is|are|was|were|has|had|will|would|can|could|did|does|isn't|wasn't|`
    + String.raw`about|of|from|than|as|how|when|where|why|what|but|if|or|by|so|too|it|that|and)\b`,
  'i',
)
const ELONGATED = /([aeiou])\1{2,}|(.)\2{3,}/iu

/** Reads a thing that can be understood without its context; null for "the game", "the vibes" or "it". */
export function standalone(text: string, speaker: string): string | null {
  const what = NO_THING.test(text) ? null : thing(text, speaker)
  if (what === null || VAGUE.test(what) || ELONGATED.test(what)) return null
  const definite = DEFINITE.exec(what)?.[1]
  return definite === undefined || isKnown(definite) ? what : null
}
