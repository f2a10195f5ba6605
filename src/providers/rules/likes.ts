// The rules for likes, preferences and dislikes. A momentary like, or a like of something that needs context, is not a
// fact.

import { thing } from './objects.ts'
import { AM, amRule, I, myRule, NOT, selfRule, statement, type Rule, type Speaker } from './rule.ts'

const LIKE = '(?:likes?|loves?|enjoys?|adores?)'

/** Objects of momentary likes: a moment, a thought, or something that needs context. */
const MOMENT = new RegExp(
  String.raw`^(?:to (?:see|hear|know|think|say|ask|be|talk|chat|help|learn more|get|join|come|go `
    + String.raw`(?:back|there|home|with))\b|how|when|`
    + String.raw`the (?:way|fact|idea|sound|look|thought|photo|picture|pic|song|view|one|part|vibe|colou?rs?)|see|hear|`
    + String.raw`seeing|hearing|knowing|being(?! (?:an? |busy|active|alone|outside|outdoors|organized|`
    + String.raw`in nature|around (?:people|animals|nature|kids)|by the (?:sea|ocean|water)|creative|`
    + String.raw`independent|social))|having(?! (?:an?|my own|kids|pets)\b)|getting|going for(?! `
    + String.raw`(?:walks|runs|hikes|drives|long|a (?:walk|run|hike|drive|swim))\b)|talking|chatting|`
    + String.raw`catching|`
    + String.raw`(?:some of|a|two|three|both of) |and\b|'|a good\b)`,
  'i',
)
/** Objects with "the" that need no context: "the sea" or "the Beatles", but not "the theme". */
const GENERAL = new RegExp(
  String.raw`^the (?:\p{Lu}|forests?|woods|[\p{Ll} ]{2,30} (?:in|of|at|from) \p{Lu}|sea|beach|ocean|`
    + String.raw`outdoors|mountains?|countryside|cold|rain|snow|heat|sun|winter|summer|`
    + String.raw`spring|autumn|fall|night|piano|guitar|violin|colou?r)`,
  'u',
)
/** How food or a thing is liked: "I like my coffee strong". */
const SERVED = /^my .*\b(?:simple|plain|hot|cold|spicy|sweet|strong|black|rare|crispy|neat)$/i
/** Reads the object of a like; null if the like is momentary or the object needs context. */
function liking(text: string, { name }: Speaker): string | null {
  if (MOMENT.test(text)) return null
  if ((/^the /i.test(text) && !GENERAL.test(text)) || SERVED.test(text)) return null
  return thing(
    text.replace(/ (?:better|best|more)$/i, '').replace(/^(?:like|some|all (?:kinds|types|sorts|forms) of) /i, ''),
    name,
  )
}

/** Reads something liked, as the subject of a clause: "Ravioli is one of my favorites". */
const subject = (text: string, name: string): string | null =>
  new RegExp(
    String.raw`^(?:on|in|at|for|with|from|to|of|as|by|like|also|then|two|three|four|five|it|`
      + String.raw`that|this|the|my|our|your|his|her|their|its|those|these|they|he|she|which|what|one|both|`
      + String.raw`some|and|but|or|so|an?|there|who)\b|\b(?:is|are|was|were|i|you|we|think|said)\b`,
    'i',
  ).test(text)
    ? null
    : thing(text, name)

