// Shortens an English phrase to a headline of a few words: without circumstances, relative clauses, verbs of a second
// action and words that add nothing. Phrases in other languages stay as they are. Pure.

/** Maximum number of words of a headline. */
const MAX_WORDS = 7
/** Minimum number of words that a removal must leave. */
const MIN_WORDS = 2
/** Minimum number of words that the removal of a clause must leave. */
const GOOD_WORDS = 3

/** Function words of English. A phrase with none of them may be in another language. */
const ENGLISH = new RegExp(
  String.raw`\b(?:the|an?|to|of|and|in|on|at|for|with|from|by|is|are|was|were|my|our|your|i|`
    + String.raw`we|you|it|this|that|how|what|which|not|do|does|did|have|has|about|into|after|before)\b`,
  'i',
)
const QUESTION =
  /^(?:how|what|why|when|where|who|which|whose|can|could|do|does|did|is|are|was|were|should|shall|will|would|must)\b/i

/** Circumstances at the beginning, before the subject. */
const FRONTED = new RegExp(
  String.raw`^(?:(?:earlier|later)(?: (?:in the|this|that) (?:day|week|morning|afternoon|`
    + String.raw`evening))?|(?:in|on|at|after|before|during|since|when|while|because|if|as|for|over|last|`
    + String.raw`this|next)\b[^,.]{2,40}(?=,)),?\s+(?=\S)`,
  'i',
)
/** A relative clause, with or without its pronoun. */
const RELATIVE = /,?\s(?:(?:that|which|who|where|whom)\s.*|(?:i|we|you|he|she|they|it)(?:['’]\w+)?\s\w+.*)$/i
/** A short relative clause within a sentence: "The lamp that I bought flickers". */
const INNER_RELATIVE = /\s(?:that|which|who) (?:i|we|you|he|she|they) \w+(?= \w)/i
/** A clause at the end that explains or continues. */
const CONTINUED = new RegExp(
  String.raw`,?\s(?:because|since|so|but|although|though|while|when|if|whenever|until|unless|as (?:i|`
    + String.raw`we|it|the)|after|before)\s.*$`,
  'i',
)
/** The verb of a second action and its article: "running and took some photos". */
const SECOND_VERB = new RegExp(
  String.raw`\sand (?:then )?(?:took|went|got|had|made|saw|did|came|was|were|is|are|has|`
    + String.raw`bought|found|ate|met|ran|read|\p{L}{3,}ed) (?:(?:some|an?|the|my|our|his|her|their) `
    + String.raw`)?(?=\p{L})`,
  'giu',
)
/** Words that add nothing to a headline. */
const EMPTY = new RegExp(
  String.raw`(?<=^|\s)(?:really|very|so|just|actually|pretty|super|some|literally|basically|`
    + String.raw`kind of|sort of|kinda|definitely|finally|new little|a bit of|a lot of|lots of) (?=\S)`,
  'giu',
)
/** Times and fillers at the end. */
const TAIL = new RegExp(
  String.raw`(?:[\s,]+(?:right now|now|today|yesterday|tomorrow|tonight|this (?:morning|`
    + String.raw`afternoon|evening|week|weekend)|last (?:night|week|weekend|month|year|\w+day)|recently|`
    + String.raw`lately|again|too|as well|so far|a lot|lol+|haha+|btw|at the moment|though|anyway|please|`
    + String.raw`already|for a while|(?:two|three|a few|a couple of) \w+ ago|by the way|of course|`
    + String.raw`actually|myself|ourselves|in the meantime|\p{Extended_Pictographic}+))+$`,
  'iu',
)
/** Function words at the end of a shortened phrase. */
const DANGLING = new RegExp(
  String.raw`\s+(?:and|or|but|the|an?|of|for|to|with|in|on|at|by|from|about|my|our|your|his|`
    + String.raw`her|their|its|is|are|was|were|be|been|that|which|as|so|if|when|because|some|very|into|`
    + String.raw`than|not|will|would|can|should|has|have|had|do|does|i|we|it|this|these|those|\S+ing|`
    + String.raw`need|needs|want|wants|whenever|around|same|all|near|behind|between|beside|during|through|over|under|only|front|every|each|any|no|more|most|too|how|what|where|who|enough|there|here|us|me|them|him|you)$`,
  'i',
)

const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean)

/** Returns `shorter` if it has enough words, otherwise `text`. */
const ifLongEnough = (shorter: string, text: string, min = MIN_WORDS) =>
  wordsOf(shorter).length >= min ? shorter : text

/** Prepositions. A phrase that is cut ends before its last one, whose object may be incomplete. */
const PREPOSITION =
  /^(?:of|for|to|with|in|on|at|by|from|about|into|around|behind|near|between|through|over|under|without)$/i
/** Minimum number of words before that preposition. */
const WORDS_BEFORE = 3

/** Returns at most MAX_WORDS words of the text: without articles, and then without the last words. */
function firstWords(text: string): string {
  if (wordsOf(text).length <= MAX_WORDS) return text
  const words = wordsOf(text.replace(/(?<=\s)(?:an?|the) /gi, ''))
  if (words.length <= MAX_WORDS) return words.join(' ')
  const first = words.slice(0, MAX_WORDS)
  const last = first.findLastIndex((word) => PREPOSITION.test(word))
  let kept = first.slice(0, last >= WORDS_BEFORE ? last : MAX_WORDS).join(' ')
  for (let shorter = ''; shorter !== kept;) {
    shorter = kept
    kept = ifLongEnough(kept.replace(/[\s,;:–—-]+$/, '').replace(DANGLING, ''), kept)
  }
  return kept
}

/** Returns the sentence without circumstances before its subject. */
export const withoutFronted = (sentence: string): string => ifLongEnough(sentence.replace(FRONTED, ''), sentence)

/** Returns the headline of a phrase; the phrase itself if it is not in English. */
export function headline(phrase: string): string {
  if (!ENGLISH.test(phrase) && wordsOf(phrase).length > MAX_WORDS) return phrase
  const isQuestion = QUESTION.test(phrase)
  let text = phrase.replace(/\s+/g, ' ').trim()
  text = ifLongEnough(text.replace(/^(?:have|had|having|been|being) (?=\S)/i, ''), text)
  if (!isQuestion) text = ifLongEnough(text.replace(SECOND_VERB, ' and '), text)
  text = ifLongEnough(text.replace(INNER_RELATIVE, ''), text)
  if (!isQuestion) text = ifLongEnough(text.replace(RELATIVE, ''), text)
  text = ifLongEnough(text.replace(CONTINUED, ''), text, GOOD_WORDS)
  text = ifLongEnough(text.replace(EMPTY, ''), text)
  text = ifLongEnough(text.replace(TAIL, ''), text)
  return firstWords(text)
}
