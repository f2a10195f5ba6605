// The default embedder: a text's vector is the weighted mean of its words' vectors, minus the component common to all
// texts (smooth inverse frequency: Arora, Liang, Ma, "A simple but tough-to-beat baseline for sentence embeddings",
// 2017). No network, no key, no native code. scripts/pack-word-vectors.ts writes the word vectors beside this file.

import { readFile } from 'node:fs/promises'
import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { STOP_WORDS, words } from '../../text/words.ts'
import { createYield } from '../../yield.ts'

/** Increase the number with any change of the vectors: another file, tokeniser, stop list, weight or cap. */
const NAME = 'static-1'
const FILE = new URL('./word-vectors.bin', import.meta.url)

/** The file's first four bytes. All numbers in it are little-endian; pack-word-vectors.ts describes the layout. */
export const MAGIC = 'CQWV'
export const LAYOUT = 1
export const HEADER_BYTES = 24

/**
 * The a of SIF's a / (a + p), the paper's usual value: a word with this probability weighs half. Stop words weigh
 * nothing, because the frequencies are those of news, where the I, you and yeah of chats are rarer.
 */
export const SIF_A = 1e-3

/** Maximum UTF-16 units of a text that are read: about 4,000 words, about 3 ms. More words hardly change the mean. */
const READ_UNITS = 24 * 1024

type WordVectors = {
  dimension: number
  /** The row of each word. */
  index: Map<string, number>
  /** `dimension` signed bytes per word. A view of the file, not a copy. */
  rows: Int8Array
  /** The factor of each row: its scale times its SIF weight. */
  weights: Float32Array
  /** Unit vector; every text's vector is made orthogonal to it. */
  common: Float32Array
}

/** Reads the word vectors and creates the embedder. Throws if the file is damaged. */
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

/** Parses a packed file. Throws if it is of another format or truncated. */
export function parseWordVectors(file: Buffer, name: string): WordVectors {
  const fail = (why: string) =>
    new Error(`${name} is not a file of word vectors: ${why}. Check it out again, or run \`npm run word-vectors\`.`)
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

/** Returns the unit vector of a list of words; all zeros if none of them has a vector. */
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
