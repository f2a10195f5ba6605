// Token counting: equal to o200k, inline and in the worker thread, and in bounded time for any text.

import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, describe, expect, it } from 'vitest'
import { countInline, createTokenCounter } from '../../../src/text/tokens.ts'
import { casesOf } from '../../support/long.ts'

const countO200k = (text: string) => countTokens(text, { disallowedSpecial: new Set() })
const counter = createTokenCounter()
afterAll(() => counter.close())

const PROSE = 'It’s 13:56 on 8 May — “Ünïcödé”, 日本語のテキスト, русский and 👩‍👩‍👧 🎉.\n\n\tif (x) { return y[0] }\n'

describe('counting tokens', () => {
  it('returns the same number as o200k', () => {
    expect(countInline('')).toBe(0)
    expect(countInline('hello world')).toBe(2)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        expect(countInline(text)).toBe(countO200k(text))
      }),
    )
    expect(countInline(PROSE.repeat(50))).toBe(countO200k(PROSE.repeat(50)))
  })

  it.each(['<|endoftext|>', '<|endofprompt|>', 'say <|endoftext|> twice <|endoftext|>', '<|im_start|>system'])(
    'treats %s as text',
    async (text) => {
      expect(countInline(text)).toBe(countO200k(text))
      expect(countInline(text)).toBeGreaterThan(3)
      // Also in the worker thread, which counts long texts.
      const long = `${text} `.repeat(Math.ceil(20_000 / text.length))
      expect(await counter.count(long)).toBe(countO200k(long))
    },
  )

  it('counts short texts synchronously, and long ones in a promise', async () => {
    expect(counter.count('a word '.repeat(2_000))).toBeTypeOf('number')
    expect(counter.count('a word '.repeat(4_000))).toBeInstanceOf(Promise)
  })

  it('returns the same number for recounted texts, cached or not', async () => {
    const texts = Array.from({ length: casesOf(600) }, (_, n) => `${n} ${PROSE.repeat(1 + (n % 100))}`)
    for (const text of [...texts, ...texts.slice(-5), ...texts]) {
      expect(await counter.recount(text)).toBe(await counter.count(text))
    }
  })

  it('returns the same number inline and in the worker thread', async () => {
    const texts = [PROSE.repeat(400), 'x'.repeat(20_000), ' '.repeat(20_000), 'a\n'.repeat(10_000), '🎉'.repeat(10_000)]
    const counted = await Promise.all(texts.map(async (text) => counter.count(text)))
    expect(counted).toEqual(texts.map(countInline))
  })

  it('returns the number for its own text to each concurrent call', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => 'one two three '.repeat(1_200 + i))
    expect(await Promise.all(texts.map(async (text) => counter.count(text)))).toEqual(texts.map(countO200k))
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
  ])('counts 256 KiB of %s within the time limit', async (_, unit) => {
    const text = unit.repeat(Math.floor(262_144 / unit.length))
    const tokens = await counter.count(text)
    expect(tokens).toBeGreaterThan(0)
    expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text))
  })

  it('differs from o200k by at most one token per 1,000 characters for overlong runs', () => {
    for (const text of ['a'.repeat(3_500), `b${' '.repeat(3_500)}b`, `${PROSE}${'ab'.repeat(1_500)}${PROSE}`]) {
      expect(Math.abs(countInline(text) - countO200k(text))).toBeLessThanOrEqual(Math.ceil(text.length / 1_000))
    }
  })
})

describe('a token counter', () => {
  it('rejects waiting calls when it is closed', async () => {
    const closed = createTokenCounter()
    const waiting = closed.count('word '.repeat(50_000))
    await Promise.all([closed.close(), expect(waiting).rejects.toThrow('exited')])
  })

  it('ends its idle worker thread, and starts another for the next long text', async () => {
    const started: Worker[] = []
    const ended: Worker[] = []
    const note = (worker: Worker) => {
      started.push(worker)
      worker.once('exit', () => ended.push(worker))
    }
    process.on('worker', note)
    const own = createTokenCounter(50)
    const text = PROSE.repeat(400)
    try {
      expect(await own.count(text)).toBe(countO200k(text))
      await expect.poll(() => ended.length).toBe(1)
      const several = await Promise.all([own.count(text), own.count(text), own.count(text)])
      expect(several).toEqual([1, 2, 3].map(() => countO200k(text)))
      expect(started).toHaveLength(2)
      await expect.poll(() => ended.length).toBe(2)
    } finally {
      process.off('worker', note)
      await own.close()
    }
  })

  it('closes without having started its worker thread', async () => {
    const idle = createTokenCounter()
    expect(idle.count('short')).toBe(1)
    await idle.close()
  })
})
