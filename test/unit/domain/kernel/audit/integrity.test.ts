// The hash chain of the audit log: verification detects each kind of tampering, and lines without the current key.

import { describe, expect, it } from 'vitest'
import { chain, verify, type Verified } from '../../../../../src/domain/kernel/audit/integrity.ts'

const KEY = Buffer.alloc(32, 1)
const START: Verified = { seq: 0, hash: '', keyedFrom: null }

const line = (verb: string) => ({
  tenant: 't',
  at: new Date('2026-01-02T03:04:05.678Z'),
  actor: 'ann',
  actedAs: null,
  credential: 'key:1',
  verb,
  resources: ['conv_1'],
  outcome: 'DONE' as const,
  count: 1,
  details: null,
})

const linesOf = (key: Buffer | null) => chain(key, START, ['a', 'b', 'c', 'd'].map(line))

describe.each([
  ['a key', KEY],
  ['no key', null],
])('the chain of the audit log with %s', (_, key) => {
  const lines = linesOf(key)

  it('is verified in one call or in several', () => {
    const all = verify(key, START, lines)
    expect(all).toEqual({ seq: 4, hash: lines[3]!.hash, keyedFrom: key ? 1 : null })
    const half = verify(key, START, lines.slice(0, 2)) as Verified
    expect(verify(key, half, lines.slice(2))).toEqual(all)
  })

  it('continues an earlier chain', () => {
    const more = chain(key, { seq: 4, hash: lines[3]!.hash }, [line('e')])
    expect(verify(key, START, [...lines, ...more])).toMatchObject({ seq: 5 })
  })

  it.each([
    ['removed', () => lines.toSpliced(1, 1), { seq: 2, reason: 'MISSING' }],
    ['swapped', () => [lines[0]!, lines[2]!, lines[1]!, lines[3]!], { seq: 2, reason: 'MISSING' }],
    [
      'renumbered after a removal',
      () => lines.toSpliced(1, 1).map((each, index) => ({ ...each, seq: index + 1 })),
      { seq: 2, reason: 'CHANGED' },
    ],
    [
      'swapped and renumbered',
      () => [lines[0]!, lines[2]!, lines[1]!, lines[3]!].map((each, index) => ({ ...each, seq: index + 1 })),
      { seq: 2, reason: 'CHANGED' },
    ],
  ])('reports lines that were %s', (__, tamper, broken) => {
    expect(verify(key, START, tamper())).toEqual(broken)
  })

  it.each([
    { tenant: 'u' },
    { at: new Date(0) },
    { actor: 'bob' },
    { actedAs: 'bob' },
    { credential: null },
    { verb: 'x' },
    { resources: [] },
    { outcome: 'DENIED' as const },
    { count: 2 },
    { details: '{}' },
    { hash: '0'.repeat(64) },
  ])('reports a line with a field changed to %j', (change) => {
    expect(verify(key, START, lines.with(2, { ...lines[2]!, ...change }))).toEqual({ seq: 3, reason: 'CHANGED' })
  })
})

describe('the key of the chain', () => {
  it('detects lines that were written with another key or without one', () => {
    expect(verify(KEY, START, linesOf(Buffer.alloc(32, 2)))).toEqual({ seq: 1, reason: 'CHANGED' })
    const keyed = linesOf(KEY)
    const unkeyed = chain(null, { seq: 2, hash: keyed[1]!.hash }, [line('c')])
    expect(verify(KEY, START, [...keyed.slice(0, 2), ...unkeyed])).toEqual({ seq: 3, reason: 'NOT_KEYED' })
  })

  it('is needed to verify keyed lines', () => {
    expect(verify(null, START, linesOf(KEY))).toEqual({ seq: 1, reason: 'KEY_MISSING' })
  })

  it('can be set later; verification then returns the first keyed line', () => {
    const plain = linesOf(null)
    const keyed = chain(KEY, { seq: 4, hash: plain[3]!.hash }, [line('e')])
    expect(verify(KEY, START, [...plain, ...keyed])).toMatchObject({ seq: 5, keyedFrom: 5 })
  })
})
