// The cues of a turn, stored as bits: properties of its text beyond single words.

import { describe, expect, it } from 'vitest'
import { Cue, cuesOf } from '../../../src/domain/indexing/cues.ts'

const { ASKS, TELLS_TIME, TELLS_AMOUNT, TELLS_NAME } = Cue

describe('the cues of a turn', () => {
  it('have distinct bits with the same values as in the database', () => {
    expect(Cue).toEqual({ ASKS: 1, TELLS_TIME: 2, TELLS_AMOUNT: 4, TELLS_NAME: 8 })
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
    ['We went yesterday.', TELLS_TIME],
    ['We met in MAY.', TELLS_TIME],
    ['It was in 2019.', TELLS_TIME | TELLS_AMOUNT],
    ['They sundayed.', 0],
    ['There are 12 of them.', TELLS_AMOUNT],
    ['a couple of cats', TELLS_AMOUNT],
    ['someone is often lonely', 0],
    ['I went with Carla.', TELLS_NAME],
    ['Well, Berlin it is.', TELLS_NAME],
    ['Carla went. She liked it.', 0],
    ['I went with Ann and Lee.', 0],
    ['The "late" Ángel came.', TELLS_NAME],
    ['Did you meet Carla twice last week?', ASKS | TELLS_TIME | TELLS_AMOUNT | TELLS_NAME],
  ])('of %j are the bits %d', (text, cues) => {
    expect(cuesOf(text, new Set(['ann', 'lee']))).toBe(cues)
  })
})
