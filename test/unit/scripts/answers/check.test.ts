// The check of `npm run check:answers` must find each kind of violation.

import { expect, it } from 'vitest'
import { violationsOf, type Row } from '../../../../scripts/answers/check.ts'
import { answerTo, questionOf } from '../../../../scripts/answers/question.ts'

const text = questionOf(7)
const answer = { id: 'a', actor: 'bot', status: 'COMMITTED', text: answerTo(text).join('') }
const aborted = { ...answer, id: 'b', status: 'ABORTED', text: '7 times 7 ' }
const right: Row = {
  id: 'q',
  text,
  replies: [answer],
  claim: { outcome: 'ANSWERED', answerId: 'a' },
  claimed: 1,
  released: 0,
  isWaiting: false,
}

it.each<[Partial<Row>, string[]]>([
  [{}, []],
  [{ replies: [aborted, answer], claimed: 2, released: 1 }, []],
  [
    { replies: [], claim: null, claimed: 0, released: 0 },
    [
      'has 0 committed answers',
      'has a claim that is live, answered by nothing',
      'has 0 entries CLAIMED and 0 CLAIM_RELEASED',
    ],
  ],
  [{ replies: [answer, { ...answer, id: 'c' }] }, ['has 2 committed answers']],
  [{ replies: [{ ...answer, text: '7 times 7 is' }] }, ['is answered with "7 times 7 is"']],
  [{ replies: [answer, { ...aborted, status: 'STREAMING' }] }, ['has the reply b, which is STREAMING']],
  [{ replies: [{ ...answer, actor: 'eve' }] }, ['is answered by eve']],
  [{ claim: { outcome: 'EXPIRED', answerId: null } }, ['has a claim that is EXPIRED, answered by nothing']],
  [{ claimed: 3, released: 1 }, ['has 3 entries CLAIMED and 1 CLAIM_RELEASED']],
  [{ isWaiting: true }, ['waits for an answer']],
])('the check of a question with %j reports %j', (change, problems) => {
  expect(violationsOf([{ ...right, ...change }], [{ entries: 4, lastSeq: 4 }])).toEqual(
    problems.map((each) => `q ${each}`),
  )
})

it('the check finds a gap in a journal', () => {
  expect(violationsOf([right], [{ entries: 3, lastSeq: 4 }])).toEqual(['a journal has 3 entries, but last seq 4'])
})
