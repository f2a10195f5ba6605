// A reranker controlled by tests: it scores texts as a test says, records them, and fails on request.

import type { Reranker, Reranking } from '../../src/providers/ports/reranker.ts'

export type FakeReranker = Reranker & {
  /** The texts of each call that it answered. */
  readonly calls: { query: string; texts: string[] }[]
  /** Returns the score of a text. */
  scoreOf: (text: string, query: string) => number
  /** Awaited before each answer; `score` throws its errors. */
  before: () => void | Promise<void>
}

/** By default, a longer text has a higher score. */
export function fakeReranker(): FakeReranker {
  const calls: FakeReranker['calls'] = []
  return {
    name: 'fake',
    calls,
    scoreOf: (text) => text.length,
    before: () => {},
    async score(query, texts, signal) {
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      })
      aborted.catch(() => {})
      await Promise.race([this.before(), aborted])
      calls.push({ query, texts: [...texts] })
      return texts.map((text) => this.scoreOf(text, query))
    },
    async close() {},
  }
}

/** Returns a reranking by the reranker. */
export const rerankingBy = (reranker: Reranker, candidates = 50): Reranking => ({ reranker, candidates })
