// The text that a redacted streaming turn publishes before its end: however a text is split, the published pieces join
// to the redacted text.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_HELD, release, WINDOW, type Held } from '../../../../../src/domain/turn/streaming/hold-back.ts'
import { redact, type CustomDetector } from '../../../../../src/text/redact/redact.ts'
import { casesOf } from '../../../../support/long.ts'

const EMPTY: Held = { raw: '', published: 0 }

/** Streams the pieces, and returns the published pieces. */
function stream(pieces: readonly string[], detectors: readonly CustomDetector[] = []): string[] {
  let held = EMPTY
  const published = [...pieces, null].map((piece) => {
    const released = release(held, piece ?? '', detectors, piece === null)
    held = released.held
    return released.text
  })
  expect(held.raw.length).toBe(held.published)
  return published
}

/** Divides a text into pieces of these lengths, repeated. */
function divided(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = []
  for (let at = 0, n = 0; at < text.length; n++) {
    pieces.push(text.slice(at, at + lengths[n % lengths.length]!))
    at += lengths[n % lengths.length]!
  }
  return pieces
}

const VALUES = [
  'ada@example.org',
  '4111 1111 1111 1111',
  '+1 415-555-0132',
  '192.0.2.17',
  '2001:db8::17',
  'password: hunter2x',
  'DE89 3704 0044 0532 0130 00',
  'sk-proj-abcdefghijklmnop1234',
  'postgres://u:s3cretpw@db/x',
  `eyJ${'aB3'.repeat(200)}.eyJ${'cD4'.repeat(300)}.${'eF5'.repeat(40)}`,
  `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEow+abc/12='.repeat(150)}\n-----END RSA PRIVATE KEY-----`,
  'B-1234',
]
const badge: CustomDetector = { kind: 'badge', pattern: /B-\d{4}/ }
const word = fc.constantFrom(
  'the',
  'boat',
  'is',
  'here',
  'Oslo,',
  'and',
  '😀',
  'call',
  'token',
  'naïve',
  '\n',
  'x'.repeat(300),
)
const texts = fc
  .array(fc.oneof({ weight: 6, arbitrary: word }, { weight: 1, arbitrary: fc.constantFrom(...VALUES) }), {
    maxLength: 120,
  })
  .map((words) => words.join(' '))
const lengths = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 })

describe('release', () => {
  it('publishes pieces that join to the redacted text, however the text is split', () => {
    fc.assert(
      fc.property(texts, lengths, (text, each) => {
        expect(stream(divided(text, each), [badge]).join('')).toBe(redact(text, [badge]).text)
      }),
      { numRuns: casesOf(3_000) },
    )
  })

  it('publishes two private keys and what is between them as if they had arrived at once', () => {
    const text = `${VALUES.at(-2)!} B-1234 ${VALUES.at(-2)!}`
    expect(stream(divided(text, [1]), [badge]).join('')).toBe('[SECRET] [BADGE] [SECRET]')
  })

  it('holds back at most MAX_HELD units and the newest piece, and at the end at most half of a surrogate pair', () => {
    const characters = fc.array(
      fc.constantFrom('1', ' ', '-', '@', '.', 'a', ':', '😀', '\ud83d', '0 ', 'ada@ex.org '),
      { maxLength: 800 },
    )
    fc.assert(
      fc.property(characters, lengths, (units, each) => {
        let held = EMPTY
        let published = 0
        for (const piece of divided(units.join(''), each)) {
          const { text, held: next, removed } = release(held, piece, [], false)
          published += removed.length === 0 ? text.length : 0
          held = next
          expect(held.raw.length - held.published).toBeLessThanOrEqual(MAX_HELD + piece.length)
        }
        const rest = release(held, '', [], true)
        expect(rest.held.raw.length - rest.held.published).toBeLessThanOrEqual(1)
      }),
      { numRuns: casesOf(2_000) },
    )
  })

  it('publishes plain words except for the last WINDOW units', () => {
    const text = 'word '.repeat(400)
    const [first] = stream([text])
    expect(text.length - first!.length).toBeGreaterThanOrEqual(WINDOW)
    expect(text.length - first!.length).toBeLessThan(WINDOW + 'word '.length)
  })

  it('holds a private key back until it ends, and removes it once', () => {
    const key = VALUES.at(-2)!
    const pieces = stream(divided(`Here: ${key}. ${'And more '.repeat(60)}`, [100]))
    expect(pieces.join('')).toBe(`Here: [SECRET]. ${'And more '.repeat(60)}`)
  })

  it('publishes the beginning of a word that is longer than MAX_HELD before the word ends', () => {
    const pieces = stream(divided('x'.repeat(3 * MAX_HELD), [1_000]))
    expect(pieces.join('')).toBe('x'.repeat(3 * MAX_HELD))
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(2)
  })

  it('removes the rest of a value that is longer than the window and partly published', () => {
    const long: CustomDetector = { kind: 'long', pattern: /start( \w+)+ end/ }
    const text = `start ${'word '.repeat(60)}end, after`
    const joined = stream(divided(text, [10]), [long]).join('')
    expect(joined).toMatch(/^start word.*\[LONG\], after$/)
    expect(joined.length).toBeLessThan(text.length)
  })

  it('completes a surrogate pair that arrives in halves', () => {
    expect(stream(['a 😀'.slice(0, 3), '😀'.slice(1)]).join('')).toBe('a 😀')
  })
})
