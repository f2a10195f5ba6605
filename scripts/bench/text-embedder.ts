// The embedder that both sides use. A vector is the sum of a random direction for each word, so equal texts have equal
// vectors, and texts that share words are close to each other.

import type { Embedder } from '../../src/providers/ports/embedder.ts'
import { unit } from '../../src/runtime/unit-vector.ts'

const DIMENSION = 384

const directions = new Map<string, Float32Array>()

/** The direction of a word, drawn by Park and Miller's generator from a seed that the word determines. */
function directionOf(word: string): Float32Array {
  const known = directions.get(word)
  if (known) return known
  let state = 1
  for (const character of word) state = (state * 31 + character.charCodeAt(0)) % 2_147_483_647
  const direction = Float32Array.from({ length: DIMENSION }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647 - 0.5
  })
  directions.set(word, direction)
  return direction
}

export function vectorOf(text: string): Float32Array {
  const sum = new Float32Array(DIMENSION)
  for (const word of text.split(' ')) {
    const direction = directionOf(word)
    for (let at = 0; at < DIMENSION; at++) sum[at]! += direction[at]!
  }
  return unit(sum)
}

export const textEmbedder: Embedder = {
  name: 'bench-words-1',
  dimension: DIMENSION,
  batch: 1_000,
  embed: async (texts) => texts.map(vectorOf),
  close: async () => {},
}
