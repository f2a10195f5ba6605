// The rules of what somebody likes, prefers and dislikes. A like of the moment, or of something at hand, does not count.

import { thing } from './objects.ts'
import { AM, I, NOT, rule, told, type Rule, type Speaker } from './rule.ts'

const LIKE = '(?:like|love|enjoy|adore)'

/** A moment, a thought or a matter at hand: nobody likes those for long. */
const MOMENT = new RegExp(
  String.raw`^(?:to (?:see|hear|know|think|say|ask|be|talk|chat|help|learn more|get|join|come|go)\b|how|when|`
    + String.raw`the (?:way|fact|idea|sound|look|thought|photo|picture|pic|song|view|one|part|vibe|colou?rs?)|see|hear|`
    + String.raw`seeing|hearing|knowing|being|having|getting|talking|chatting|catching|`
    + String.raw`(?:some|a|two|three|both of) |and\b|'|a good\b)`,
  'i',
)
/** "the theme" is one before us; "the sea" and "the Beatles" are for all. */
const FOR_ALL = new RegExp(
  String.raw`^the (?:\p{Lu}|sea|beach|ocean|outdoors|mountains?|countryside|cold|rain|snow|heat|sun|winter|summer|`
    + String.raw`spring|autumn|fall|night|city|piano|guitar|violin|colou?r)`,
  'u',
)
/** What one is said to like, unless it is somebody's idea or a moment. */
function liking(text: string, { name }: Speaker): string | null {
  if (MOMENT.test(text)) return null
  if (/^the /i.test(text) && !FOR_ALL.test(text)) return null
  return thing(text, name)
}

export const LIKES: Rule[] = [
  rule(
    `my (?:all-time |absolute |all time |very )?fav(?:ou?rite|e)? ((?:[\\p{L}-]+ ?){1,4}?)(?:'s| is| are|`
      + ` has always been| has to be)(?! (?:when|to see|how|that|probably)\\b) (.+)$`,
    ([, topic, what], { name }) => {
      const of = thing(topic!.trim(), name)
      return of ? told(`favorite ${of} is`, thing(what!, name)) : null
    },
  ),
  rule(
    '(.+?) (?:is|are) my (?:all-time |absolute )?favou?rites? ((?:[\\p{L}-]+ ?){1,3})$',
    ([, what, topic], { name }) => {
      const of = thing(topic!.trim(), name)
      return of && !/^(?:my|what|which|one)\b/i.test(what!) ? told(`favorite ${of} is`, thing(what!, name), 0.85) : null
    },
  ),
  rule(`${I}prefer (.+)$`, ([, what], { name }) => told('prefers', liking(what!, { name, isGreeting: false }))),
  rule(
    `(?:i|we) (?:really |actually |personally )*(?:${NOT}(?: really)? ${LIKE}|(?:hate|dislike|detest|loathe|`
      + `can't stand|cannot stand))(?: (?:the taste|the smell) of)? (.+)$`,
    ([, what], speaker) => told('dislikes', liking(what!, speaker)),
  ),
  rule(
    `(?:${I}${LIKE}|i(?:'m| am| have always been|'ve always been) (?:such )?a (?:big |huge |great )?(?:fan of|`
      + `lover of)|${AM}(?:into|fond of|obsessed with|passionate about|keen on))(?: doing)? (.+)$`,
    ([, what], speaker) => told('likes', liking(what!, speaker)),
  ),
]
