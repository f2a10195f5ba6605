// An embedder controlled by tests: it records its texts, and fails on request.

import { CallFailed } from '../../src/providers/ports/call-failed.ts'
import { type Embedder } from '../../src/providers/ports/embedder.ts'

export type FakeEmbedder = Embedder & {
  /** The texts of each answered call. */
  readonly calls: string[][]
  /** Called before each answer; its errors are thrown, its promise is awaited. */
  before: (texts: readonly string[]) => void | Promise<void>
}

let made = 0

/** Vectors of four components: texts of equal length are similar. A text containing "nothing" has no direction. */
export function fakeEmbedder(name = `fake-${process.pid}-${++made}`, { dimension = 4, batch = 8 } = {}): FakeEmbedder {
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

export const away = () => new CallFailed('The provider does not answer.', true)
export const refusal = () => new CallFailed('The provider refuses that.', false)
