// The frames of experiences and former habits: "I've never been to …", "I used to play …".

import { denial, during, frame, type Frame, type Scene } from './frame.ts'
import { PLAYED } from '../lists.ts'
import { properName, standalone, wholeName } from '../sentences/objects.ts'
import { place } from '../places.ts'
import { FORMER, PAST_TENSE, PERFECT } from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'
import { RELATIVE } from '../times.ts'

/** Objects of "I've never …": something of a kind, not a certain thing. */
const OF_A_KIND = new RegExp(
  String.raw`^(?:an? |any |\p{Lu}|to (?:\p{Lu}|the \p{Lu}|an? )|on an? |with an? |(?!(?:to|the|this|`
    + String.raw`that|my|in|on|at|for|with|of|been|it|out|up|down|back|through|much|many|over|around|by|`
    + String.raw`from|about|as|like|so|here|there)\b)\p{L}+)`,
  'u',
)
const BEFORE = /,? (?:before|yet|in my life|in my entire life|either|at all|until now|so far|myself|though)$/i

/** Objects that are no experiences: "much trouble", "a good time lately". */
const NO_EXPERIENCE = new RegExp(
  String.raw`^(?:sure|able|bad|good|more|much|many|so|too|fully|part|really|anything)\b|`
    + String.raw`\b(?:problems?|issues?|chance|time|idea|luck|trouble|reason|experience)\b|\b(?:much|`
    + String.raw`enough|lately|in (?:a|years|so|forever|months))\b`,
  'i',
)

function experience({ name, predication }: Scene): Statement | null {
  const { verb, form, isDenied } = predication
  const rest = predication.rest.replace(BEFORE, '')
  if (!OF_A_KIND.test(rest) || RELATIVE.test(rest)) return null
  const object = standalone(rest.replace(/^any (?:of )?/i, ''), name)
  if (object === null || NO_EXPERIENCE.test(object)) return null
  const [, to = '', thing = object] =
    verb === 'be' || verb === 'travel' || verb === 'go' ? (/^(to) (.+)$/.exec(object) ?? []) : []
  if (
    isDenied
    && !predication.adverbs.some((each) => each === 'never' || each === 'ever')
    && !/^(?:be|try|visit|own|travel)$/.test(verb)
  )
    return null
  if (verb === 'be' && to === '' && !/^(?:on|in|an?)\b/.test(object)) return null
  const predicate = [verb === 'be' ? 'been' : form, to].filter(Boolean).join(' ')
  return isDenied ? statement(`has never ${predicate}`, thing, 0.85) : statement(`has ${predicate}`, thing, 0.8)
}
/** Verbs of experiences. */
const EXPERIENCES =
  'be|visit|try|play|eat|see|watch|read|own|ride|travel|learn|drink|have|go|do|drive|live|'
  + 'hike|camp|surf|ski|fly|cook|bake|celebrate|date|perform|taste|climb'

const PLAYS = new RegExp(`^(?:${PLAYED})$`, 'i')
const PARTICIPLES: Record<string, string> = { go: 'gone', eat: 'eaten', see: 'seen' }

/** Verbs that need an object. "The cartoons I used to watch on weekends" is part of another clause. */
const TRANSITIVE = /^(?:watch|play|like|love|hate|own|have|collect|wear|do|drink|teach|read)$/

/** Returns the statement, with the verb in the predicate, so that "used to play" contradicts "plays". */
function usedTo(scene: Scene): Statement | null {
  const { predication, name } = scene
  const rest = predication.rest
    .replace(/,? when (?:i|we) (?:was|were) .*$/i, '')
    .replace(/ (?:a lot|all the time|as a kid|as a child|growing up|back then|too)$/i, '')
  if (
    /^(?:it|so|that|be (?:so|really|very))\b/i.test(rest)
    || (predication.verb === 'be' && !/^(?:an?|in an?|on the)\b/.test(rest))
  )
    return null
  const object = rest === '' ? null : standalone(rest, name)
  if (TRANSITIVE.test(predication.verb) && /^(?:on|in|at|for|with|to|by|during|when)\b/i.test(rest)) return null
  const isGame = predication.verb === 'play' && object !== null && /^\p{Ll}+$/u.test(object)
  return object && !(isGame && !PLAYS.test(object))
    ? during(scene, statement(`used to ${predication.verb}`, object, 0.85))
    : null
}

export const EXPERIENCE_FRAMES: Frame[] = [
  // Former habits and experiences
  frame(
    'like|love|hate|play|dance|collect|swim|own|work|sing|run|draw|paint|write|read|watch|'
      + 'drink|smoke|teach|do|ski|skate|go|have|believe|wear|ride|bake|cook|compete|train|surf|box|'
      + 'wrestle|coach|volunteer|babysit|fear|be|dislike|study|listen|garden|hike|travel',
    FORMER,
    '',
    usedTo,
  ),
  frame(EXPERIENCES, PERFECT, '', (scene, what) => {
    if (scene.predication.verb !== 'be') {
      const isNamed =
        /^(?:the )?\p{Lu}/u.test(what)
        && /^(?:visit|see|watch|read|try|travel|hike|climb|play|meet)$/.test(scene.predication.verb)
      return isNamed
        && !/ (?:today|and|but)\b/.test(what)
        && wholeName(what.replace(/ (?:before|twice|once|already|(?:many|several|three|a few|\d) times)$/i, ''))
        ? experience({
            ...scene,
            predication: {
              ...scene.predication,
              rest: what.replace(/ (?:twice|once|already|(?:many|several|three|a few|\d) times)$/i, ''),
            },
          })
        : null
    }
    const [, where] =
      /^to (.+?)(?: (?:before|twice|once|(?:many|several|three|a few|multiple|\d) times))?$/i.exec(what) ?? []
    const found = where === undefined ? null : (properName(where) ?? place(where))
    return statement('has been to', found, 0.85)
  }),
  denial(EXPERIENCES, PERFECT, '', experience),
  denial('have|try|own|learn|go|eat|see|watch|read|play', PAST_TENSE, '', (scene) =>
    scene.predication.adverbs.includes('never')
    && (scene.predication.adverbs.includes('ever') || scene.predication.verb === 'learn')
      ? experience({
          ...scene,
          predication: { ...scene.predication, form: PARTICIPLES[scene.predication.verb] ?? scene.predication.form },
        })
      : null,
  ),
]
