// Audits the stored facts without calling a model: counts duplicates, contradictions, facts that were never recalled,
// and waiting background jobs. Read-only.

import { countFacts, readFactsToAudit, readUsersWithFacts } from '../../../store/sql/memory/fact/audited-facts.ts'
import { readObjectVectors } from '../../../store/sql/memory/fact/fact-vectors.ts'
import { readQueue } from '../../../store/sql/background/read-jobs.ts'
import { runStepsYielding } from '../../../runtime/yield.ts'
import { authorize } from '../../kernel/rights/authorize.ts'
import type { FactDeps } from './deps.ts'
import { QUEUES } from '../../background/job/worker.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { ActiveFact } from './active-fact.ts'
import { planSteps } from './reconcile/reconcile.ts'
import { isSame, toComparedFact, type ComparedFact } from './reconcile/same.ts'
import { trustOf } from './trust.ts'

/** Maximum number of users whose facts are compared. Users with the newest facts come first. */
export const MAX_USERS = 100
/** Maximum number of active facts compared per user, newest first. */
export const MAX_FACTS = 500
/** Maximum number of facts compared in one audit, over all users. */
export const MAX_SAMPLE = 2_000

/** Result of an audit: the facts and jobs that the viewer sees. Rates are 0 to 1; null if the denominator is 0. */
export type MemoryAudit = {
  activeFacts: number
  supersededFacts: number
  /**
   * Number of assertions that were not stored because they exactly duplicate a fact that the viewer sees. Excludes
   * assertions by sources that the viewer does not see.
   */
  exactDuplicatesSkipped: number
  /** `exactDuplicatesSkipped`, divided by the sum of it, `activeFacts` and `supersededFacts`. */
  exactDuplicateRate: number | null
  /** Share of the compared facts that duplicate another compared fact in different words (see same.ts). */
  nearDuplicateRate: number | null
  /** Number of compared facts that a reconciliation would supersede as contradicted, plus the disputed pairs. */
  openContradictions: number
  /** Share of the active facts that no recall or context has returned. */
  neverRecalledRate: number | null
  /** Number of waiting and retrying background jobs in all queues. */
  waitingJobs: number
  /** Age of the oldest of these jobs, in seconds; null if there is none. */
  queueAgeSeconds: number | null
}

const rate = (part: number, whole: number) => (whole > 0 ? part / whole : null)

/** Counts of compared facts, and of the near duplicates and contradictions among them. */
type Comparison = { facts: number; nearDuplicates: number; contradictions: number }

/** Compares the facts about one user in one visibility set. Yields after each fact. */
function* compareFacts(facts: readonly ActiveFact[]): Generator<void, Comparison> {
  const slots = new Map<string, ComparedFact[]>()
  for (const fact of facts) {
    const compared = toComparedFact(fact)
    slots.set(compared.slot, [...(slots.get(compared.slot) ?? []), compared])
    yield
  }
  let nearDuplicates = 0
  for (const slot of slots.values()) {
    for (const one of slot) {
      if (slot.some((other) => other !== one && isSame(one, other))) nearDuplicates += 1
      yield
    }
  }
  const { disputed, contradicted } = yield* planSteps(facts)
  return { facts: facts.length, nearDuplicates, contradictions: disputed.length + contradicted.length }
}

/** Audits the facts that the viewer sees. Counts near duplicates and contradictions in a sample of the active facts. */
export async function auditMemory(
  { db, embedding }: Pick<FactDeps, 'db' | 'embedding'>,
  viewer: Viewer,
): Promise<MemoryAudit> {
  authorize(viewer, 'auditMemory')
  const counts = await countFacts(db, viewer)
  const { waiting, ageSeconds } = await readQueue(db, viewer, Object.values(QUEUES))
  const sum: Comparison = { facts: 0, nearDuplicates: 0, contradictions: 0 }
  for (const user of await readUsersWithFacts(db, viewer, MAX_USERS)) {
    const rows = await readFactsToAudit(db, viewer, user, Math.min(MAX_FACTS, MAX_SAMPLE - sum.facts))
    const ids = rows.map(({ id }) => id)
    const vectors = await readObjectVectors(db, viewer.tenant, embedding.serving().name, ids)
    const sets = new Map<string, ActiveFact[]>()
    for (const row of rows) {
      const fact = { ...row, vector: vectors.get(row.id) ?? null, trust: trustOf(row) }
      sets.set(row.visibility, [...(sets.get(row.visibility) ?? []), fact])
    }
    for (const set of sets.values()) {
      const comparison = await runStepsYielding(compareFacts(set))
      for (const key of ['facts', 'nearDuplicates', 'contradictions'] as const) sum[key] += comparison[key]
    }
    if (sum.facts >= MAX_SAMPLE) break
  }
  const { active, superseded, neverRecalled, exactDuplicatesSkipped: skipped } = counts
  return {
    activeFacts: active,
    supersededFacts: superseded,
    exactDuplicatesSkipped: skipped,
    exactDuplicateRate: rate(skipped, skipped + active + superseded),
    nearDuplicateRate: rate(sum.nearDuplicates, sum.facts),
    openContradictions: sum.contradictions,
    neverRecalledRate: rate(neverRecalled, active),
    waitingJobs: waiting,
    queueAgeSeconds: ageSeconds,
  }
}
