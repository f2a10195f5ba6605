// The default embedder: a text's vector is the weighted mean of its words' vectors, minus the component common to all
// texts (smooth inverse frequency: Arora, Liang, Ma, "A simple but tough-to-beat baseline for sentence embeddings",
// 2017). Needs no network, key or native code. scripts/pack-word-vectors.ts writes word-vectors.bin.

import { readFile } from 'node:fs/promises'
import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { contentWords } from '../../text/words.ts'
import { createYield } from '../../yield.ts'

/**
 * Name of the embedder with its version. Increase the version with any change that affects vectors: the file,
 * tokenizer, stop words, weights or READ_UNITS.
 */
const NAME = 'static-2'
const FILE = new URL('./word-vectors.bin', import.meta.url)

/**
 * The file's first four bytes, the version of its layout, and the size of its header. Its numbers are little-endian;
 * pack-word-vectors.ts describes the layout.
 */
export const MAGIC = 'CQWV'
export const LAYOUT = 1
export const HEADER_BYTES = 24

/**
 * The parameter a of a word's weight a / (a + p), where p is the word's probability; the paper's usual value. Stop
 * words have weight 0, because the probabilities come from news, in which words of chats such as "yeah" are too rare.
 */
export const SIF_A = 1e-3

/** Maximum number of UTF-16 units read of a text: about 4,000 words or 3 ms. More words hardly change the mean. */
const READ_UNITS = 24 * 1024

type WordVectors = {
  dimension: number
  /** Row number of each word. */
  index: Map<string, number>
  /** The rows: `dimension` signed bytes for each word. Shares the file's memory. */
  rows: Int8Array
  /** Factor of each row: its scale times the weight of its word. */
  weights: Float32Array
  /** Unit vector of the component common to all texts, which is subtracted from the vector of each text. */
  common: Float32Array
}

/** The word vectors, which all static embedders of the process share while one of them exists. */
let shared: WeakRef<WordVectors> | undefined

/** Returns the shared word vectors, or reads them from the file. @throws Error if the file is invalid */
async function readWordVectors(): Promise<WordVectors> {
  const loaded = shared?.deref()
  if (loaded) return loaded
  const vectors = parseWordVectors(await readFile(FILE), FILE.pathname)
  shared = new WeakRef(vectors)
  return vectors
}

/** Reads the word vectors and creates the embedder. @throws Error if the file is invalid */
export async function createStaticEmbedder(): Promise<Embedder> {
  let vectors: WordVectors | null = await readWordVectors()
  return {
    name: NAME,
    dimension: vectors.dimension,
    batch: 128,
    async embed(texts, signal) {
      const embedded: Float32Array[] = []
      const yieldIfDue = createYield()
      for (const text of texts) {
        await yieldIfDue()
        signal?.throwIfAborted()
        if (!vectors) throw closedProvider('embedder', NAME)
        embedded.push(embedWords(vectors, contentWords(text.slice(0, READ_UNITS))))
      }
      return embedded
    },
    async close() {
      vectors = null
    },
  }
}

/** Parses a file of word vectors. Errors contain `name`. @throws Error if the file has another layout or size */
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

/** Returns the unit vector of the words, or zeros if none of them has a vector. */
function embedWords({ dimension, index, rows, weights, common }: WordVectors, list: readonly string[]): Float32Array {
  const sum = new Float32Array(dimension)
  for (const word of list) {
    const row = index.get(word)
    if (row === undefined) continue
    const weight = weights[row]!
    for (let d = 0, at = row * dimension; d < dimension; d++, at++) sum[d]! += weight * rows[at]!
  }
  const along = dot(sum, common)
  for (let d = 0; d < dimension; d++) sum[d]! -= along * common[d]!
  return unit(sum)
}
