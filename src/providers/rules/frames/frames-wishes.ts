// The frames of wishes and projects: "I want to learn …", "I'm working on …", "I'm reading …".

import { DONE, frame, type Frame, type Scene } from './frame.ts'
import { properName, standalone, thing, wholeName } from '../sentences/objects.ts'
import { PAST_TENSE, PERFECT, PERFECT_PROGRESSIVE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { statement } from '../rule.ts'
import { liking } from '../tastes.ts'
import { RELATIVE } from '../times.ts'

const isLong = (what: string) => what.split(' ').length > 1

/** Verbs of wishes that take weeks, with what must not follow. */
const WISHES =
  '(?:(?:go )?(?:take|do|see|tour) .*(?=\\p{Lu})|be (?!able|there|here|done|ready|like|honest|clear|sure|'
  + 'with|in\\b|at\\b|on\\b|the\\b|your|that|so\\b|as\\b|back|home|left)|become|learn|start (?:an?|my|'
  + '\\p{L}+ing)|open|study|work (?:as|at|in|on|for|with|towards?)|adopt|travel|write|build|move|own|'
  + 'help (?!you|him|her|them)|visit|run (?:an?|my)|create|raise|teach|volunteer|get (?:an?|my|into|better|'
  + 'stronger|in shape|married|fit|healthier)|live|give|keep|continue|improve|explore|spread|make (?!sure|it|'
  + 'the|up|out)|lose|gain|save|quit|stop|buy an?|publish|try (?!it|that|this|to|them)|go (?:to (?:college|'
  + '\\p{Lu}|grad)|back to (?:school|college|work)|on an?|vegan|skydiving)|see (?:the )?\\p{Lu}|do an?|'
  + 'have (?:an?|kids|children|my own)|major|maintain|maximi[sz]e|increase|reduce|play|master|join|graduate|'
  + 'retire|apply)'
const ERRAND = new RegExp(
  String.raw`\b(?:difference|bed|sleep|home|shower|nap|errands?|snack|lunch|brunch|dinner|breakfast|`
    + String.raw`break|question|point|sense|call|minute|second|message|list|ready|tonight|today|`
    + String.raw`something|better|some of the|together)\b`,
  'i',
)
/** Reads a lasting wish; null for errands. */
const wished = (what: string, name: string): string | null => {
  const object = ERRAND.test(what) || RELATIVE.test(what) ? null : thing(what, name)
  return object && isLong(object) ? object : null
}

/** Objects of doing that last: "working on my thesis". */
const NO_PROJECT = new RegExp(
  String.raw`^(?:that|this|it|some|(?:the|an?) (?:(?:new|big|small|cool|great|huge) )*(?:project|`
    + String.raw`next|new)\b|something|getting|being|not|one|an? (?:lot|bit))\b`,
  'i',
)
const DURATION = /\b(?:for|since) (?:\d|an?\b|one|two|three|four|five|six|seven|eight|nine|ten|years|months|the)/i

const media = (form: string) => (scene: Scene, what: string) => {
  if (/\b(?:now|today|tonight|this (?:morning|evening)|versus|vs|live)\b/i.test(what)) return null
  // Chats write titles without a capital: "I'm currently reading pachinko".
  const isTitle = scene.predication.adverbs.includes('currently') && /^\p{Ll}{4,}$/u.test(what) && !what.endsWith('s')
  const title = isTitle ? what : (wholeName(what) ?? (/^\p{Lu}|^the \p{Lu}/u.test(what) ? properName(what) : null))
  return title
    && !/^(?:Netflix|YouTube|TV|Instagram|TikTok|music|that|this|them|something|anime|manga|fiction)$/i.test(title)
    ? statement(`${form} ${scene.predication.form}`, title, 0.75)
    : null
}

/** Decisions of a moment: "to get a snack". */
const OF_THE_MOMENT = new RegExp(
  String.raw`^(?:just )?(?:pick|give|put|see|leave|let|skip|wait|look|check|play|buy|get|go|try|stay|`
    + String.raw`take|do|have|make (?:some|a)|watch|eat|order)\b`,
  'i',
)

export const WISH_FRAMES: Frame[] = [
  // Wishes and projects
  frame('want', PRESENT, `to (?=${WISHES})`, ({ name }, what) =>
    statement('wants to', wished(what.replace(/^go (?=take|do|see|tour)/, ''), name), 0.75),
  ),
  frame('want', PERFECT, 'to', ({ name, predication }, what) =>
    statement('has always wanted to', predication.adverbs.includes('always') ? wished(what, name) : null, 0.8),
  ),
  frame('want', PERFECT, '(?=an? )', ({ name, predication }, what) =>
    statement('has always wanted', predication.adverbs.includes('always') ? standalone(what, name) : null, 0.8),
  ),
  frame('learn', PROGRESSIVE | PERFECT_PROGRESSIVE, '(?!a lot|so much|about it)', ({ name }, what) =>
    statement('is learning', DURATION.test(what) ? null : standalone(what, name), 0.8),
  ),
  frame(
    'work|train|save|prepare|look|bulk',
    PROGRESSIVE | PERFECT_PROGRESSIVE,
    '(?:up )?(on|for|into|towards?)',
    ({ name, predication }, what, [to]) =>
      /^(?:work (?:on|towards?)|train for|bulk for|save for|prepare for|look into)$/.test(
        `${predication.verb} ${to!.toLowerCase()}`,
      )
      && !DURATION.test(what)
      && !NO_PROJECT.test(what)
        ? statement(`is ${predication.form} ${to!.toLowerCase()}`, standalone(what, name), 0.8)
        : null,
  ),
  frame(
    'mentor|research|practice|practise|teach|coach|foster|write|renovate',
    PROGRESSIVE | PERFECT_PROGRESSIVE,
    '',
    ({ name, predication }, what) =>
      statement(
        `is ${predication.form}`,
        DURATION.test(what) || NO_PROJECT.test(what) || /^\p{Ll}+$/u.test(what) ? null : standalone(what, name),
        0.8,
      ),
  ),
  frame('get', PROGRESSIVE | PERFECT_PROGRESSIVE, 'into', ({ name }, what) =>
    statement('is getting into', NO_PROJECT.test(what) ? null : liking(what, name), 0.8),
  ),
  frame('get', PAST_TENSE | PERFECT, '(?:really |back )?into', ({ name }, what) =>
    statement('got into', NO_PROJECT.test(what) ? null : liking(what.replace(/ as a (?:new )?hobby$/i, ''), name), 0.8),
  ),
  frame('read|watch|rewatch|reread|play|binge', PROGRESSIVE, '', media('is')),
  frame('read|watch|rewatch|reread|play|binge', PERFECT_PROGRESSIVE, '', media('has been')),
  frame('decide|agree', DONE, '(to|on|against)', ({ name }, what, [to]) =>
    statement(`decided ${to!.toLowerCase()}`, OF_THE_MOMENT.test(what) ? null : thing(what, name), 0.85),
  ),
]
