// Vectors on their way to and from the database, in its binary forms: as text, a vector costs more to write and to read
// than to compare.

const REAL = 700

/** One vector, for a parameter of type `vector`. */
export function vectorParameter(vector: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(4 + 4 * vector.length)
  bytes.writeInt16BE(vector.length, 0)
  bytes.writeInt16BE(0, 2)
  for (let d = 0; d < vector.length; d++) bytes.writeFloatBE(vector[d]!, 4 + 4 * d)
  return bytes
}

/** One vector, as `vector_send` sends it. */
export function vectorOf(bytes: Buffer): Float32Array {
  const vector = new Float32Array(bytes.readInt16BE(0))
  for (let d = 0; d < vector.length; d++) vector[d] = bytes.readFloatBE(4 + 4 * d)
  return vector
}

/** Several of one dimension, end to end, for a parameter of type `real[]`. */
export function vectorsParameter(vectors: readonly Float32Array[]): Buffer {
  const count = vectors.reduce((sum, { length }) => sum + length, 0)
  const bytes = Buffer.allocUnsafe(20 + 8 * count)
  // Dimensions, null flag, element type, length, lower bound; then each element after its length.
  for (const [i, word] of [1, 0, REAL, count, 1].entries()) bytes.writeInt32BE(word, 4 * i)
  let at = 20
  for (const vector of vectors) {
    for (let d = 0; d < vector.length; d++, at += 8) {
      bytes.writeInt32BE(4, at)
      bytes.writeFloatBE(vector[d]!, at + 4)
    }
  }
  return bytes
}

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
