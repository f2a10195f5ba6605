// The pairs of facts that a model judges, because no rule decides them, and its verdicts that count. Pure.

import type { Verdict } from '../../../../providers/ports/fact-judge.ts'
import { byText, prepareSteps, type ActiveFact, type ComparedActiveFact, isKeptApart } from '../active-fact.ts'
import { isOpen, THRESHOLDS, type Thresholds } from './same.ts'

export type FactPair = { a: string; b: string }
/** A verdict on an unknown fact, on a pair that is not open, or on a pair whose verdicts differ. */
export type RejectedVerdict = { verdict: Verdict; why: 'UNKNOWN_ID' | 'NOT_ASKED' | 'AMBIGUOUS' }

const pairKey = ({ a, b }: FactPair) => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** Whether a model may judge the pair: the rules of same.ts do not decide it, and no undo keeps it apart. */
const mayJudge = (a: ComparedActiveFact, b: ComparedActiveFact, thresholds: Thresholds) =>
  isOpen(a.compared, b.compared, thresholds) && !isKeptApart(a, b)

/**
 * Returns at most `max` pairs of facts for a model to judge, each with a fact among `changed`; null for all facts. The
 * result does not depend on the order of the facts. Yields after each fact.
 */
export function* openPairs(
  facts: readonly ActiveFact[],
  max = 100,
  changed: ReadonlySet<string> | null = null,
): Generator<void, FactPair[]> {
  const sorted = (yield* prepareSteps(facts)).sort((a, b) => byText(a.id, b.id))
  const pairs: FactPair[] = []
  for (const [i, a] of sorted.entries()) {
    yield
    for (let j = i + 1; j < sorted.length; j++) {
      if (pairs.length >= max) return pairs
      const b = sorted[j]!
      if (changed !== null && !changed.has(a.id) && !changed.has(b.id)) continue
      if (mayJudge(a, b, THRESHOLDS)) pairs.push({ a: a.id, b: b.id })
    }
  }
  return pairs
}

/** Splits the verdicts into accepted ones, by pair, and rejected ones. */
export function checkVerdicts(
  facts: readonly ComparedActiveFact[],
  verdicts: readonly Verdict[],
  thresholds: Thresholds,
) {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const answers = new Map<string, Set<Verdict['relation']>>()
  for (const verdict of verdicts) {
    const key = pairKey(verdict)
    answers.set(key, (answers.get(key) ?? new Set()).add(verdict.relation))
  }
  const accepted = new Map<string, Verdict['relation']>()
  const rejected: RejectedVerdict[] = []
  for (const verdict of verdicts) {
    const [a, b] = [byId.get(verdict.a), byId.get(verdict.b)]
    const key = pairKey(verdict)
    if (!a || !b) rejected.push({ verdict, why: 'UNKNOWN_ID' })
    else if (a === b || !mayJudge(a, b, thresholds)) rejected.push({ verdict, why: 'NOT_ASKED' })
    else if (answers.get(key)!.size > 1) rejected.push({ verdict, why: 'AMBIGUOUS' })
    else accepted.set(key, verdict.relation)
  }
  return { accepted, rejected }
}

/** Returns a map for each relation: from the id of a fact to the ids of the facts that verdicts relate to it. */
export function partnersOf(accepted: ReadonlyMap<string, Verdict['relation']>) {
  const partners = { SAME: new Map<string, Set<string>>(), CONTRADICTORY: new Map<string, Set<string>>() }
  for (const [key, relation] of accepted) {
    if (relation === 'COMPATIBLE') continue
    const [a, b] = key.split(' ') as [string, string]
    const of = partners[relation]
    of.set(a, (of.get(a) ?? new Set()).add(b))
    of.set(b, (of.get(b) ?? new Set()).add(a))
  }
  return partners
}
