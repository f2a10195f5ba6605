// The default embedder: a text's vector is the weighted mean of its words' vectors, less what all texts have in common
// (smooth inverse frequency: Arora, Liang, Ma, "A simple but tough-to-beat baseline for sentence embeddings", 2017).
// No network, no key, no native code. The words' vectors lie beside this file, made by pack-word-vectors.ts.

import { readFile } from 'node:fs/promises'
import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { STOP_WORDS, words } from '../../text/words.ts'
import { createYield } from '../../yield.ts'

/** A new number whenever other vectors are made: by another file, tokeniser, stop list, weight or cap. */
const NAME = 'static-1'
const FILE = new URL('./word-vectors.bin', import.meta.url)

/** The file's first four bytes. All numbers in it are little-endian; pack-word-vectors.ts describes the layout. */
export const MAGIC = 'CQWV'
export const LAYOUT = 1
export const HEADER_BYTES = 24

/**
 * The a of SIF's a / (a + p): a word with this probability weighs half. The paper's usual value. Stop words weigh
 * nothing: the frequencies are those of news, where the I, you and yeah of a chat are rarer than they are here.
 */
export const SIF_A = 1e-3

/** Of a longer text only so many UTF-16 units are read: some 4,000 words, in some 3 ms. A mean of more says no more. */
const READ_UNITS = 24 * 1024

type WordVectors = {
  dimension: number
  /** The row of each word. */
  index: Map<string, number>
  /** Of each word, `dimension` signed bytes. A view on the file: nothing is copied. */
  rows: Int8Array
  /** What a word's row is multiplied by: its scale times its SIF weight. */
  weights: Float32Array
  /** Unit vector that every text's vector is made orthogonal to. */
  common: Float32Array
}

/** Reads the file. Throws where it is damaged. */
export async function createStaticEmbedder(): Promise<Embedder> {
  let vectors: WordVectors | null = parseWordVectors(await readFile(FILE), FILE.pathname)
  return {
    name: NAME,
    dimension: vectors.dimension,
    batch: 64,
    async embed(texts, signal) {
      const made: Float32Array[] = []
      const yieldIfDue = createYield()
      for (const text of texts) {
        await yieldIfDue()
        signal?.throwIfAborted()
        if (!vectors) throw closedProvider('embedder', NAME)
        made.push(embedWords(vectors, words(text.slice(0, READ_UNITS))))
      }
      return made
    },
    async close() {
      vectors = null
    },
  }
}

/** Reads a packed file. Throws where it is none, or was cut short. */
export function parseWordVectors(file: Buffer, name: string): WordVectors {
  const fail = (why: string) =>
    new Error(`${name} holds no word vectors: ${why}. Check it out again, or make it by \`npm run word-vectors\`.`)
  if (file.length < HEADER_BYTES || file.toString('latin1', 0, 4) !== MAGIC) throw fail('it does not begin with CQWV')
  if (file.readUInt16LE(4) !== LAYOUT) throw fail(`its layout is ${file.readUInt16LE(4)}, not ${LAYOUT}`)
  const dimension = file.readUInt16LE(6)
  const count = file.readUInt32LE(8)
  const textBytes = file.readUInt32LE(12)
  const total = HEADER_BYTES + 4 * dimension + 8 * count + dimension * count + textBytes
  if (file.length !== total) throw fail(`it has ${file.length} bytes, not ${total}`)

  let at = HEADER_BYTES
  const floats = (length: number): Float32Array => {
    const taken = new Float32Array(length)
    for (let i = 0; i < length; i++, at += 4) taken[i] = file.readFloatLE(at)
    return taken
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

/** The unit vector of a list of words; all zeros where none of them is known. */
function embedWords({ dimension, index, rows, weights, common }: WordVectors, list: readonly string[]): Float32Array {
  const sum = new Float32Array(dimension)
  for (const word of list) {
    const row = index.get(word)
    if (row === undefined || STOP_WORDS.has(word)) continue
    const weight = weights[row]!
    for (let d = 0, at = row * dimension; d < dimension; d++, at++) sum[d]! += weight * rows[at]!
  }
  const shared = dot(sum, common)
  for (let d = 0; d < dimension; d++) sum[d]! -= shared * common[d]!
  return unit(sum)
}
