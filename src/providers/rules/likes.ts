// The rules for likes, preferences and dislikes. A momentary like, or a like of something that needs context, is not a
// fact.

import { thing } from './objects.ts'
import { AM, I, NOT, rule, statement, type Rule, type Speaker } from './rule.ts'

const LIKE = '(?:like|love|enjoy|adore)'

/** Objects of momentary likes: a moment, a thought, or something that needs context. */
const MOMENT = new RegExp(
  String.raw`^(?:to (?:see|hear|know|think|say|ask|be|talk|chat|help|learn more|get|join|come|go)\b|how|when|`
    + String.raw`the (?:way|fact|idea|sound|look|thought|photo|picture|pic|song|view|one|part|vibe|colou?rs?)|see|hear|`
    + String.raw`seeing|hearing|knowing|being|having|getting|talking|chatting|catching|`
    + String.raw`(?:some|a|two|three|both of) |and\b|'|a good\b)`,
  'i',
)
/** Objects with "the" that need no context: "the sea" or "the Beatles", but not "the theme". */
const GENERAL = new RegExp(
  String.raw`^the (?:\p{Lu}|sea|beach|ocean|outdoors|mountains?|countryside|cold|rain|snow|heat|sun|winter|summer|`
    + String.raw`spring|autumn|fall|night|city|piano|guitar|violin|colou?r)`,
  'u',
)
/** Reads the object of a like; null if the like is momentary or the object needs context. */
function liking(text: string, { name }: Speaker): string | null {
  if (MOMENT.test(text)) return null
  if (/^the /i.test(text) && !GENERAL.test(text)) return null
  return thing(text, name)
}

export const LIKES: Rule[] = [
  rule(
    `my (?:all-time |absolute |all time |very )?fav(?:ou?rite|e)? ((?:[\\p{L}-]+ ){0,3}?[\\p{L}-]+)(?:'s| is| are|`
      + ` has always been| has to be)(?! (?:when|to see|how|that|probably)\\b) (.+)$`,
    ([, topic, what], { name }) => {
      const of = thing(topic!.trim(), name)
      return of ? statement(`favorite ${of} is`, thing(what!, name)) : null
    },
  ),
  rule(
    '(.+?) (?:is|are) my (?:all-time |absolute )?favou?rites? ((?:[\\p{L}-]+ ){0,2}[\\p{L}-]+)$',
    ([, what, topic], { name }) => {
      const of = thing(topic!.trim(), name)
      return of && !/^(?:my|what|which|one)\b/i.test(what!)
        ? statement(`favorite ${of} is`, thing(what!, name), 0.85)
        : null
    },
  ),
  rule(`${I}prefer (.+)$`, ([, what], { name }) => statement('prefers', liking(what!, { name, isGreeting: false }))),
  rule(
    `(?:i|we) (?:really |actually |personally )*(?:${NOT}(?: really)? ${LIKE}|(?:hate|dislike|detest|loathe|`
      + `can't stand|cannot stand))(?: (?:the taste|the smell) of)? (.+)$`,
    ([, what], speaker) => statement('dislikes', liking(what!, speaker)),
  ),
  rule(
    `(?:${I}${LIKE}|i(?:'m| am| have always been|'ve always been) (?:such )?a (?:big |huge |great )?(?:fan of|`
      + `lover of)|${AM}(?:into|fond of|obsessed with|passionate about|keen on))(?: doing)? (.+)$`,
    ([, what], speaker) => statement('likes', liking(what!, speaker)),
  ),
]
