// Token counting: equal to o200k, inline or in the worker, and in bounded time for any text.

import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, describe, expect, it } from 'vitest'
import { countInline, createTokenCounter } from '../../src/text/tokens.ts'

const plain = (text: string) => countTokens(text, { disallowedSpecial: new Set() })
const counter = createTokenCounter()
afterAll(() => counter.close())

const PROSE = 'It’s 13:56 on 8 May — “Ünïcödé”, 日本語のテキスト, русский and 👩‍👩‍👧 🎉.\n\n\tif (x) { return y[0] }\n'

describe('counting tokens', () => {
  it('equals o200k', () => {
    expect(countInline('')).toBe(0)
    expect(countInline('hello world')).toBe(2)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        expect(countInline(text)).toBe(plain(text))
      }),
    )
    expect(countInline(PROSE.repeat(50))).toBe(plain(PROSE.repeat(50)))
  })

  it.each(['<|endoftext|>', '<|endofprompt|>', 'say <|endoftext|> twice <|endoftext|>', '<|im_start|>system'])(
    'treats %s as text',
    async (text) => {
      expect(countInline(text)).toBe(plain(text))
      expect(countInline(text)).toBeGreaterThan(3)
      // In the worker, too.
      const long = `${text} `.repeat(Math.ceil(20_000 / text.length))
      expect(await counter.count(long)).toBe(plain(long))
    },
  )

  it('returns short counts synchronously, and others as a promise', async () => {
    expect(counter.count('a word '.repeat(2_000))).toBeTypeOf('number')
    expect(counter.count('a word '.repeat(4_000))).toBeInstanceOf(Promise)
  })

  it('is the same from the cache, whose size is bounded', async () => {
    const texts = Array.from({ length: 600 }, (_, n) => `${n} ${PROSE.repeat(1 + (n % 100))}`)
    for (const text of [...texts, ...texts.slice(-50), ...texts]) {
      expect(await counter.recount(text)).toBe(await counter.count(text))
    }
  })

  it('is the same inline and in the worker', async () => {
    const texts = [PROSE.repeat(400), 'x'.repeat(20_000), ' '.repeat(20_000), 'a\n'.repeat(10_000), '🎉'.repeat(10_000)]
    const counted = await Promise.all(texts.map(async (text) => counter.count(text)))
    expect(counted).toEqual(texts.map(countInline))
  })

  it('gives concurrent callers their own results', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => 'one two three '.repeat(1_200 + i))
    expect(await Promise.all(texts.map(async (text) => counter.count(text)))).toEqual(texts.map(plain))
  })

  it.each([
    ['letters', 'a'],
    ['letters of many kinds', 'aB'],
    ['spaces', ' '],
    ['newlines', '\n'],
    ['spaces and newlines', ' \n'],
    ['digits', '7'],
    ['signs', '='],
    ['ideographs', '語'],
    ['emoji', '🎉'],
    ['no-break spaces', '\u00a0'],
    ['marks', '\u0301'],
  ])('ends for 256 KB of nothing but %s', async (_, unit) => {
    const text = unit.repeat(Math.floor(262_144 / unit.length))
    const tokens = await counter.count(text)
    expect(tokens).toBeGreaterThan(0)
    expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text))
  })

  it('overestimates or underestimates overlong runs by at most one token per piece', () => {
    for (const text of ['a'.repeat(3_500), `b${' '.repeat(3_500)}b`, `${PROSE}${'ab'.repeat(1_500)}${PROSE}`]) {
      expect(Math.abs(countInline(text) - plain(text))).toBeLessThanOrEqual(Math.ceil(text.length / 1_000))
    }
  })
})

describe('a token counter', () => {
  it('that is closed rejects waiting calls', async () => {
    const closing = createTokenCounter()
    const waiting = closing.count('word '.repeat(50_000))
    await Promise.all([closing.close(), expect(waiting).rejects.toThrow('exited')])
  })

  it('that never had a long text closes, too', async () => {
    const idle = createTokenCounter()
    expect(idle.count('short')).toBe(1)
    await idle.close()
  })
})
