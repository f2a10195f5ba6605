// Packing of word vectors: the embedder reads the packed words and vectors, and packing is reproducible byte for byte.

import { describe, expect, it } from 'vitest'
import { dot } from '../../../src/runtime/unit-vector.ts'
import { pack, readEntries } from '../../../scripts/pack-word-vectors.ts'
import { parseWordVectors } from '../../../src/text/word-vectors.ts'

const vectorOf = (seed: number) =>
  Array.from({ length: 100 }, (_, d) => Math.round(Math.sin(seed * 100 + d) * 1e5) / 1e5)
const line = (word: string, rank: number) => `"${word}":[${[...vectorOf(rank + 1), 1.5, rank].join(',')}]`
/**
 * Words in the order of the source, numeric keys first, then by rank; some with punctuation, accents or apostrophes.
 */
const SOURCE = `{"dimensions":100,"vectors":{${[
  line('10', 3),
  line('the', 0),
  line(',', 1),
  line('kitten', 2),
  line('caf\\u00e9', 4),
  line("'s", 5),
  line('\\"', 6),
  line('violin', 7),
].join(',')}}}`

/** Splits the text into pieces of this length, which may cut words and numbers. */
async function* inPieces(text: string, length: number) {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length)
}

describe('reading the source of word vectors', () => {
  it.each([1, 97, 1e6])(
    'keeps the words that the tokeniser yields, by rank, for pieces of %i characters',
    async (length) => {
      const { entries, total } = await readEntries(inPieces(SOURCE, length))
      expect(entries.map(({ word, rank }) => [word, rank])).toEqual([
        ['the', 0],
        ['kitten', 2],
        ['10', 3],
        ['violin', 7],
      ])
      expect(entries[1]!.vector).toEqual(Float32Array.from(vectorOf(3)))
      expect(total).toBe(8)
    },
  )
})

describe('a packed file', () => {
  it('contains the words, and their vectors with errors below a hundredth of the largest component', async () => {
    const { entries, total } = await readEntries(inPieces(SOURCE, 1e6))
    const file = pack(entries, total)
    const { dimension, index, rows, common } = parseWordVectors(file, 'packed')
    expect(dimension).toBe(100)
    expect([...index]).toEqual([
      ['the', 0],
      ['kitten', 1],
      ['10', 2],
      ['violin', 3],
    ])
    entries.forEach(({ vector }, i) => {
      const largest = Math.max(...vector.map(Math.abs))
      vector.forEach((x, d) => expect(Math.abs((rows[i * 100 + d]! / 127) * largest - x)).toBeLessThan(largest / 100))
    })
    expect(dot(common, common)).toBeCloseTo(1, 5)
  })

  it('contains lower weights for more frequent words', async () => {
    const { entries, total } = await readEntries(inPieces(SOURCE, 1e6))
    const same = entries.map((entry) => ({ ...entry, vector: entries[0]!.vector }))
    const { weights } = parseWordVectors(pack(same, total), 'packed')
    expect([...weights]).toEqual([...weights].sort((a, b) => a - b))
    expect(weights[0]).toBeLessThan(weights[3]!)
  })

  it('has the same bytes each time it is created', async () => {
    const [one, two] = await Promise.all(
      [97, 1e6].map(async (length) => {
        const { entries, total } = await readEntries(inPieces(SOURCE, length))
        return pack(entries, total)
      }),
    )
    expect(one!.equals(two!)).toBe(true)
  })
})
