// A token bucket: the tokens that are taken at once and over time, and the pauses of what is charged afterwards.

import { describe, expect, it } from 'vitest'
import { createBucket } from '../../../../src/runtime/limits/bucket.ts'

const SIZE = { tokens: 5_000, fillMs: 10_000 }

describe('a bucket', () => {
  const taken = (bucket: ReturnType<typeof createBucket>, count: number, now: number) =>
    Array.from({ length: count }, () => bucket.take(now)).filter(Boolean).length

  it('gives all its tokens at once, and then as many as flow in', () => {
    const bucket = createBucket(SIZE)
    expect(taken(bucket, 10_000, 5)).toBe(5_000)
    expect(taken(bucket, 10_000, 1_005)).toBe(500)
    expect(taken(bucket, 10_000, 1_000_005)).toBe(5_000)
  })

  it('gives a token each time that one has flowed in, without end', () => {
    const bucket = createBucket(SIZE)
    for (let n = 0; n < 20_000; n++) expect(bucket.take(n * 2)).toBe(true)
  })

  it('is full if no tokens were taken, and again when they have flowed in', () => {
    const bucket = createBucket(SIZE)
    expect(bucket.isFull(0)).toBe(true)
    bucket.take(0)
    expect([0, 1, 2].map((now) => bucket.isFull(now))).toEqual([false, false, true])
  })

  it('owes tokens that were used before it had them, and no more of them than the maximum', () => {
    const bucket = createBucket({ tokens: 10, fillMs: 10 })
    expect(bucket.charge(10, 100, 100, 50)).toBe(0)
    expect(bucket.charge(20, 100, 105, 50)).toBe(15)
    expect(bucket.take(120)).toBe(false)
    expect(bucket.take(121)).toBe(true)
    expect(bucket.charge(1_000, 200, 200, 50)).toBe(50)
    expect(bucket.take(251)).toBe(true)
  })
})
