// The form in which active facts are compared, the order of facts with the same statement, and which facts reconciliation
// leaves alone because somebody undid a reconciliation. Pure.

import type { Statement } from './content-hash.ts'
import type { Period } from './period.ts'
import { toComparedFact, type ComparedFact } from './reconcile/same.ts'

export type ActiveFact = Statement
  & Period & {
    id: string
    /** 0 to 1. */
    confidence: number
    observedAt: Date
    contentHash: string
    /** Embedding of the object: a unit vector, or all zeros. All facts use the same embedder. Null until embedded. */
    vector: Float32Array | null
    /** Trust level; a higher value is more trusted (trust.ts). */
    trust: number
    /** Time at which a source last asserted the fact anew, by the clock of the server. */
    assertedAt: Date
    /** Time at which undoReconciliation made the fact active again; null if that never happened. */
    restoredAt: Date | null
  }

export type ComparedActiveFact = ActiveFact & { compared: ComparedFact }

export const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Number of words above which further words do not make an object clearer. */
const CLEAR_WORDS = 12

/**
 * Order of facts: the most trusted first, then the one whose object has more words (up to CLEAR_WORDS), the shorter
 * object, the higher confidence, the lower hash, and the lower id.
 */
export const byClarity = (a: ComparedActiveFact, b: ComparedActiveFact) =>
  b.trust - a.trust
  || Math.min(CLEAR_WORDS, b.compared.words.length) - Math.min(CLEAR_WORDS, a.compared.words.length)
  || a.object.length - b.object.length
  || b.confidence - a.confidence
  || byText(a.contentHash, b.contentHash)
  || byText(a.id, b.id)

/** Adds the compared form to each fact, and sorts the facts by clarity. Yields after each fact. */
export function* prepareSteps(facts: readonly ActiveFact[]): Generator<void, ComparedActiveFact[]> {
  const prepared: ComparedActiveFact[] = []
  for (const fact of facts) {
    prepared.push({ ...fact, compared: toComparedFact(fact) })
    yield
  }
  return prepared.sort(byClarity)
}

/** The latest of the times that are not null; null for none. */
export const latest = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((last, time) => (time !== null && (last === null || time > last) ? time : last), null)

type Restorable = Pick<ActiveFact, 'assertedAt' | 'restoredAt'>

/**
 * Whether reconciliation leaves the facts alone: one of them was restored, and no source has asserted either of them
 * anew since then. So a restored fact is kept apart from every fact that was known when it was restored. Symmetric.
 */
export function isKeptApart(a: Restorable, b: Restorable): boolean {
  const restoredAt = latest([a.restoredAt, b.restoredAt])
  return restoredAt !== null && a.assertedAt <= restoredAt && b.assertedAt <= restoredAt
}
