// The frames of homes: "I live in …", "I moved to …", "I grew up in …".

import { during, denial, DONE, frame, NOW, since, timeOf, type Frame } from './frame.ts'
import { standalone } from '../sentences/objects.ts'
import { dwelling, place } from '../places.ts'
import { FORMER, FUTURE, PAST_TENSE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { statement } from '../rule.ts'

const LATELY = /,? (?:anymore|any ?more|any longer)\b.*$/i

export const HOME_FRAMES: Frame[] = [
  // Homes
  frame('live|reside', NOW, 'in', (scene, what) =>
    during(scene, statement('lives in', place(what) ?? dwelling(what, scene.name), 0.95)),
  ),
  frame('live', PRESENT | PROGRESSIVE, 'alone|by myself|on my own|on campus|off campus', ({ predication }) =>
    statement(
      'lives',
      /campus/i.exec(predication.rest) ? predication.rest.split(' ').slice(0, 2).join(' ') : 'alone',
      0.85,
    ),
  ),
  frame('live', PRESENT | PROGRESSIVE, 'with', ({ name }, what) =>
    statement(
      'lives with',
      /^(?:my|an?|two|three|four|\d|roommates|friends)\b/i.test(what) ? standalone(what, name) : null,
      0.85,
    ),
  ),
  frame('live', PRESENT | PROGRESSIVE, 'near|close to|next to', ({ name }, what) =>
    statement(
      'lives near',
      /^(?:here|there|work|me|you)\b/i.test(what) ? null : (place(what) ?? standalone(what, name)),
      0.85,
    ),
  ),
  frame('live|reside', PAST_TENSE, 'in', (scene, what) =>
    during(scene, statement('lived in', place(timeOf(what, scene.at, true).text), 0.85)),
  ),
  denial('live|reside', PRESENT | PROGRESSIVE, 'in', ({ predication }, what) =>
    statement(
      LATELY.test(what) || predication.adverbs.includes('no longer') ? 'no longer lives in' : 'does not live in',
      place(what.replace(LATELY, '')),
    ),
  ),
  frame('live', FORMER, 'in', (scene, what) => during(scene, statement('no longer lives in', place(what)))),
  frame('move|relocate', DONE, '(?:back |out |here |over )?(?:from [^,]{1,40}? )?to', (scene, what) => {
    const { time, text } = timeOf(scene.predication.rest, scene.at, true)
    const where = place(what)
    return where && text !== '' ? since(statement('lives in', where, 0.85), time) : null
  }),
  frame('move', DONE, 'away from|out of', (_, what) => statement('no longer lives in', place(what), 0.85)),
  frame('move|relocate', PROGRESSIVE | FUTURE, '(?:back |out |over )?(?:from [^,]{1,40}? )?to', (_, what) =>
    statement('is moving to', place(what), 0.75),
  ),
  frame('grow', PAST_TENSE, 'up in', (scene, what) =>
    statement('grew up in', place(what) ?? dwelling(what, scene.name)),
  ),
  frame('come', PRESENT, '(?:originally )?from', ({ name }, what) =>
    statement('comes from', place(what) ?? (/^(?:an?|the) .*\p{Lu}/u.test(what) ? standalone(what, name) : null)),
  ),
  frame('come', PAST_TENSE, '(?:originally )?from', (_, what) => statement('comes from', place(what))),
]
