// The frames of work and studies: "I work at …", "I quit my job at …", "I'm studying …".

import { denial, DONE, during, frame, NOW, since, timeOf, type Frame } from './frame.ts'
import { properName, standalone, thing } from '../sentences/objects.ts'
import { organisation, indefinite } from '../places.ts'
import { FORMER, PAST_TENSE, PERFECT_PROGRESSIVE, PRESENT, PROGRESSIVE } from '../sentences/predication.ts'
import { statement, type Statement } from '../rule.ts'

const LATELY = /,? (?:anymore|any ?more|any longer)\b.*$/i
/** Places of work, in "I work in a hospital". */
const WORKPLACE = new RegExp(
  String.raw`\b(?:clinic|hospital|school|restaurant|bakery|shop|store|office|lab|laboratory|bank|`
    + String.raw`hotel|library|company|factory|startup|firm|agency|studio|museum|university|college|`
    + String.raw`kitchen|warehouse|daycare|nursery|practice|theat(?:er|re)|bar|cafe|café|salon|gym|`
    + String.raw`pharmacy|court|center|centre)$`,
  'i',
)

const JOB_AT = '(?:a|my|the) (?:\\p{L}+ ){0,2}?(?:job|position|internship) (?:at|with)'

/** Reads "marine biology at Kiel" as a subject and a school. */
function studies({ name }: { name: string }, what: string): Statement[] {
  const [, subject = what, school = ''] = /^(.+?)\s(?:at|for|in)\s(.*)$/i.exec(what) ?? []
  const field = standalone(
    subject.replace(/\s+\p{Lu}\p{L}+$/u, (last) => (/^\p{Lu}/u.test(subject) ? last : '')),
    name,
  )
  const at = /^\p{Lu}/u.test(school) && /\sat\s/i.test(what) ? organisation(school, name) : null
  return field === null || /^(?:an?|my|the|some)\b/i.test(field)
    ? []
    : [statement('studies', field), ...(at ? [statement('studies at', at, 0.85)] : [])]
}

const SCHOOL = /\b(?:university|college|institute|academy|school|tech|polytechnic)\b/i

