// Embeds a batch for which one text must not stand in the way of the others: what cannot be embedded by itself gets no
// vector. Unless the embedder is at fault: that is for the caller to wait out.

import { CallFailed } from '../../providers/ports/call-failed.ts'
import { type Embedder } from '../../providers/ports/embedder.ts'

/** A text that any embedder that works can embed. */
const PROBE = 'hello'

/**
 * A vector a text, in order; null for a text that says nothing, that has no direction, or that the embedder refuses.
 * @param refused told of each text that is refused: its place, and why
 * @throws what the embedder throws where it fails for all texts, or may succeed later
 */
export async function embedTexts(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
  refused: (place: number, error: Error) => void,
): Promise<(Float32Array | null)[]> {
  const vectors: (Float32Array | null)[] = texts.map(() => null)
  let isProbed = false

  async function embed(places: readonly number[]): Promise<void> {
    if (places.length === 0) return
    let made: Float32Array[]
    try {
      made = await embedder.embed(
        places.map((place) => texts[place]!),
        signal,
      )
    } catch (error) {
      if (signal.aborted || !(error instanceof CallFailed) || error.retryable) throw error
      if (!isProbed) await embedder.embed([PROBE], signal)
      isProbed = true
      if (places.length === 1) return refused(places[0]!, error)
      const half = places.length >> 1
      await embed(places.slice(0, half))
      return embed(places.slice(half))
    }
    for (const [i, place] of places.entries()) {
      const vector = made[i]!
      // What has no direction is near to nothing.
      if (vector.some((component) => component !== 0)) vectors[place] = vector
    }
  }

  await embed(texts.flatMap((text, place) => (text.trim() === '' ? [] : [place])))
  return vectors
}
