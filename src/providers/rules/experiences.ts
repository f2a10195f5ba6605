// The rules for experiences and former occupations without a date: "I've been to Italy", "I've never tried oysters",
// "I worked at a bank". Experiences of the day belong to past-events.ts.

import { place, thing } from './objects.ts'
import { HAVE, haveRule, meRule, selfRule, statement, type Rule } from './rule.ts'

const DONE =
  'visited|tried|watched|read|played|had|owned|eaten|used|lived in|worked (?:at|as|in|for|with)|studied|taken|'
  + 'finished|learned|travell?ed to|hiked|written|ridden|driven|flown|cooked|baked|run|climbed|swum|surfed|'
  + 'skied|hosted|'
  + 'volunteered (?:at|for)|participated in|competed in|performed (?:at|in)|attended|taught|done|broken|'
  + 'won|gone|acted in|designed|made'
/** Objects that need context or are not experiences. */
const UNSPECIFIC = new RegExp(
  String.raw`^quite\b|^(?:(?:an?|some|many|a few|several|lots of|the|my|good|great|bad|no) `
    + String.raw`)*(?:\p{L}+ )?(?:days?|weeks?|weekends?|months?|times?|fun|feelings?|experiences?|`
    + String.raw`problems?|issues?|question|videos?|reviews?|posts?|things?|ideas?|conversations?|chance|`
    + String.raw`opportunity|privilege|pleasure|courage|energy|money|need|reason|desire|patience|space|`
    + String.raw`people|person|trouble|difficulty|luck|urge|job|look|break|research|part|effort|progress|`
    + String.raw`care|long|sense|enough|lots)\b`,
  'iu',
)

/** Reads the object of an experience; with the verb `done`, which tells titles such as "My Girl" from belongings. */
const experienced = (text: string, name: string, done = ''): string | null => {
  const bare = text.replace(/\s+(?:before|in my life|(?:once|twice)(?: before)?|ever|in person|as well|much)$/i, '')
  const what = thing(`${done} ${bare}`, name)?.slice(done === '' ? 0 : done.length + 1) ?? null
  return what === null || UNSPECIFIC.test(what) ? null : what
}
const where = (text: string, name: string): string | null => place(text) ?? experienced(text, name)

