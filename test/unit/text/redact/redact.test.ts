// Redaction: quality on a labelled set, custom detectors, and running time on hostile text.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placeholder, redact } from '../../../../src/text/redact/redact.ts'
import { LABELLED, readLabels } from './redact-labels.ts'

describe('redaction of the labelled set', () => {
  it('misses at most one marked text, and finds at most one unmarked text', () => {
    let right = 0
    const wrong: string[] = []
    const missed: string[] = []
    for (const { text, marks } of LABELLED.map(readLabels)) {
      const key = (list: { kind: string; start: number; end: number }[]) =>
        new Set(list.map(({ kind, start, end }) => `${kind}:${text.slice(start, end)}`))
      const [found, expected] = [key(redact(text).found), key(marks)]
      right += [...found].filter((each) => expected.has(each)).length
      wrong.push(...[...found].filter((each) => !expected.has(each)))
      missed.push(...[...expected].filter((each) => !found.has(each)))
    }
    console.log(
      `redaction, of ${LABELLED.length} sentences: precision ${right}/${right + wrong.length}, `
        + `recall ${right}/${right + missed.length}`,
      { wrong, missed },
    )
    expect(LABELLED.length).toBeGreaterThanOrEqual(100)
    expect(right).toBeGreaterThanOrEqual(56)
    expect(wrong.length).toBeLessThanOrEqual(1)
    expect(missed.length).toBeLessThanOrEqual(1)
  })

  it('replaces each match by a placeholder with its kind', () => {
    expect(redact('Write to ada@example.org or +1 415-555-0132.')).toEqual({
      text: 'Write to [EMAIL] or [PHONE].',
      found: [
        { kind: 'email', start: 9, end: 24 },
        { kind: 'phone', start: 28, end: 43 },
      ],
    })
  })

  it('finds nothing in redacted text', () => {
    for (const { text } of LABELLED.map(readLabels)) {
      const once = redact(text).text
      expect(redact(once)).toEqual({ text: once, found: [] })
    }
  })
})

describe('checksums', () => {
  it('accept one of ten card numbers that differ in the last digit', () => {
    const cards = Array.from({ length: 10 }, (_, digit) => `411111111111111${digit}`)
    expect(cards.filter((card) => redact(card).found.length > 0)).toEqual(['4111111111111111'])
  })

  it('accept one of a hundred IBANs that differ in the check digits', () => {
    const ibans = Array.from({ length: 100 }, (_, n) => `GB${String(n).padStart(2, '0')}WEST12345698765432`)
    expect(ibans.filter((iban) => redact(iban).found.some(({ kind }) => kind === 'iban'))).toHaveLength(1)
  })
})

describe('private keys', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEow+abc/12=\n-----END PRIVATE KEY-----'
  const cut = '-----BEGIN PRIVATE KEY-----\nMIIEow+abc/12='
  it.each([
    [`${key}\nand ${key}`, '[SECRET]\nand [SECRET]'],
    [`${cut}\n${key}!`, '[SECRET][SECRET]!'],
    [`${key} B-1234 ${key}`, '[SECRET] [BADGE] [SECRET]'],
  ])('are removed one by one: %j', (text, expected) => {
    expect(redact(text, [{ kind: 'badge', pattern: /B-\d{4}/ }]).text).toBe(expected)
  })
})

describe('custom detectors', () => {
  it('are patterns with a kind, or functions, and run before the built-in ones', () => {
    const text = 'Employee E-12345 (ada@example.org) of Initech'
    const found = redact(text, [
      { kind: 'staff id', pattern: /\be-\d{5}\b/i },
      (given) => [{ kind: 'company', start: given.indexOf('Initech'), end: given.length }],
      { kind: 'address', pattern: /\([^)]{1,50}\)/y },
    ])
    expect(found.text).toBe('Employee [STAFF ID] [ADDRESS] of [COMPANY]')
  })

  it('leave no part of a built-in value that contains or overlaps theirs', () => {
    const digits = { kind: 'badge', pattern: /\d{4}/ }
    const key = `-----BEGIN PRIVATE KEY-----\nMIIEowIB1234AAKC\n-----END PRIVATE KEY-----`
    expect(redact(`${key}.`, [digits]).text).toBe('[SECRET][BADGE][SECRET].')
    const last = { kind: 'name', pattern: /example\.org is/ }
    expect(redact('ada@example.org is', [last]).text).toBe('[EMAIL][NAME]')
  })

  it('may return invalid matches, which are ignored', () => {
    const ranges = [
      [-1, 3],
      [0, 99],
      [2, 2],
      [3, 1],
      [0.5, 2],
      [NaN, NaN],
    ]
    const detector = () => ranges.map(([start, end]) => ({ kind: 'x', start: start!, end: end! }))
    expect(redact('nothing', [detector]).text).toBe('nothing')
  })

  it('may match the empty text, and may have a kind that the placeholder cannot contain', () => {
    expect(redact('abc', [{ kind: 'x', pattern: /q*/ }]).text).toBe('abc')
    expect([placeholder('a]b\n'), placeholder('123')]).toEqual(['[AB]', '[REDACTED]'])
  })
})

describe('redaction of any text', () => {
  it('finds ordered matches without overlap, and leaves the rest unchanged', () => {
    const pieces = fc.constantFrom(
      'ada@example.org',
      '4111 1111 1111 1111',
      '+1 415-555-0132',
      '192.0.2.1',
      'password: abc1',
      ' ',
      '1',
      '-',
      ':',
      '@',
      'x',
      '.',
      '::1',
      'DE89 3704 0044 0532 0130 00',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const text = parts.join('')
        const { found, text: redacted } = redact(text)
        let rest = ''
        let last = 0
        for (const { start, end, kind } of found) {
          expect(start).toBeGreaterThanOrEqual(last)
          rest += text.slice(last, start) + placeholder(kind)
          last = end
        }
        expect(redacted).toBe(rest + text.slice(last))
      }),
    )
  })
})

describe('256 KiB of hostile text', () => {
  it.each([
    'a',
    '1',
    '@',
    'a@',
    'a.',
    '1 ',
    '1-',
    '1.',
    ':',
    '1:',
    'a1',
    'aA1',
    '::1',
    '+1',
    '(1',
    'DE89',
    'DE89 ',
    'sk-',
    'eyJ',
    'eyJaaaaaaaaaa.eyJ',
    'password ',
    'password=',
    '://a:',
    '-----BEGIN PRIVATE KEY-----',
    'tel 1',
    '\n',
    ' ',
    'a@b.',
    '4111 ',
    '4111111111111112 ',
    'AB12 CDEF ',
    'é',
    '😀',
    'is ',
    '"',
    'token is ',
  ])('of repeated %j is redacted within the timeout, which only linear time allows', (part) => {
    const text = part.repeat(Math.ceil(262_144 / part.length))
    expect(redact(text)).toBeDefined()
  })
})
