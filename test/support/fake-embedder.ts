// An embedder controlled by tests: it records the texts it embeds, and fails on request.

import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { type Embedder } from '../../src/providers/ports/embedder.ts'

export type FakeEmbedder = Embedder & {
  /** The texts of each successful call. */
  readonly calls: string[][]
  /** Awaited before each answer; `embed` throws its errors. */
  before: (texts: readonly string[]) => void | Promise<void>
}

let count = 0

/** Texts of equal length get equal vectors; a text that contains "nothing" gets the zero vector. */
export function fakeEmbedder(name = `fake-${process.pid}-${++count}`, { dimension = 4, batch = 8 } = {}): FakeEmbedder {
  const calls: string[][] = []
  return {
    name,
    dimension,
    batch,
    calls,
    before: () => {},
    async embed(texts, signal) {
      signal?.throwIfAborted()
      let abort = () => {}
      const aborted = new Promise((_, reject) => {
        abort = () => reject(signal!.reason)
      })
      aborted.catch(() => {})
      signal?.addEventListener('abort', abort)
      await Promise.race([this.before(texts), aborted]).finally(() => signal?.removeEventListener('abort', abort))
      signal?.throwIfAborted()
      calls.push([...texts])
      return texts.map((text) => {
        const vector = new Float32Array(dimension)
        if (text.includes('nothing')) return vector
        const angle = text.length / 100
        vector[0] = Math.cos(angle)
        vector[1] = Math.sin(angle)
        return vector
      })
    },
    async close() {},
  }
}

/** A failure that is retried. */
export const unavailable = () => new CallFailed('The provider does not answer.', true)
/** A failure that is not retried. */
export const rejected = () => new CallFailed('The provider refuses that.', false)
