// The entry of a turn in the word index. Its numbers are stored, so they must be the same in every server version.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cue } from '../../../../../src/domain/memory/indexing/cues.ts'
import { indexEntry, MAX_INDEXED_UNITS, searchedText } from '../../../../../src/domain/memory/indexing/index-entry.ts'
import { hashTerm, salted, saltOf } from '../../../../../src/text/words/hashed-terms.ts'
import { backends, type Opened } from '../../../../support/backend.ts'
import { sql } from '../../../../support/sql.ts'

const EXTREMES = [0, 1, -1, 2_147_483_647, -2_147_483_648, hashTerm('tulip'), hashTerm('fence')]

describe('the index entry of a turn', () => {
  it('hashes words by FNV-1a, to numbers that never change', () => {
    // The published values of 32-bit FNV-1a, which apply to ASCII.
    expect(['', 'a', 'foobar'].map((text) => hashTerm(text) >>> 0)).toEqual([0x811c9dc5, 0xe40c292c, 0xbf9cf968])
    expect(['tulip', 'zoë', '猫', '🐈'].map(hashTerm)).toEqual([-386_321_525, 377_293_815, 780_935_338, -1_020_358_112])
  })

  it('contains the hashed stems of the actor and the text, in order, with repetitions', () => {
    expect(indexEntry('Ada', 'The tulips! I planted tulips.')).toEqual({
      terms: ['ada', 'tulip', 'plant', 'tulip'].map(hashTerm),
      cues: Cue.STATES_SELF,
    })
    expect(indexEntry('bob', 'of the').terms).toEqual([hashTerm('bob')])
    expect(indexEntry('the', '')).toEqual({ terms: [], cues: 0 })
  })

  it('contains the captions of files before the text', () => {
    const file = { type: 'file', mediaType: 'image/png', url: 'x-b:c', caption: 'Tulips at a fence' }
    const entry = indexEntry('ada', 'Do you like it?', { parts: [{ type: 'text', text: 'Do you like it?' }, file] })
    expect(entry).toEqual({ terms: ['ada', 'tulip', 'fenc', 'like'].map(hashTerm), cues: Cue.ASKS })
    expect(
      indexEntry('ada', 'Hi', { parts: [{ type: 'data', data: 1, caption: 'Tulips' }, null, { ...file, caption: 7 }] }),
    ).toEqual(indexEntry('ada', 'Hi'))
  })

  it("contains the cues, ignoring the actor's own name", () => {
    expect(indexEntry('Ada Byron', 'Is that for Ada Byron?').cues).toBe(Cue.ASKS)
    expect(indexEntry('Ada Byron', 'Is that for Carla?').cues).toBe(Cue.ASKS | Cue.STATES_NAME)
  })

  it(`covers the first ${MAX_INDEXED_UNITS} UTF-16 units of a long text`, () => {
    const kept = `${'x'.repeat(MAX_INDEXED_UNITS - 7)} tulip`
    expect(kept.length).toBeLessThan(MAX_INDEXED_UNITS)
    expect(indexEntry('ada', `${kept} fence?`).terms).toEqual(indexEntry('ada', kept).terms)
    expect(indexEntry('ada', `${kept} fence?`).cues).toBe(0)
  })

  it('is salted by tenant and owner', () => {
    const salts = [saltOf('acme', 'ada'), saltOf('acme', 'bob'), saltOf('acmea', 'da'), saltOf('ada', 'acme')]
    expect(new Set(salts).size).toBe(4)
    expect(saltOf('acme', 'ada')).toBe(hashTerm('acme\0ada'))
  })

  it.each(EXTREMES)('is restored by salting it a second time with %d', (salt) => {
    expect(salted(salted(EXTREMES, salt), salt)).toEqual(EXTREMES)
    expect(salted([], salt)).toEqual([])
  })
})

const FILE = { type: 'file', mediaType: 'image/png', url: 'x-b:c' }
const CONTENTS: [text: string, parts: unknown][] = [
  ['Hi', null],
  ['', []],
  [
    'Hi',
    [
      { ...FILE, caption: 'A fence' },
      { type: 'text', text: 'Hi' },
      { ...FILE, caption: 'Ümläut "2"\n\\' },
    ],
  ],
  ['', [{ ...FILE, caption: '' }]],
  [
    'Hi',
    [FILE, { ...FILE, caption: null }, { ...FILE, caption: 7 }, { type: 'data', data: 1, caption: 'x' }, null, 'file'],
  ],
  ['Hi', { type: 'file', caption: 'x' }],
]

describe.each(backends)('the SQL function `searched_text` on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  it.each(CONTENTS)('returns the same as searchedText for %j with the parts %j', async (text, parts) => {
    const found = await sql(opened.pool).query('SELECT searched_text($1, $2::jsonb) AS text', [
      text,
      parts === null ? null : JSON.stringify(parts),
    ])
    expect(found.rows[0].text).toBe(searchedText(text, parts))
  })
})

describe.each(backends)('the SQL function `salted` on $name', ({ open }) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.close())

  const inSql = async (terms: number[] | null, salt: number) =>
    (await sql(opened.pool).query('SELECT salted($1::integer[], $2) AS terms', [terms, salt])).rows[0].terms

  it('returns the same numbers as the TypeScript function, in the same order', async () => {
    for (const salt of EXTREMES) expect(await inSql(EXTREMES, salt)).toEqual(salted(EXTREMES, salt))
  })

  it('maps null to null and an empty array to an empty array', async () => {
    expect(await inSql([], 7)).toEqual([])
    expect(await inSql(null, 7)).toBeNull()
  })
})
