// The 50,000 most frequent words of English news with their vectors, from word-vectors.bin, which
// scripts/pack-word-vectors.ts writes. The static embedder uses the vectors, and spelling.ts the words.

import { readFileSync } from 'node:fs'

const FILE = new URL('./word-vectors.bin', import.meta.url)

/**
 * The file's first four bytes, the version of its layout, and the size of its header. Its numbers are little-endian;
 * pack-word-vectors.ts describes the layout.
 * @internal Exported for pack-word-vectors.ts.
 */
export const MAGIC = 'CQWV'
/** @internal Exported for pack-word-vectors.ts. */
export const LAYOUT = 1
/** @internal Exported for pack-word-vectors.ts. */
export const HEADER_BYTES = 24

/**
 * The parameter a of a word's weight a / (a + p), where p is the word's probability; the paper's usual value
 * (providers/static/embedder.ts). Stop words have weight 0, because the probabilities come from news, in which words of
 * chats such as "yeah" are too rare.
 * @internal Exported for pack-word-vectors.ts.
 */
export const SIF_A = 1e-3

export type WordVectors = {
  dimension: number
  /** Row number of each word: 0 for the most frequent one. */
  index: Map<string, number>
  /** The rows: `dimension` signed bytes for each word. Shares the file's memory. */
  rows: Int8Array
  /** Factor of each row: its scale times the weight of its word. */
  weights: Float32Array
  /** Unit vector of the component common to all texts, which is subtracted from the vector of each text. */
  common: Float32Array
}

let shared: WordVectors | undefined

/** Returns the word vectors of the file, which is read once, in about 20 ms. @throws Error if the file is invalid */
export function wordVectors(): WordVectors {
  shared ??= parseWordVectors(readFileSync(FILE), FILE.pathname)
  return shared
}

/**
 * Parses a file of word vectors. Errors contain `name`. @throws Error if the file has another layout or size
 * @internal Exported for tests.
 */
export function parseWordVectors(file: Buffer, name: string): WordVectors {
  const fail = (why: string) =>
    new Error(`${name} is not a file of word vectors: ${why}. Check it out again, or run \`npm run word-vectors\`.`)
  if (file.length < HEADER_BYTES || file.toString('latin1', 0, 4) !== MAGIC)
    throw fail(`it does not begin with ${MAGIC}`)
  if (file.readUInt16LE(4) !== LAYOUT) throw fail(`its layout is ${file.readUInt16LE(4)}, not ${LAYOUT}`)
  const dimension = file.readUInt16LE(6)
  const count = file.readUInt32LE(8)
  const textBytes = file.readUInt32LE(12)
  const total = HEADER_BYTES + 4 * dimension + 8 * count + dimension * count + textBytes
  if (file.length !== total) throw fail(`it has ${file.length} bytes, not ${total}`)

  let at = HEADER_BYTES
  const floats = (length: number): Float32Array => {
    const values = new Float32Array(length)
    for (let i = 0; i < length; i++, at += 4) values[i] = file.readFloatLE(at)
    return values
  }
  const common = floats(dimension)
  const scales = floats(count)
  const probabilities = floats(count)
  const rows = new Int8Array(file.buffer, file.byteOffset + at, dimension * count)
  const index = new Map<string, number>()
  const text = file.toString('latin1', at + rows.length)
  let begin = 0
  for (let i = 0; i < count; i++) {
    const end = text.indexOf('\n', begin)
    index.set(text.slice(begin, end), i)
    begin = end + 1
  }
  if (index.size !== count) throw fail(`it names ${index.size} words, not ${count}`)
  const weights = scales.map((scale, i) => (scale * SIF_A) / (SIF_A + probabilities[i]!))
  return { dimension, index, rows, weights, common }
}
