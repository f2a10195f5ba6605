// Embeds texts with a local model such as all-MiniLM-L6-v2, using transformers.js in the worker thread of thread.ts.

import { CallFailed } from '../ports/call-failed.ts'
import type { Embedder } from '../ports/embedder.ts'
import { unit } from '../../runtime/unit-vector.ts'
import { BATCH, createModel, type ModelSettings, type Output } from './thread.ts'

export type TransformersSettings = ModelSettings & { dimension: number }

/** Maximum number of UTF-16 units of a text to embed. all-MiniLM-L6-v2 reads 512 tokens, about 2,500 units. */
const READ_UNITS = 8_192

/** Creates the embedder. The first texts start the thread, which loads the model. */
export function createTransformersEmbedder(settings: TransformersSettings): Embedder {
  const { model, dimension } = settings
  // The name implies the weights of type fp32 that worker.ts loads. Another type would require another name.
  const name = `transformers:${model}`
  const variables = { provider: 'EMBEDDER', model: 'EMBEDDING_MODEL' }
  const { check, run, close } = createModel('embed', settings, { port: 'embedder', name, variables })

  return {
    name,
    dimension,
    batch: BATCH,
    async embed(texts, signal) {
      check(signal)
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimension))
      const nonEmpty = texts.flatMap((whole, index) => {
        const text = whole.trim().slice(0, READ_UNITS).toWellFormed()
        return text ? [{ index, text }] : []
      })
      for (let begin = 0; begin < nonEmpty.length; begin += BATCH) {
        const part = nonEmpty.slice(begin, begin + BATCH)
        const output = await run({ texts: part.map(({ text }) => text) }, signal)
        const embedded = split(output, part.length, dimension, name)
        part.forEach(({ index }, i) => (vectors[index] = embedded[i]!))
      }
      return vectors
    },
    close,
  }
}

/**
 * Splits a reply into unit vectors.
 * @throws CallFailed for a reply with an unexpected shape or dimension, or with components that are not finite
 */
function split({ dims, data }: Output, count: number, dimension: number, name: string) {
  const components = dims.at(-1)!
  if (dims.length !== 2 || dims[0] !== count || data.length !== count * components) {
    throw new CallFailed(`${name} returned no vectors: its output has the shape ${dims.join(' × ')}.`, false)
  }
  if (components !== dimension) {
    throw new CallFailed(
      `${name} returned vectors of ${components} components instead of ${dimension}. `
        + `Set EMBEDDING_DIMENSIONS=${components}, or another EMBEDDING_MODEL.`,
      false,
    )
  }
  if (!data.every(Number.isFinite)) {
    throw new CallFailed(`${name} returned a vector with components that are not finite.`, false)
  }
  return Array.from({ length: count }, (_, i) => unit(data.slice(i * components, (i + 1) * components)))
}
