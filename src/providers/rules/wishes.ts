// The rules for wishes, attempts and open intentions: "I'm thinking of going back to school". The predicate says that
// the matter is open. The verbs are closed lists, which exclude politeness ("I'd love to hear that") and errands.

import { place, thing } from './objects.ts'
import { AM, amRule, beRule, HAVE, haveRule, myRule, selfRule, statement, type Rule } from './rule.ts'
import { RELATIVE } from './times.ts'

/** Infinitives of goals that take weeks. */
const GOALS =
  'learn|become|be an?|visit|travel|move|live|work (?:at|in|as|for|with|on)|study|open|start (?:an?|my|working|my own)|'
  + 'own|buy an?|adopt|write|publish|build|run an?|lose|gain|save|quit|stop|improve|eat|cook|read more|get (?:into|'
  + 'better|back into|healthier|fit|married|a (?:job|degree|dog|cat|house|tattoo|license|masters?|'
  + 'promotion))|go (?:to|back to|on an?|vegan)|'
  + 'teach|play|speak|master|apply|retire|explore|raise|create|launch|volunteer|graduate|major|try(?! (?:it|that|this|'
  + 'to)\\b)|finish|complete|beat|have (?:an?|my own|kids|children)|take up|do an?|be (?:more|less|better)|incorporate|'
  + 'maximize|increase|reduce|see (?:the|an?) |make (?:my own|more)|keep \\p{L}+ing|attend|join|pursue|'
  + 'watch|read|re-?read|re-?watch|marathon'
/** Gerunds of such goals. */
const PURSUITS =
  'going (?:to|back|on|into|vegan)|getting|starting|moving|becoming|buying|adopting|learning|studying|'
  + 'applying|taking|joining|changing|switching|'
  + 'writing|quitting|opening|visiting|travell?ing|making|having|trying|volunteering|teaching|majoring|'
  + 'minoring|pursuing'

/** Objects of steps in a project, of errands and of the present evening. */
const ERRAND = new RegExp(
  String.raw`\b(?:bed|sleep|home|outside|shower|nap|errands?|walk|park|nap|bath|snack|lunch|`
    + String.raw`brunch|dinner|breakfast|break|question|point|sense|call|minute|second|video|photo|`
    + String.raw`picture|message|list|dress(?:ed)?|ready|difference)\b`,
  'i',
)

/** Reads what is wished; null if it needs context, is incomplete or is an errand. */
const wished = (text: string, name: string): string | null => {
  const what = thing(text, name)
  if (
    /^going to (?!college|grad|school|law|med|therapy|university|rehab)/i.test(text)
    && !/^going to \p{Lu}/u.test(text)
  )
    return null
  return what === null || !what.includes(' ') || ERRAND.test(what) || RELATIVE.test(text) ? null : what
}

export const TENTATIVE_RULES: Rule[] = [
  beRule(`(?:${AM}|${HAVE} been )(?:thinking (?:of|about)|considering) ((?:${PURSUITS})\\b.+)$`, ([, what], { name }) =>
    statement('is thinking of', wished(what!, name), 0.65),
  ),
  haveRule(`${HAVE} (?:also |recently )?been trying (?:out )?(?!to\\b)(.+)$`, ([, what], { name }) =>
    statement('has been trying', wished(what!, name), 0.7),
  ),
  beRule(`(?:${AM}|${HAVE} been )trying to ((?:${GOALS})\\b.+)$`, ([, what], { name }) =>
    statement('is trying to', wished(what!, name), 0.7),
  ),
  selfRule(`(?:${AM}hoping|(?:i|we) (?:really |also )*hope) to ((?:${GOALS})\\b.+)$`, ([, what], { name }) =>
    statement('hopes to', wished(what!, name), 0.7),
  ),
  selfRule(
    "(?:i'd|i would|we'd|we would) (?:really |absolutely |also )*(?:love|like) to ((?:really |one day |someday )?"
      + `(?:${GOALS})\\b.+)$`,
    ([, what], { name }) => statement('would like to', wished(what!, name), 0.7),
  ),
]

export const WISHES: Rule[] = [
  selfRule(`(?:i|we) (?:really |also |still |just |definitely )*want to ((?:${GOALS})\\b.+)$`, ([, what], { name }) =>
    statement('wants to', wished(what!, name), 0.7),
  ),
  selfRule(`(?:i|we) (?:also |still )*plan (?:on |to )((?:${GOALS}|${PURSUITS})\\b.+)$`, ([, what], { name }) =>
    statement('is planning to', wished(what!, name), 0.7),
  ),
  amRule(`${AM}planning (?:on |to )((?:${GOALS}|${PURSUITS})\\b.+)$`, ([, what], { name }) =>
    statement('is planning to', wished(what!, name), 0.7),
  ),
  haveRule(
    `${HAVE} been (?:meaning|wanting) to ((?:${GOALS}|read|watch|start reading|start watching)\\b.+)$`,
    ([, what], { name }) => statement('has been meaning to', wished(what!, name), 0.7),
  ),
  selfRule(
    `i (?:really |seriously |just )?(?:can't|cannot|can not) wait (?:(?:to ((?:${GOALS})\\b.+))|for `
      + `((?:my|our|summer|spring|winter|fall|\\p{L}+ season|graduation).*))$`,
    ([, doing, what], { name }) =>
      statement(
        'looks forward to',
        doing ? wished(`to ${doing}`, name) : (wished(`${what}`, name) ?? thing(what!, name)),
        0.7,
      ),
  ),
  myRule(
    "(.+?)(?:'s| is| are) (?:next(?: up)? |high |still |definitely |also |at the top )*(?:on|of) my bucket ?list\\b.*$",
    ([, what], { name }) =>
      statement(
        'has on the bucket list',
        /^(?:it|that|this|which|what|they|the|an?|these)\b/i.test(what!) ? null : thing(what!, name),
        0.8,
      ),
  ),
  amRule(`${AM}(?:finally )?moving (?:back |out )?to (.+)$`, ([, where]) =>
    statement('is moving to', place(where!), 0.8),
  ),
  amRule(`${AM}(?:excited|thrilled|stoked) (?:for|about) ((?:my|the) .+|\\p{L}+ing .+)$`, ([, what], { name }) =>
    statement('looks forward to', wished(what!, name), 0.7),
  ),
  myRule(
    "(?:one of )?my (?:main |biggest |other |first )?(?:new year'?s? )?(goals?|dreams?|resolutions?|ambitions?)"
      + "(?: (?:for|in) [^,]{1,30}?| this year| one day| in life)?(?:'s| is| are| has always been) (.+)$",
    ([, kind, what], { name }) =>
      statement(`has the ${kind!.toLowerCase().replace(/s$/, '')}`, wished(what!, name), 0.8),
  ),
]
