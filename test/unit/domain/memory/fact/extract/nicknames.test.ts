// Short names of participants, learned from how others address them.

import { describe, expect, it } from 'vitest'
import { nicknamesIn, withoutNickname } from '../../../../../../src/domain/memory/fact/extract/nicknames.ts'

const person = (actor: string, displayName: string | null = null) => ({ actor, displayName })
const MELANIE = person('u1', 'Melanie Ortiz')
const ROBERT = person('robert')
const PEOPLE = [MELANIE, ROBERT, person('u3', 'Caroline')]

describe('the names by which a turn addresses others', () => {
  it.each([
    ['Hey Mel! How are you?', [['u1', 'Mel']]],
    ['Thanks so much, Mel.', [['u1', 'Mel']]],
    ['Mel, did you see Bob?', [['u1', 'Mel']]],
    ['That was great. Bob, you are the best', [['robert', 'Bob']]],
    ['Hi Lanie, are you there?', [['u1', 'Lanie']]],
    ['See you tomorrow, Bob!', [['robert', 'Bob']]],
    ['привет Mel', [['u1', 'Mel']]],
    ['I met Mel yesterday.', []],
    ['Hey Melanie!', []],
    ['Hey man!', []],
    ['hey mel', []],
    ['Hi Caro, this is about a caravan.', []],
    ['Thanks, Amsterdam, Rob.', [['robert', 'Rob']]],
  ])('%s', (text, expected) => {
    const actor = text.includes('Caro') ? 'u3' : 'u9'
    expect(nicknamesIn({ actor, text }, PEOPLE).map(({ actor, name }) => [actor, name])).toEqual(expected)
  })

  it('are none of two participants for whom they may be short', () => {
    expect(nicknamesIn({ actor: 'u9', text: 'Hey Mel!' }, [MELANIE, person('u2', 'Melvin')])).toEqual([])
    expect(nicknamesIn({ actor: 'u9', text: 'Hey Mel!' }, [MELANIE, person('mel')])).toEqual([])
  })
})

describe('a subject', () => {
  const nicknames = [{ actor: 'u1', name: 'Mel' }]
  it.each([
    ['Mel', 'Melanie Ortiz'],
    ['mel', 'Melanie Ortiz'],
    ["Mel's sister", "Melanie Ortiz's sister"],
    ['Melanie', 'Melanie'],
    ['Mel Gibson', 'Mel Gibson'],
    ['the train', 'the train'],
  ])('%s becomes %s', (subject, expected) => {
    expect(withoutNickname(subject, nicknames, PEOPLE)).toBe(expected)
  })
})
