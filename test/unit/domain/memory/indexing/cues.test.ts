// The cues of a turn, stored as bits: properties of its text beyond single words.

import { describe, expect, it } from 'vitest'
import { Cue, cuesOf } from '../../../../../src/domain/memory/indexing/cues.ts'

const { ASKS, STATES_TIME, STATES_AMOUNT, STATES_NAME, STATES_SELF } = Cue

describe('the cues of a turn', () => {
  it('have distinct bits with fixed values, because they are stored', () => {
    expect(Cue).toEqual({ ASKS: 1, STATES_TIME: 2, STATES_AMOUNT: 4, STATES_NAME: 8, STATES_SELF: 16 })
  })

  it.each<[text: string, cues: number]>([
    ['', 0],
    ['Thanks, that is good.', 0],
    ['Did you go?', ASKS],
    ['Did you go?  \n', ASKS],
    ['Did you?\n[image: a cat]', ASKS],
    ['Did you?\nI did.', STATES_SELF],
    ['You did? Good.', 0],
    ['[image: a cat?]', 0],
    ['We went yesterday.', STATES_TIME | STATES_SELF],
    ['We met in MAY.', STATES_TIME | STATES_SELF],
    ['It was in 2019.', STATES_TIME | STATES_AMOUNT],
    ['They sundayed.', 0],
    ['There are 12 of them.', STATES_AMOUNT],
    ['a couple of cats', STATES_AMOUNT],
    ['someone is often lonely', 0],
    ['I went with Carla.', STATES_NAME | STATES_SELF],
    ['Well, Berlin it is.', STATES_NAME],
    ['Carla went. She liked it.', 0],
    ['I went with Ann and Lee.', STATES_SELF],
    ['The "late" Ángel came.', STATES_NAME],
    ['Did you meet Carla twice last week?', ASKS | STATES_TIME | STATES_AMOUNT | STATES_NAME],
    ['im tired', STATES_SELF],
    ['ive seen that', STATES_SELF],
    ['That is not mine', STATES_SELF],
    ['Amid the miles', 0],
    ['Wir waren gestern in Lübeck.', STATES_TIME | STATES_NAME | STATES_SELF],
    ['Der Hund hat zwei Knochen.', STATES_AMOUNT],
    ['Das Haus steht am Wald, bei der Mühle.', 0],
    ['Elle arrive mardi avec ses trois enfants', STATES_TIME | STATES_AMOUNT],
    ["J'ai faim", STATES_SELF],
    ['Hier ist es schön', 0],
    ['hier il a plu', STATES_TIME],
    ['¿Vienes con tu hermano?', ASKS],
    ['Mi madre llega el lunes', STATES_TIME | STATES_SELF],
    ['A minha irmã tem dois gatos', STATES_AMOUNT | STATES_SELF],
    ['La mia casa è grande', STATES_SELF],
    ['I bambini dormono già', 0],
    ['Ik kom morgen', STATES_TIME | STATES_SELF],
    ['Мы купили три билета', STATES_AMOUNT | STATES_SELF],
    ['我昨天去了医院', STATES_TIME | STATES_SELF],
    ['你去吗？', ASKS],
    ['私の猫です', STATES_SELF],
    ['もう行きましたか。', ASKS],
    ['어제 우리는 갔어', STATES_TIME | STATES_SELF],
    ['هل أنت بخير؟', ASKS],
  ])('of %j are the bits %d', (text, cues) => {
    expect(cuesOf(text, new Set(['ann', 'lee']))).toBe(cues)
  })
})
