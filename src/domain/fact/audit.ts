// Measures the quality of the stored facts without calling a model: duplicates, contradictions, facts never recalled,
// and the backlog of background jobs. Read-only.

import { countFacts, readFactsToAudit, readUsersWithFacts } from '../../store/sql/fact/audit-facts.ts'
import { readObjectVectors } from '../../store/sql/fact/fact-vectors.ts'
import { readQueue } from '../../store/sql/job/read-jobs.ts'
import { runStepsYielding } from '../../yield.ts'
import { authorize } from '../authorize.ts'
import type { FactDeps } from './deps.ts'
import { QUEUES } from '../job/worker.ts'
import type { Viewer } from '../view.ts'
import { planSteps, type ActiveFact } from './reconcile.ts'
import { isSame, toComparedFact, type ComparedFact } from './same.ts'
import { trustOf } from './trust.ts'

/** Maximum number of users whose facts are compared, those with the newest facts first. */
export const MAX_USERS = 100
/** Maximum number of active facts compared per user, newest first. */
export const MAX_FACTS = 500
/** Maximum number of facts compared in one audit. After it is reached, further users are not sampled. */
export const MAX_SAMPLE = 2_000

/** Rates are 0 to 1; null if the denominator is 0. */
export type MemoryAudit = {
  activeFacts: number
  supersededFacts: number
  /**
   * Number of exact duplicates of visible facts that were not stored. Excludes duplicates asserted by sources that the
   * viewer does not see.
   */
  exactDuplicatesSkipped: number
  /** Skipped exact duplicates, divided by the sum of these and the visible facts. */
  exactDuplicateRate: number | null
  /** Share of the sampled facts that have a duplicate in the sample. */
  nearDuplicateRate: number | null
  /** Number of sampled facts that a reconciliation would supersede as contradicted, plus pairs of disputed facts. */
  openContradictions: number
  /** Share of the active facts that no recall or context has returned. */
  neverRecalledRate: number | null
  /** Number of background jobs that wait in any queue and that the viewer sees. */
  waitingJobs: number
  /** Age of the oldest waiting job; null if no job waits. */
  queueAgeSeconds: number | null
}

const rate = (part: number, whole: number) => (whole > 0 ? part / whole : null)

/** Result of comparing facts about one user in one visibility set. */
type Comparison = { facts: number; nearDuplicates: number; contradictions: number }

/** Compares facts of one visibility set; see MemoryAudit for the counts. Yields after each fact. */
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

/** Audits the facts that the viewer sees. Near duplicates and contradictions are counted in a sample. */
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
