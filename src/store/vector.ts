// Vectors as values of statements, in pgvector's text form, and the product that compares them in memory.

import { fromSql, toSql } from 'pgvector'

/** One vector, for a parameter that is cast to `vector`. */
export const vectorValue = (vector: Float32Array): string => toSql(Array.from(vector))

/** One vector from its text, as `embedding::text` gives it. */
export const vectorFrom = (text: string): Float32Array => Float32Array.from(fromSql(text) as number[])

/** The sum of products: of unit vectors, the cosine of their angle. `b` begins at `from`. */
export function dotAt(a: Float32Array, b: Float32Array, from: number): number {
  const end = a.length & ~3
  // Four sums at once: the processor need not wait for one addition to begin the next.
  let s0 = 0,
    s1 = 0,
    s2 = 0,
    s3 = 0
  let d = 0
  for (let at = from; d < end; d += 4, at += 4) {
    s0 += a[d]! * b[at]!
    s1 += a[d + 1]! * b[at + 1]!
    s2 += a[d + 2]! * b[at + 2]!
    s3 += a[d + 3]! * b[at + 3]!
  }
  for (; d < a.length; d++) s0 += a[d]! * b[from + d]!
  return s0 + s1 + s2 + s3
}