export const WORK_FRAMES: Frame[] = [
  // Work
  frame('work', NOW, 'at|for', (scene, what, lead) =>
    during(scene, statement('works at', organisation(what, scene.name) ?? (lead ? brand(what) : null))),
  ),
  frame('work', NOW, 'as', (scene, what) =>
    during(
      scene,
      statement(
        'works as',
        thing(what.replace(/^(?:an?|the) /i, '').replace(/\s(?:at|for|in|with)\s.*$/i, ''), scene.name),
      ),
    ),
  ),
  frame('work', NOW, 'in', (scene, what) => {
    const object = standalone(what, scene.name)
    const isField = /^(?:[a-z][\w-]+ ){0,2}[a-z][\w-]+$/.test(what) && !/^(?:the|an?|my)\b/.test(what)
    return during(
      scene,
      statement(
        'works in',
        isField || (object && WORKPLACE.test(object.replace(/ (?:in|at|with|for|near) .*$/i, ''))) ? object : null,
      ),
    )
  }),
  frame('work', PRESENT | PROGRESSIVE, '', ({ predication }) => {
    const [how] =
      /^(?:from home|remotely|part[- ]time|full[- ]time|night shifts?|the night shift|two jobs|three jobs)\b/i.exec(
        predication.rest,
      ) ?? []
    return how ? statement('works', how.toLowerCase(), 0.85) : null
  }),
  frame('work|intern', DONE, '(?:over the summer )?(?:at|for)', (scene, what) => {
    const { text } = timeOf(what, scene.at, true)
    const isIntern = scene.predication.verb === 'intern'
    const object = organisation(text, scene.name)
    return during(scene, statement(isIntern ? 'interned at' : 'worked at', object, 0.8))
  }),
  frame('work', PAST_TENSE, 'as', (scene, what) =>
    during(
      scene,
      statement(
        'worked as',
        standalone(timeOf(what, scene.at, true).text.replace(/\s(?:at|for|in|with)\s.*$/i, ''), scene.name),
        0.8,
      ),
    ),
  ),
  denial('work', PRESENT | PROGRESSIVE, 'at|for', ({ name, predication }, what) =>
    statement(
      LATELY.test(what) || predication.adverbs.includes('no longer') ? 'no longer works at' : 'does not work at',
      organisation(what.replace(LATELY, ''), name),
    ),
  ),
  frame('work', FORMER, 'at|for', (scene, what) =>
    during(scene, statement('no longer works at', organisation(what, scene.name))),
  ),
  frame('quit|leave|resign|lose', DONE, '(?:from )?(?:my|the) job (?:at|with)', ({ name, at }, what) => {
    const { time, text } = timeOf(what, at, true)
    return since(statement('no longer works at', organisation(text, name)), time)
  }),
  frame('get', DONE, '(?:fired from|laid off from)(?: my job at)?', ({ name }, what) =>
    statement('no longer works at', organisation(what, name)),
  ),
  frame('get|land|take|start|accept|have', DONE | PRESENT, JOB_AT, ({ name, at }, what) => {
    const { time, text } = timeOf(what, at, true)
    return since(statement('works at', organisation(text, name)), time)
  }),
  frame('get|have|start', DONE | PRESENT, '(?:an?|my) (?:\\p{L}+ )?job as', ({ name }, what) =>
    statement('works as', thing(what.replace(/^(?:an?|the) /i, '').replace(/\s(?:at|for|in|with)\s.*$/i, ''), name)),
  ),
  frame('start', DONE, '(?:working|work) (?:at|for|with)', ({ name, at }, what) => {
    const { time, text } = timeOf(what, at, true)
    return since(statement('works at', organisation(text, name)), time)
  }),
  // Studies
  frame(
    'study|major',
    PRESENT | PROGRESSIVE | PERFECT_PROGRESSIVE,
    '(?:in )?(?!(?:real |really |very |so |super )?hard|for|at|a lot|so|it|this|that|to|in|all)',
    (scene, what) => studies(scene, what).map((each) => during(scene, each)),
  ),
  frame('minor', PRESENT | PROGRESSIVE, 'in', ({ name }, what) => statement('minors in', standalone(what, name))),
  frame(
    'study|major',
    DONE,
    '(?:in )?(?!(?:real |really |very |so |super )?hard|for|at|a lot|so|it|this|that|to|in|all)',
    (scene, what) => {
      const field = standalone(timeOf(what, scene.at, true).text.replace(/\s(?:at|for|in)\s.*$/i, ''), scene.name)
      return field && !/^(?:an?|my|the|some|how)\b/i.test(field)
        ? during(scene, statement('studied', field, 0.8))
        : null
    },
  ),
  frame('go|attend', NOW, '(?:to (?=\\p{Lu}))?', (scene, what) =>
    during(
      scene,
      statement('studies at', SCHOOL.test(what) && /^\p{Lu}/u.test(what) ? organisation(what, scene.name) : null, 0.85),
    ),
  ),
  frame('enroll|enrol', PROGRESSIVE, 'in', ({ name }, what) =>
    statement('is enrolling in', standalone(what, name), 0.8),
  ),
  frame('graduate', DONE, '(?:from|at)', ({ at }, what) => {
    const { time, text } = timeOf(what, at, true)
    return since(statement('graduated from', properName(text)), time)
  }),
  frame(
    'have|hold|get',
    PRESENT | DONE,
    "(?:an?|my) (?:degree|bachelor'?s?|bachelor'?s degree|master'?s?|master'?s degree|phd|doctorate) in",
    ({ name }, what) => statement('has a degree in', thing(what.replace(/\s(?:from|at)\s.*$/i, ''), name)),
  ),
  frame('volunteer', NOW, 'at|for|with', (scene, what) => {
    const where = thing(what, scene.name)
    return during(scene, statement('volunteers at', where && indefinite(where)))
  }),
  frame('volunteer', NOW, 'as', ({ name }, what) =>
    statement('volunteers as', /^an? /i.test(what) ? thing(what, name) : null, 0.8),
  ),
  frame('own|run', PRESENT, '', ({ name, predication }, what) =>
    // "We own" may be about the speaker's parents.
    !predication.isPlural
    && /^(?:an?|my own|the) /i.test(what)
    && !/\b(?:marathon|race|errands?|risk|bath|fever|mile|tight|little late)\b/i.test(what)
      ? statement(predication.verb === 'own' ? 'owns' : 'runs', standalone(what.replace(/^my own/i, 'a'), name))
      : null,
  ),
]

/** Words after "work at" and "work for" that are no companies. */
const NO_COMPANY = new RegExp(
  String.raw`^(?:home|night|nights|noon|work|once|times|least|all|most|midnight|dawn|weekends?|`
    + String.raw`school|them|him|her|people|free|money|fun|myself|years|months|hours|now|it|this|that|`
    + String.raw`various|different|several|clients?|kids|children|customers?|others)$`,
)

/** A company that is written without a capital: "google". */
function brand(what: string): string | null {
  const [, word] = /^([a-z][a-z0-9&'-]{2,})(?=$|[,.]| (?:and|as|in|now|for|but|so|with)\b)/.exec(what) ?? []
  return word && !NO_COMPANY.test(word) ? word : null
}
