// The default embedder: a text's vector is the weighted mean of its words' vectors, minus the component common to all
// texts (smooth inverse frequency: Arora, Liang, Ma, "A simple but tough-to-beat baseline for sentence embeddings",
// 2017). Needs no network, key or native code.

import { dot, unit } from '../../runtime/unit-vector.ts'
import { closedProvider } from '../ports/call-failed.ts'
import type { Embedder } from '../ports/embedder.ts'
import { wordVectors, type WordVectors } from '../../text/word-vectors.ts'
import { contentWords } from '../../text/words/words.ts'
import { createYield } from '../../runtime/yield.ts'

/**
 * Name of the embedder with its version. Increase the version with any change that affects vectors: the file,
 * tokenizer, stop words, weights or READ_UNITS.
 */
const NAME = 'static-2'

/** Maximum number of UTF-16 units read of a text: about 4,000 words or 3 ms. More words hardly change the mean. */
const READ_UNITS = 24 * 1024

/** Reads the word vectors and creates the embedder. @throws Error if the file is invalid */
export async function createStaticEmbedder(): Promise<Embedder> {
  const vectors = wordVectors()
  let isClosed = false
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
        if (isClosed) throw closedProvider('embedder', NAME)
        embedded.push(embedWords(vectors, contentWords(text.slice(0, READ_UNITS))))
      }
      return embedded
    },
    async close() {
      isClosed = true
    },
  }
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
