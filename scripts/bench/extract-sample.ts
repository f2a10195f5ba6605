// Draws samples that are the same on every machine, for readers who judge extracted facts.

import { createHash } from 'node:crypto'
import type { ExtractedFact } from '../../src/providers/ports/fact-extractor.ts'

/** Returns `count` of the facts, or all of them if they are fewer, in their order. The choice depends only on the facts. */
export function sampleOf(facts: readonly ExtractedFact[], count: number): ExtractedFact[] {
  const keyOf = ({ turnId, subject, predicate, object }: ExtractedFact) =>
    createHash('sha256').update([turnId, subject, predicate, object].join('\n')).digest('hex')
  const chosen = new Set(
    facts
      .map((fact) => ({ fact, key: keyOf(fact) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, count)
      .map(({ fact }) => fact),
  )
  return facts.filter((fact) => chosen.has(fact))
}
