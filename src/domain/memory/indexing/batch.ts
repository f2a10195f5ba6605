// Embeds a batch of texts. A text that the embedder refuses gets no vector and does not affect the other texts. If the
// embedder itself fails, throws its error.

import { CallFailed } from '../../../providers/ports/call-failed.ts'
import { type Embedder } from '../../../providers/ports/embedder.ts'

/** A text that every working embedder accepts. Distinguishes a refused text from a failing embedder. */
const PROBE = 'hello'

/**
 * Returns one vector per text, in order; null for a blank text, a zero vector, or a text that the embedder refuses.
 * @param onRefused called with the index of each refused text and the error
 * @throws the embedder's error if it is retryable, or if the embedder refuses PROBE too
 */
export async function embedTexts(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
  onRefused: (index: number, error: Error) => void,
): Promise<(Float32Array | null)[]> {
  const vectors: (Float32Array | null)[] = texts.map(() => null)
  let isProbed = false

  async function embed(indexes: readonly number[]): Promise<void> {
    if (indexes.length === 0) return
    let embedded: Float32Array[]
    try {
      embedded = await embedder.embed(
        indexes.map((index) => texts[index]!),
        signal,
      )
    } catch (error) {
      if (signal.aborted || !(error instanceof CallFailed) || error.retryable) throw error
      if (!isProbed) await embedder.embed([PROBE], signal)
      isProbed = true
      if (indexes.length === 1) return onRefused(indexes[0]!, error)
      const half = indexes.length >> 1
      await embed(indexes.slice(0, half))
      return embed(indexes.slice(half))
    }
    for (const [i, index] of indexes.entries()) {
      const vector = embedded[i]!
      // A zero vector has no direction, so it is similar to no other vector.
      if (vector.some((component) => component !== 0)) vectors[index] = vector
    }
  }

  await embed(texts.flatMap((text, index) => (text.trim() === '' ? [] : [index])))
  return vectors
}
