// Measures the quality of the stored facts without calling a model: the rates of duplicates, contradictions and facts
// never recalled, and the backlog of background jobs. Read-only.

import { countFacts, readAudited, readUsersWithFacts, type AuditedFact } from '../../store/sql/fact/audit-facts.ts'
import { readQueue } from '../../store/sql/job/read-jobs.ts'
import { yieldToEventLoop } from '../../yield.ts'
import type { FactDeps } from './deps.ts'
import { QUEUES } from '../job/worker.ts'
import type { Viewer } from '../view.ts'
import { reconcile } from './reconcile.ts'
import { isSame, toComparedFact, type ComparedFact } from './same.ts'
import { TRUST } from './trust.ts'

/** Maximum number of users whose facts are compared, those with the newest facts first. */
const USERS = 100
/** Maximum number of active facts compared per user, newest first. */
const FACTS = 500

/** Rates are 0 to 1; null if the denominator is 0. */
export type MemoryAudit = {
  activeFacts: number
  supersededFacts: number
  exactDuplicatesSkipped: number
  exactDuplicateRate: number | null
  nearDuplicateRate: number | null
  openContradictions: number
  neverRecalledRate: number | null
  waitingJobs: number
  /** Age of the oldest waiting job; null if no job waits. */
  queueAgeSeconds: number | null
}

const rate = (part: number, whole: number) => (whole > 0 ? part / whole : null)

/** Result of comparing the facts of one user with one visibility. */
type Comparison = { facts: number; nearDuplicates: number; contradictions: number }

/** Counts facts that have a duplicate, and pairs that reconciling would supersede or report as disputed. Pure. */
function compareFacts(facts: readonly AuditedFact[]): Comparison {
  const slots = new Map<string, ComparedFact[]>()
  for (const fact of facts) {
    const compared = toComparedFact(fact)
    const slot = `${compared.subject}\n${compared.predicate.name}`
    slots.set(slot, [...(slots.get(slot) ?? []), compared])
  }
  let nearDuplicates = 0
  for (const slot of slots.values()) {
    nearDuplicates += slot.filter((one) => slot.some((other) => other !== one && isSame(one, other))).length
  }
  const { disputed, contradicted } = reconcile(facts.map((fact) => ({ ...fact, trust: TRUST[fact.saidBy] })))
  return { facts: facts.length, nearDuplicates, contradictions: disputed.length + contradicted.length }
}

/** Audits the facts that the viewer sees. Duplicates and contradictions are counted in a sample of them. */
export async function auditMemory(
  { db, embedding }: Pick<FactDeps, 'db' | 'embedding'>,
  viewer: Viewer,
): Promise<MemoryAudit> {
  const counts = await countFacts(db, viewer)
  const { waiting, ageSeconds } = await readQueue(db, viewer.tenant, Object.values(QUEUES))
  const sum: Comparison = { facts: 0, nearDuplicates: 0, contradictions: 0 }
  for (const user of await readUsersWithFacts(db, viewer, USERS)) {
    const facts = await readAudited(db, viewer, user, embedding.searched().name, FACTS)
    const sets = new Map<string, AuditedFact[]>()
    for (const fact of facts) sets.set(fact.visibility, [...(sets.get(fact.visibility) ?? []), fact])
    for (const set of sets.values()) {
      const comparison = compareFacts(set)
      for (const key of ['facts', 'nearDuplicates', 'contradictions'] as const) sum[key] += comparison[key]
    }
    // Comparing one user's facts takes milliseconds; other requests are served between users.
    await yieldToEventLoop()
  }
  const { active, superseded, neverRecalled, forEveryone, exactDuplicatesSkipped: skipped } = counts
  return {
    activeFacts: active,
    supersededFacts: superseded,
    exactDuplicatesSkipped: skipped,
    exactDuplicateRate: rate(skipped, skipped + forEveryone),
    nearDuplicateRate: rate(sum.nearDuplicates, sum.facts),
    openContradictions: sum.contradictions,
    neverRecalledRate: rate(neverRecalled, active),
    waitingJobs: waiting,
    queueAgeSeconds: ageSeconds,
  }
}
