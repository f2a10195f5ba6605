// The content hash, compared with values computed by Python's hashlib, and the normalisation and limits of a fact's
// texts.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  contentHash,
  MAX_LENGTHS,
  normaliseText,
  statementShape,
} from '../../../../../src/domain/memory/fact/content-hash.ts'

const schema = z.object(statementShape)
const NO_PERIOD = { validFrom: null, validTo: null }
const statement = (subject: string, predicate: string, object: string) => ({ subject, predicate, object })

describe('the content hash', () => {
  it.each([
    ['Ada', 'lives in', 'Berlin', 'f541a61393d8a5571e2cf88039a4d2b8'],
    ['  ADA ', 'Lives   in', 'BERLIN\n', 'f541a61393d8a5571e2cf88039a4d2b8'],
    ['Zoë', 'mag', 'Äpfel & Öl', '804484c31bdef1028e518191b7d68234'],
    ['王芳', '住在', '北京', '577dd756738325fcb22b54de04131cea'],
    ['İpek', 'is', 'ΣΊΣΥΦΟΣ', 'cdeff52858283f89b8cdbbaed6cccffb'],
    ['a', 'b c', 'd', 'f82ce1b653e30b1ceb5711bbf75965dd'],
    ['a b', 'c', 'd', 'f82ce1b653e30b1ceb5711bbf75965dd'],
    ['👩\u200d🚀', 'flies to', '🚀 Mars', '3280b111d8959b23dfde77a72114725d'],
  ])('of %j %j %j is %s', (subject, predicate, object, hash) => {
    expect(contentHash(statement(subject, predicate, object))).toBe(hash)
  })

  it.each([
    ['case', statement('ADA', 'Lives In', 'bErLiN')],
    ['surrounding space', statement(' Ada ', 'lives in\n', '\tBerlin ')],
    ['repeated inner space', statement('Ada', 'lives \u00a0\n in', 'Berlin')],
  ])('ignores %s', (_, other) => {
    expect(contentHash(other)).toBe(contentHash(statement('Ada', 'lives in', 'Berlin')))
  })

  it('distinguishes accents, punctuation and every other word', () => {
    const others = ['Bérlin', 'Berlin.', 'Berlin, Germany', 'Ber lin']
    const hashes = others.map((object) => contentHash(statement('Ada', 'lives in', object)))
    expect(new Set([...hashes, contentHash(statement('Ada', 'lives in', 'Berlin'))]).size).toBe(5)
  })

  it('of a fact with a period contains the period', () => {
    const rome = statement('Ada', 'lives in', 'Rome')
    const [validFrom, validTo] = [new Date('2024-05-01'), new Date('2025-01-01')]
    expect(contentHash({ ...rome, ...NO_PERIOD })).toBe(contentHash(rome))
    // printf 'ada lives in rome 2024-05-01T00:00:00.000Z/..' | sha256sum
    expect(contentHash({ ...rome, validFrom, validTo: null })).toBe('2acb85e7baa96abdc97e6152d29a3abf')
    const hashes = [{}, { validFrom }, { validTo }, { validFrom, validTo }].map((period) =>
      contentHash({ ...rome, ...period }),
    )
    expect(new Set(hashes).size).toBe(4)
  })

  it('is the same before and after a fact is stored, for all valid texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), (text) => {
        const read = schema.safeParse(statement('Ada', 'says', text))
        if (!read.success) return
        expect(read.data.object).toBe(normaliseText(read.data.object))
        expect(contentHash(schema.parse(read.data))).toBe(contentHash(read.data))
        expect(contentHash(read.data)).toMatch(/^[0-9a-f]{32}$/)
      }),
    )
  })
})

describe('the texts of a fact', () => {
  it.each([
    ['in composed form', 'Ame\u0301lie', 'Am\u00e9lie'],
    ['on one line', 'likes\r\n\ttea\u2028and cake', 'likes tea and cake'],
    ['without invisible characters', 'te\u200ba\u202e\u00ad\u{e0041}\u{e0042}', 'tea'],
    ['with the joiners that scripts and emoji need', '👩\u200d🚀', '👩\u200d🚀'],
    ['in any script', ' 東京\u3000タワー ', '東京 タワー'],
  ])('are stored %s', (_, given, stored) => {
    expect(schema.parse(statement(given, 'is', given))).toEqual({ ...statement(stored, 'is', stored), ...NO_PERIOD })
  })

  it.each([
    ['empty', '', 'must not be empty'],
    ['only spaces', ' \n ', 'must not be empty'],
    ['only invisible characters', '\u200b\u2060', 'must not be empty'],
    ['only punctuation', '—?!', 'must not be empty'],
    ['text with U+0000', 'a\0b', 'must not contain U+0000'],
    ['text with an unpaired surrogate', 'a\ud83d', 'must not contain half of a surrogate pair'],
    ['longer than 200 characters', 'x'.repeat(201), 'must be at most 200 characters'],
    ['a megabyte of spaces', ' '.repeat(1e6), 'must be at most 200 characters'],
  ])('cannot be %s', (_, text, message) => {
    const { error } = schema.safeParse(statement(text, 'is', 'x'))
    expect(error?.issues).toMatchObject([{ path: ['subject'], message }])
  })

  it('may have the maximum length after normalisation', () => {
    const longest = statement(
      's'.repeat(MAX_LENGTHS.subject),
      'p'.repeat(MAX_LENGTHS.predicate),
      'o'.repeat(MAX_LENGTHS.object),
    )
    expect(schema.parse({ ...longest, object: ` ${longest.object}  ` })).toEqual({ ...longest, ...NO_PERIOD })
    expect(schema.safeParse({ ...longest, object: `${longest.object}o` }).success).toBe(false)
  })
})
