// Headings of sentences, settled issues, and the form of a summary with headings.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  condensed,
  headingOf,
  HEADINGS,
  isSameMatter,
  isSettling,
  matterOf,
  readMinutes,
  writeMinutes,
  type Heading,
  type Minutes,
} from '../../../../src/text/dates/minutes.ts'

describe('the heading of a sentence', () => {
  it.each<[Heading, string]>([
    ['Decisions', 'We decided to book the flight on Friday.'],
    ['Decisions', 'The board has approved the budget.'],
    ['Decisions', 'Decision: the door stays red.'],
    ['Decisions', "Let's go with the second offer."],
    ['Decisions', 'Tuesday works for everyone.'],
    ['Decisions', 'Okay, Lisbon it is!'],
    ['Open issues', 'I still need to choose a hotel.'],
    ['Open issues', "We haven't decided who pays."],
    ['Open issues', "I'm not sure whether the door is wide enough."],
    ['Open issues', 'We are waiting for the permit of the city.'],
    ['Open issues', 'Who will bring the tent?'],
    ['Open issues', 'Should we take the early train?'],
    ['Next steps', 'I will send the contract tomorrow.'],
    ['Next steps', 'The deadline is 30 November.'],
    ['Next steps', 'Please book the room by Monday.'],
    ['Next steps', 'The review is on March 3.'],
    ['Topic', 'The weather was lovely in the mountains.'],
    ['Topic', 'How was your weekend?'],
    ['Topic', 'We went to the lake on Sunday and swam.'],
    ['Topic', 'Nobody works on a Saturday.'],
    ['Topic', 'I like tea with honey.'],
  ])('is %s for %j', (heading, sentence) => {
    expect(headingOf(sentence)).toBe(heading)
  })
})

describe('an open issue', () => {
  it.each<[isSettled: boolean, issue: string, later: string]>([
    [true, 'I still need to choose a hotel.', 'I booked the hotel at the lake.'],
    [true, "It's unclear which disk fails.", 'We found the disk: it is the third one.'],
    [false, 'I still need to choose a hotel.', 'The hotel has a garden.'],
    [false, 'I still need to choose a hotel.', 'Did you book the hotel?'],
    [false, 'I still need to choose a hotel.', 'We booked the flight.'],
    [false, 'We need to ask Bob about the venue.', 'Bob paid for lunch.'],
  ])('is settled: %j, %j by %j', (isSettled, issue, later) => {
    const names = ['Ada', 'Bob']
    expect(isSettling(later) && isSameMatter(matterOf(issue, names), matterOf(later, names))).toBe(isSettled)
  })
})

it.each([
  ['Decision: we keep the old door.', 'We keep the old door.'],
  ['The music is open, because the band is ill.', 'The music is open.'],
  ['We meet at noon, because the train arrives on 4 May.', 'We meet at noon, because the train arrives on 4 May.'],
  ['We need to decide which door to paint.', 'We need to decide which door to paint.'],
])('condensed shortens %j to %j', (sentence, short) => {
  expect(condensed(sentence)).toBe(short)
})

describe('a summary with headings', () => {
  const line = fc.stringMatching(/^[a-z]{1,6}: [a-z ]{0,20}[a-z]$/)
  const lines = fc.uniqueArray(line, { maxLength: 4 })
  const minutes = fc
    .tuple(lines, lines, lines, lines)
    .map((all) => Object.fromEntries(HEADINGS.map((heading, i) => [heading, all[i]!])) as Minutes)

  it('is read as it was written', () => {
    fc.assert(
      fc.property(minutes, (written) => {
        expect(readMinutes(writeMinutes(written))).toEqual(written)
      }),
    )
  })

  it('has one heading for each kind of line, also if the parts of two summaries are joined', () => {
    fc.assert(
      fc.property(minutes, minutes, (first, second) => {
        const merged = writeMinutes(readMinutes(`${writeMinutes(first)}\n${writeMinutes(second)}`)).split('\n')
        for (const heading of HEADINGS) expect(merged.filter((each) => each === `${heading}:`).length).toBeLessThan(2)
      }),
    )
  })
})