export const LIKES: Rule[] = [
  myRule(
    `my (?:all-time |absolute |all time |very )?fav(?:ou?rite|e)? ((?:[\\p{L}-]+ ?){1,5}?)('s| is| are|`
      + ` has always been| have always been| has to be)(?! (?:when|to see|how|that|probably)\\b) (.+)$`,
    ([, topic, verb, what], { name }) => {
      const be = /are|have/i.test(verb!) ? 'are' : 'is'
      const of = thing(topic!.trim().replace(/ (?:of all time|ever|so far|right now)$/i, ''), name)
      return of ? statement(`favorite ${of} ${be}`, thing(what!, name)) : null
    },
  ),
  myRule(
    '(.+?) (?:is|are) my (?:all-time |absolute )?favou?rites? ((?:[\\p{L}-]+ ?){1,3})$',
    ([, what, topic], { name }) => {
      const of = thing(topic!.trim(), name)
      return of && !/^(?:my|what|which|one)\b/i.test(what!)
        ? statement(`favorite ${of} is`, thing(what!, name), 0.85)
        : null
    },
  ),
  myRule(
    "(.+?)(?:'s| is| are| has become| have become| was| were)(?: also| definitely| still| probably| "
      + 'easily| always)* (?:one(?: of)?|some of) my '
      + '(?:all[- ]time |absolute |personal )?favou?rites?\\b.*$',
    ([, what], { name }) => statement('likes', subject(what!, name), 0.85),
  ),
  myRule(
    '(?:one|some) of my (?:all[- ]time |absolute |other |personal )?favou?rites? ((?:[\\p{L}-]+ '
      + '){0,3}?[\\p{L}-]+)(?: of all time| ever| growing up)? (?:is|are|would be|has to be) (.+)$',
    ([, , what], { name }) => statement('likes', liking(what!, { name, isGreeting: false }), 0.85),
  ),
  myRule(
    '(?:one of )?my (?:main |favou?rite |biggest |other |new )*(?:hobby|hobbies|passions?|interests?|'
      + 'pastimes?) (?:is|are|includes?|would be) (.+)$',
    ([, what], { name }) => statement('likes', liking(what!, { name, isGreeting: false }), 0.85),
  ),
  amRule(
    `${AM}(?:an? )(?:(?:huge|big|massive|lifelong|diehard|hardcore|die-hard|long-?time|true) `
      + `)+((?:[\\p{L}'-]+ ){1,3}?)(?:fan|lover|enthusiast)(?=$|,|\\s(?:and|but|so|since|because|too|myself|`
      + `as well)\\b)`,
    ([, what], { name }) => statement('likes', thing(what!, name), 0.85),
  ),
  myRule(
    "my go[- ]?to ((?:[\\p{L}-]+ ?){1,3}?)(?:'s| is| are| would be| has to be) (.+)$",
    ([, topic, what], { name }) => statement(`go-to ${topic!.trim().toLowerCase()} is`, thing(what!, name), 0.8),
  ),
  selfRule(
    `(?:${AM}|i was )(?:not|n't) (?:really |that |very |much |too |a |the |big |huge |much of a `
      + `)*(?:into|fond of|keen on|fan of) (.+)$`,
    ([, what], speaker) => statement('does not like', liking(what!, speaker), 0.85),
  ),
  selfRule("(?:i'm|i am) (?:really |just )*not one (?:that|who|to) (?:likes? |enjoys? )(.+)$", ([, what], speaker) =>
    statement('does not like', liking(what!, speaker), 0.8),
  ),
  selfRule(
    `(?:i|we) (?:personally |honestly |really )*(?:can't get enough of|can't live without|could never `
      + `get tired of) (.+)$`,
    ([, what], speaker) => statement('likes', liking(what!, speaker), 0.85),
  ),
  amRule(
    `${AM}(?:enjoying|loving) (my (?:[\\p{L}-]+ ){0,2}(?:job|work|classes|class|course|courses|semester|`
      + `internship|school|apartment|house|neighborhood|life))(?=$|,|\\s)`,
    ([, what], { name }) => statement('likes', thing(what!, name), 0.8),
  ),
  selfRule(`${I}prefer (.+)$`, ([, what], { name }) =>
    statement(
      'prefers',
      /^(?:the|it|that|this|not|if|when|to (?:be|think|say))\b/i.test(what!) ? null : thing(what!, name),
    ),
  ),
  selfRule(
    `(?:i|we) (?:really |actually |personally )*(?:${NOT}(?: really)? ${LIKE}|(?:hate|dislike|detest|loathe|`
      + `can't stand|cannot stand))(?: (?:the taste|the smell) of)? (.+)$`,
    ([, what], speaker) => statement('dislikes', liking(what!, speaker)),
  ),
  selfRule(
    `(?:${I}${LIKE}|(?:${AM}|i have always been |i've always been )(?:such )?a (?:big |huge |great |`
      + `massive )?(?:fan of|`
      + `lover of)|${AM}(?:into|more into|fond of|obsessed with|addicted to|in love with|`
      + `passionate about|keen on))(?: doing)? (.+)$`,
    ([, what], speaker) => statement('likes', liking(what!, speaker)),
  ),
]
