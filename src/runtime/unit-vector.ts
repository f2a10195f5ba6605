// Unit vectors: the dot product, and the scaling of a vector to length 1.

/**
 * Returns the dot product of `a` and the part of `b` that starts at index `from`. For unit vectors, this is the cosine
 * of their angle.
 */
export function dot(a: Float32Array, b: Float32Array, from = 0): number {
  const end = a.length & ~3
  // Four independent sums, so that the processor can overlap the additions.
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

/** Scales the vector to length 1, in place. A nearly zero vector becomes 0: its direction is a rounding error. */
export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  if (length < 1e-6) return vector.fill(0)
  for (let d = 0; d < vector.length; d++) vector[d]! /= length
  return vector
}