export const EXPERIENCES: Rule[] = [
  haveRule(`${HAVE} (?:also |already |actually |only |even )*been to (?:see )?(.+)$`, ([, there], { name }) =>
    statement('has been to', where(there!, name), 0.8),
  ),
  haveRule(
    "(?:i've|i have|we've|we have) (?:actually |honestly |also )*never (?:actually |really )*been to (.+)$",
    ([, there], { name }) =>
      statement('has never been to', where(there!.replace(/ (?:yet|before|either)$/i, ''), name), 0.8),
  ),
  selfRule("(?:i|we) (?:haven't|have not) (?:actually |ever )?been to (.+?)(?: yet| before)?$", ([, there]) =>
    statement('has never been to', / (?:in|for|since) /.test(there!) ? null : place(there!), 0.75),
  ),
  selfRule(
    `(?:i've|i have|we've|we have|i) (?:actually |honestly |also |literally )*never (?:actually |really |`
      + `even )*(${DONE}) (.+)$`,
    ([, done, what], { name }) => statement(`has never ${done!.toLowerCase()}`, experienced(what!, name, done), 0.8),
  ),
  haveRule(
    `(?:i've|i have|we've|we have) (?:also |already |actually |only |just |recently |even |since `
      + `)*(${DONE}) ((?:(?:over|about|around|like|almost) )?(?:an?|two|three|four|five|six|ten|many|several|`
      + `multiple|all|lots of|\\d+|\\p{L}+).+)$`,
    ([, done, what], { name }) =>
      /^(?:a lot|enough|to |so |too |no )/i.test(what!)
        ? null
        : statement(`has ${done!.toLowerCase()}`, experienced(what!.replace(/^all (?:of )?/i, ''), name, done), 0.7),
  ),
  selfRule(
    '(?:i|we) (?:previously |once |also |actually |recently |first |even |just )*(worked|interned|'
      + 'studied|lived|taught|volunteered|served|trained|majored|minored|coached) (?:over the summer |last '
      + 'summer |for [^,]{1,20}? )?(at|for|in|as|with|abroad in|on) (.+)$',
    ([, done, at, what], { name }) => {
      if (
        /^(?:it|this|that|my|the (?:weekend|project|morning)|a bit)\b|\b(?:hours?|minutes)\b/i.test(what!)
        || (done!.toLowerCase() === 'worked' && /^(?:on|with|in)$/i.test(at!))
      )
        return null
      const object = /^(?:in|abroad in)$/i.test(at!) && /lived|grew/i.test(done!) ? place(what!) : thing(what!, name)
      return statement(`${done!.toLowerCase()} ${at!.toLowerCase()}`, object, 0.8)
    },
  ),
  selfRule(
    '(?:i|we) (?:also |actually |previously |once )*(took|did) ((?:an? )?(?:[\\p{L}-]+ ){0,3}(?:classes|'
      + 'class|course|internship|gap year|lessons|degree|semester abroad|exchange|bootcamp|calculus|physics|'
      + 'chemistry|spanish|french|latin|statistics|biology)\\b.*)$',
    ([, done, what], { name }) => statement(done!.toLowerCase(), experienced(what!, name), 0.75),
  ),
  selfRule(
    `(?:${HAVE}|i) (?:also |recently |just |even |finally |really )*(?:got|gotten|been getting) (?:back |`
      + `really |more )?into (.+)$`,
    ([, what], { name }) =>
      statement(
        'got into',
        /^(?:the car|bed|a fight|an? argument|trouble|an accident|it)\b/i.test(what!) ? null : experienced(what!, name),
        0.75,
      ),
  ),
  meRule('(.+?) (?:has |have )?(?:also )?got(?:ten)? me into (.+)$', ([, , what], { name }) =>
    statement('got into', /^trouble\b/i.test(what!) ? null : thing(what!, name), 0.75),
  ),
  selfRule(
    'i grew up (watching|reading|playing|eating|listening to|speaking|with|going to|doing) (.+)$',
    ([, how, what], { name }) => statement(`grew up ${how!.toLowerCase()}`, thing(what!, name), 0.8),
  ),
  selfRule(
    '(?:i|we) (?:also |recently |just |once |finally |first |actually |already )*(watched|rewatched|'
      + 're-read|binged|beat|played) (.+)$',
    ([, done, what], { name }) =>
      statement(
        done!.toLowerCase(),
        (/^played$/i.test(done!) && !/\bcalled\b|\p{Lu}/u.test(what!))
          || /^(?:an?|some|the|tv|it|them|him|her|us|as|lots|videos?|youtube|netflix|our|my (?!neighbor|hero))\b/i.test(
            what!,
          )
          ? null
          : experienced(what!, name, done),
        0.7,
      ),
  ),
  selfRule(
    '(?:i|we) (?:[^,]{1,60} and )?(hurt|broke|sprained|injured|twisted|pulled|tore|fractured|dislocated|'
      + 'burned|threw out) my ((?:(?:lower|upper|left|right) )?(?:back|ankle|knee|arm|leg|wrist|foot|toe|'
      + 'finger|hand|shoulder|neck|hip|elbow|rib|hamstring|collarbone|acl))\\b',
    ([, verb, part], { name }) => statement(verb!.toLowerCase(), `${name}'s ${part!.toLowerCase()}`, 0.8),
  ),
  selfRule(
    '(?:i|we) (?:really |still |do |kind of |already |definitely )*miss (?!you|it|that|this|out|them|him|her)(.+)$',
    ([, what], { name }) => statement('misses', experienced(what!, name), 0.75),
  ),
  selfRule(
    '(?:i|we) find (?!it|that|this|them|myself|out|the time|him|her)(.+?) (?:to be |is )?((?:(?:really|'
      + 'very|so|quite|pretty|super) )?(?:relaxing|fun|interesting|fascinating|boring|calming|soothing|'
      + 'difficult|stressful|exhausting|annoying|therapeutic|rewarding|enjoyable|challenging|easy|hard|'
      + 'important|scary|comforting))$',
    ([, what, how], { name }) => {
      const subject = experienced(what!, name)
      return statement('finds', subject && `${subject} ${how!.toLowerCase()}`, 0.75)
    },
  ),
]
