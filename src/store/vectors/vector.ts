// Converts vectors to and from pgvector's text and binary forms.

import { fromSql, toSql } from 'pgvector'

/** Formats a vector as text, for a parameter that is cast to `vector` or `halfvec`. */
export const vectorValue = (vector: Float32Array): string => toSql(Array.from(vector))

/** Parses the text of a vector, as selected by `embedding::text`. */
export const vectorFrom = (text: string): Float32Array => Float32Array.from(fromSql(text) as number[])

/** The header of a halfvec in pgvector's binary form: its dimension, and zero, of two bytes each. */
export const HALVES_HEADER = 4

const float = new Float32Array(1)
const bits = new Uint32Array(float.buffer)

/** Returns the bits of the nearest number in half precision. The value must be from −65,504 to 65,504. */
function halfOf(value: number): number {
  float[0] = value
  const all = bits[0]!
  const sign = (all >>> 16) & 0x8000
  const exponent = (all >>> 23) & 0xff
  const mantissa = all & 0x7fffff
  // The rounding may carry into the exponent, which is correct.
  if (exponent > 112) return sign | (((exponent - 112) << 10) + ((mantissa + 0x1000) >>> 13))
  // Subnormal: the mantissa with its implicit bit, shifted by the difference to the smallest normal exponent.
  if (exponent < 102) return sign
  const shift = 126 - exponent
  return sign | (((mantissa | 0x800000) + (1 << (shift - 1))) >>> shift)
}

/** The number of each half-precision value. */
let numbers: Float32Array | null = null

function halfNumbers(): Float32Array {
  const table = new Float32Array(65_536)
  for (let half = 0; half < 65_536; half++) {
    const exponent = (half >>> 10) & 0x1f
    const mantissa = half & 0x3ff
    const size = exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25)
    table[half] = half & 0x8000 ? -size : size
  }
  return table
}

/**
 * Reads the components of a halfvec in pgvector's binary form, which begin at `offset` of `from`, after its header, into
 * `to` at index `at`.
 */
export function readHalves(
  { from, to, dimension }: { from: Uint8Array; to: Float32Array; dimension: number },
  offset: number,
  at: number,
): void {
  const table = (numbers ??= halfNumbers())
  for (let d = 0, byte = offset; d < dimension; d++, byte += 2) {
    to[at + d] = table[(from[byte]! << 8) | from[byte + 1]!]!
  }
}

/**
 * Returns the vectors of one dimension as an array in Postgres' binary form, for a parameter of type halfvec[].
 * @param type the id of the type halfvec in this database
 */
export function halvesArray(vectors: readonly Float32Array[], type: number): Buffer {
  const dimension = vectors[0]?.length ?? 0
  const bytes = HALVES_HEADER + 2 * dimension
  const array = Buffer.allocUnsafe(20 + vectors.length * (4 + bytes))
  // One dimension, no nulls, the type of the elements, their number, and the first index.
  let at = 0
  for (const header of [1, 0, type, vectors.length, 1]) at = array.writeInt32BE(header | 0, at)
  for (const vector of vectors) {
    at = array.writeInt32BE(bytes, at)
    at = array.writeInt32BE(dimension << 16, at)
    for (let d = 0; d < dimension; d++) {
      const half = halfOf(vector[d]!)
      array[at++] = half >>> 8
      array[at++] = half & 0xff
    }
  }
  return array
}
