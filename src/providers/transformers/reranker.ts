// Scores texts with a local cross-encoder such as ms-marco-MiniLM-L-6-v2, using transformers.js in the worker thread of
// thread.ts.

import { CallFailed } from '../ports/call-failed.ts'
import type { Reranker } from '../ports/reranker.ts'
import { BATCH, createModel, type ModelSettings, type Output } from './thread.ts'

/**
 * Maximum numbers of UTF-16 units of the query and of a text to score. Most cross-encoders read 512 tokens of both,
 * about 2,500 units, and cut the pair at its end, so a longer query would leave no room for the text.
 */
const QUERY_UNITS = 1_024
const READ_UNITS = 4_096

/** Creates the reranker. The first texts start the thread, which loads the model. */
export function createTransformersReranker(settings: ModelSettings): Reranker {
  const name = `transformers:${settings.model}`
  const variables = { provider: 'RERANKER', model: 'RERANK_MODEL' }
  const { check, run, close } = createModel('rerank', settings, { port: 'reranker', name, variables })
  const beginning = (text: string, units: number) => text.trim().slice(0, units).toWellFormed()
  return {
    name,
    async score(query, texts, signal) {
      check(signal)
      const scores: number[] = []
      for (let begin = 0; begin < texts.length; begin += BATCH) {
        const part = texts.slice(begin, begin + BATCH).map((text) => beginning(text, READ_UNITS))
        const output = await run({ query: beginning(query, QUERY_UNITS), texts: part }, signal)
        scores.push(...scoresOf(output, part.length, name))
      }
      return scores
    },
    close,
  }
}

/**
 * Returns the scores: the logistic function of the logits, 0 to 1.
 * @throws CallFailed for an output with an unexpected shape, or with components that are not finite
 */
function scoresOf({ dims, data }: Output, count: number, name: string): number[] {
  if (dims.length !== 2 || dims[0] !== count || dims[1] !== 1 || data.length !== count) {
    throw new CallFailed(
      `${name} returned no scores: its output has the shape ${dims.join(' × ')} instead of ${count} × 1. `
        + 'Set RERANK_MODEL to a cross-encoder with one label.',
      false,
    )
  }
  if (!data.every(Number.isFinite)) throw new CallFailed(`${name} returned a score that is not finite.`, false)
  return Array.from(data, (logit) => 1 / (1 + Math.exp(-logit)))
}
