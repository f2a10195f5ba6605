// Recognises English small talk, which carries no content for a summary or a title: greetings, farewells, thanks and
// reactions.

/** The mark that `normalised` puts in place of a name. */
const NAME_MARK = '§'
/** A name, or a word that may replace one, with the comma before it, if any: ", Mel", ", everyone", " again". */
const NAME = `(?:,? (?:${NAME_MARK}|my (?:dear|friend|friends)|guys|everyone|everybody|all|there|again|too|man|buddy))`
const ADVERB = String.raw`(?:(?:so|really|very|such|pretty|just|super|absolutely|totally) )`
const PRAISE = String.raw`(?:good|great|nice|lovely|wonderful|amazing|awesome|cool|sweet|fantastic|incredible|inspiring|exciting|fun|beautiful|impressive|thoughtful|kind|true|right)`
const YOU = String.raw`(?: (?:from|with|to) you)?`
const WHEN = String.raw`(?: (?:soon|later|again|tomorrow|tonight|today|next time|around|then|now))*`

/** A greeting word at the beginning of a sentence, with the capitalised name after it, if any. */
const HAIL =
  /^(?:[Hh](?:i|ey|ello|iya|owdy)|[Ww]ow|[Oo]h|[Aa]w+|[Yy]o|[Gg]reetings|[Gg]ood (?:morning|afternoon|evening|day))(?:,? (?:there|all|everyone|everybody|guys|again|\p{Lu}[\p{L}'’-]+))?\s*(?:[,.!:–—-]+(?:\s+|$)|$)/u

const PHRASES = [
  // Greetings
  String.raw`(?:hi|hello|hey|heya|hiya|yo)(?: hi| hello| there)?`,
  String.raw`(?:${ADVERB}?(?:good|great|nice|lovely|wonderful|glad|happy|pleased|it's ${ADVERB}?(?:good|great|nice)|i'm ${ADVERB}?(?:glad|happy)) to (?:see|hear|meet|talk|chat|catch up|be back)(?: (?:from|with|to))?(?: you)?)`,
  String.raw`long time no (?:see|talk|chat)|it's been (?:a while|ages|too long|so long|forever)`,
  String.raw`how(?: are|'re| have|'ve| is|'s| has| did|'d)? (?:you|ya|it|things|everything|everyone|life|your (?:day|week|weekend))(?: all)?(?: been)?(?: (?:doing|going|holding up|go))?(?: with you)?`,
  String.raw`what(?:'s| is| has|'ve you)? (?:been )?(?:up|new|going on|happening|been up to|you been up to)(?: with you)?|anything new|welcome(?: back)?`,
  String.raw`(?:i'm|i am|we're|we are|im|doing|all) (?:doing )?${ADVERB}?(?:fine|good|great|well|ok|okay|alright)(?: (?:as well|too|here|today))?(?: and (?:you|u|yours|yourself))?`,
  // Thanks
  String.raw`(?:oh |wow,? |aw+,? )?(?:thanks|thank you|thx|cheers|much appreciated|(?:i )?(?:really )?appreciate (?:it|that|you))(?: (?:so|very) much| a (?:lot|bunch|million|ton)| again)?(?: for (?:that|this|asking|sharing|listening))?`,
  String.raw`(?:you're|you are) (?:very |so |most )?welcome|no problem|no worries|my pleasure|don't mention it|anytime`,
  // Farewells
  String.raw`(?:bye(?: bye)?|goodbye|farewell|good ?night|take care|(?:see|talk|catch|speak)(?: to| with)? (?:you|ya)|talk|see you all|ttyl|cya|keep in touch|stay safe)${WHEN}`,
  String.raw`(?:have|enjoy) (?:a |an |your )?(?:${ADVERB}?${PRAISE} )?(?:day|night|evening|weekend|week|trip|time|rest of your day|one)`,
  String.raw`good luck(?: with (?:that|it))?|congrats|congratulations|best wishes|take it easy`,
  // Reactions
  String.raw`(?:wow|oh|aw+|haha|lol|yay|${PRAISE}|ok|okay|sure|yes|yeah|yep|no|nope|exactly|absolutely|definitely|totally|indeed|of course|for sure|same here|me too|got it|i see|sounds ${PRAISE})`,
  String.raw`(?:wow,? |oh,? |aw+,? |yeah,? )?(?:(?:that|this|it)(?:'s| is| was| looks| sounds|'d be)|looks|sounds|how|so|what an?) ${ADVERB}?(?:an? )?${PRAISE}(?: (?:idea|news|thing|one|job))?(?: to (?:hear|know))?${YOU}`,
  String.raw`(?:i )?(?:totally|completely|fully|so|couldn't)? ?agree(?: with you| more)?|(?:good|great|nice) (?:job|work|one)|well done|way to go|keep it up|you rock|you(?:'re| are) ${ADVERB}?(?:an? )?${PRAISE}`,
]
const SMALL_TALK = new RegExp(String.raw`^(?:${NAME_MARK},? )?(?:${PHRASES.join('|')}|${NAME_MARK})${NAME}{0,2}$`, 'u')

/** Minimum length, in letters, of a beginning of a name that is recognised as the name: "Mel" for Melanie. */
const NICKNAME_LETTERS = 3

/** Returns the sentence in lower case, with a mark for each of the names and without punctuation at the end. */
const normalised = (sentence: string, names: readonly string[]) =>
  sentence
    .toLowerCase()
    .replaceAll('’', "'")
    // The spelling of chats: "hiiii", "its", "im".
    .replace(/([a-z])\1{2,}/g, '$1')
    .replace(/\b(it|that|how|what)s\b/g, "$1's")
    .replace(/\bim\b/g, "i'm")
    .replace(/\b(you|they)re\b/g, "$1're")
    .replace(/\p{L}[\p{L}'-]*/gu, (word) =>
      names.some((name) => name === word || (word.length >= NICKNAME_LETTERS && name.startsWith(word)))
        ? NAME_MARK
        : word,
    )
    .replace(/[^\p{L}\p{N}§]+$/u, '')

/** Returns the words of the speakers' names, in the form that `isSmallTalk` expects. */
export const namesOf = (speakers: Iterable<string>): string[] => [
  ...new Set([...speakers].flatMap((speaker) => speaker.toLowerCase().match(/\p{L}{2,}/gu) ?? [])),
]

/** Returns the sentence without a greeting and a name at its beginning: "Hey Mel, I moved." becomes "I moved." */
export function withoutHail(sentence: string): string {
  const rest = sentence.replace(HAIL, '')
  return rest === sentence ? sentence : rest.charAt(0).toUpperCase() + rest.slice(1)
}

/**
 * Whether the sentence is only small talk: "Thanks so much, Ada!"
 * @param names words of the participants' names, lower case, which do not count as content
 */
export function isSmallTalk(sentence: string, names: readonly string[]): boolean {
  const plain = normalised(withoutHail(sentence), names)
  return (
    plain === '' || SMALL_TALK.test(plain) || plain.split(/\s*[,;–—]\s+|\s+-\s+/).every((part) => SMALL_TALK.test(part))
  )
}
