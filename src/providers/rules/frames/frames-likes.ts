// The frames of likes, dislikes and values: "I love …", "I can't stand …", "I cherish …".

import { denial, frame, SIMPLE, type Frame } from './frame.ts'
import { properName, standalone } from '../sentences/objects.ts'
import { ABILITY, PAST_TENSE, PERFECT, PRESENT } from '../sentences/predication.ts'
import { statement } from '../rule.ts'
import { liking, topic } from '../tastes.ts'
import { thirdPerson } from '../sentences/verbs.ts'

/** Effects that do not say on what: "making a difference". */
const IMPACT = /^(?:mak|hav)ing an? (?:\p{L}+ )?(?:impact|difference|change)$/iu
/** A comparison: "I like dogs better". */
const BETTER = /^(.+?) (?:better|more)(?: than .+)?$/i

export const LIKES_FRAMES: Frame[] = [
  // Likes and dislikes
  frame('like|love|enjoy', PRESENT, '', ({ name }, what) => {
    const better = BETTER.exec(what)?.[1]
    return better === undefined ? null : statement('prefers', liking(better, name))
  }),
  frame('like|love|enjoy|adore', SIMPLE, '(?:doing )?', (scene, what) =>
    scene.predication.tense === PERFECT
      ? scene.predication.adverbs.includes('always')
        ? statement(`has always ${scene.predication.form}`, liking(what, scene.name), 0.85)
        : null
      : statement('likes', liking(what, scene.name)),
  ),
  frame('hate|dislike|detest|loathe', PRESENT, '(?:(?:the taste|the smell) of)?', ({ name }, what) =>
    statement('dislikes', liking(what, name)),
  ),
  denial('like|love|enjoy|stand', PRESENT | ABILITY, '(?:(?:the taste|the smell) of)?', ({ name, predication }, what) =>
    (predication.tense === ABILITY) === (predication.verb === 'stand')
      ? statement('dislikes', liking(what, name))
      : null,
  ),
  frame('prefer', PRESENT, '', ({ name }, what) => statement('prefers', liking(what, name))),
  frame('prefer', PRESENT, '', ({ name }, what) =>
    statement('prefers', /^to\b/.test(what) ? null : liking(what.replace(/ (?:over|to|than) .*$/i, ''), name)),
  ),
  frame('crave', PRESENT, '', ({ name, predication }, what) =>
    statement('likes', predication.adverbs.includes('always') ? liking(what, name) : null),
  ),
  denial(
    'eat|drink|smoke|drive|celebrate|wear|own|believe',
    PRESENT,
    '(?:any |in |much )?',
    ({ predication, name }, what) => {
      const { verb } = predication
      const plain = what.replace(/^(?:at all|any ?more)$/i, '')
      if (plain === '') return statement('does not', /^(?:smoke|drive|drink)$/.test(verb) ? verb : null, 0.85)
      return verb === 'own' || verb === 'believe'
        ? null
        : statement(`does not ${verb}`, /^(?:and|or)\b/i.test(plain) ? null : standalone(plain, name))
    },
  ),
  denial('watch|play|read', PRESENT, '(?:any )?', ({ predication, name }, what) =>
    statement(
      `does not ${predication.verb}`,
      /^(?:\p{L}+s|tv|anime|\p{L}+ball|\p{L}+ games)$/iu.test(what) ? standalone(what, name) : null,
      0.85,
    ),
  ),
  frame('love|enjoy', PAST_TENSE, '', ({ name, predication }, what) => {
    const isNamed = properName(what.replace(/^(?:reading|watching|visiting|playing) /u, '')) !== null
    const isNone = /['’]s\b|^(?:every|each|all|some|any|how|when|it|that)\b/i.test(what)
    return isNamed && !isNone ? statement(predication.form, standalone(what, name), 0.75) : null
  }),
  // Values
  frame('cherish|value|treasure', PRESENT, '', ({ name }, what) => statement('values', topic(what, name), 0.85)),
  frame('care', PRESENT, '(?:deeply |a lot |so |very much )*about', ({ name }, what) =>
    statement('cares about', IMPACT.test(what) ? null : topic(what, name), 0.85),
  ),
  frame('believe', PRESENT, "in(?! (?:me|us|you|them|him|her|myself|god's)\\b)", ({ name }, what) =>
    statement('believes in', topic(what, name), 0.8),
  ),
  frame('look', PRESENT, 'up to', ({ name }, what) => statement('looks up to', standalone(what, name), 0.8)),
  frame('admire', PRESENT, '', ({ name }, what) => statement('looks up to', standalone(what, name), 0.75)),
  frame('miss', PRESENT, '', ({ name }, what) =>
    statement('misses', /^(?:my|living|playing|working|\p{Lu})/u.test(what) ? liking(what, name) : null, 0.75),
  ),
  frame('suffer|struggle', PRESENT, '(?:from|with)', ({ name, predication }, what) =>
    statement(`${thirdPerson(predication.verb)} with`, standalone(what, name), 0.8),
  ),
]
