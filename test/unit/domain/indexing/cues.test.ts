// The cues of a turn, stored as bits: properties of its text beyond single words.

import { describe, expect, it } from 'vitest'
import { Cue, cuesOf } from '../../../../src/domain/indexing/cues.ts'

const { ASKS, STATES_TIME, STATES_AMOUNT, STATES_NAME } = Cue

describe('the cues of a turn', () => {
  it('have distinct bits with fixed values, because they are stored', () => {
    expect(Cue).toEqual({ ASKS: 1, STATES_TIME: 2, STATES_AMOUNT: 4, STATES_NAME: 8 })
  })

  it.each<[text: string, cues: number]>([
    ['', 0],
    ['Thanks, that is good.', 0],
    ['Did you go?', ASKS],
    ['Did you go?  \n', ASKS],
    ['Did you?\n[image: a cat]', ASKS],
    ['Did you?\nI did.', 0],
    ['You did? Good.', 0],
    ['[image: a cat?]', 0],
    ['We went yesterday.', STATES_TIME],
    ['We met in MAY.', STATES_TIME],
    ['It was in 2019.', STATES_TIME | STATES_AMOUNT],
    ['They sundayed.', 0],
    ['There are 12 of them.', STATES_AMOUNT],
    ['a couple of cats', STATES_AMOUNT],
    ['someone is often lonely', 0],
    ['I went with Carla.', STATES_NAME],
    ['Well, Berlin it is.', STATES_NAME],
    ['Carla went. She liked it.', 0],
    ['I went with Ann and Lee.', 0],
    ['The "late" Ángel came.', STATES_NAME],
    ['Did you meet Carla twice last week?', ASKS | STATES_TIME | STATES_AMOUNT | STATES_NAME],
  ])('of %j are the bits %d', (text, cues) => {
    expect(cuesOf(text, new Set(['ann', 'lee']))).toBe(cues)
  })
})
