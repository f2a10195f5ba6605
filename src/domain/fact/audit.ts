// How well what is known is kept, without asking a model: what is known twice, what cannot both hold, what is never
// found again, and whether the work that looks after it keeps up. Nothing is changed by it.

import { countFacts, readAudited, readUsersWithFacts, type AuditedFact } from '../../store/sql/fact/audit-facts.ts'
import { readQueue } from '../../store/sql/job/read-jobs.ts'
import { yieldToEventLoop } from '../../yield.ts'
import type { FactDeps } from './deps.ts'
import { QUEUES } from '../job/worker.ts'
import type { Viewer } from '../view.ts'
import { reconcile } from './reconcile.ts'
import { isSame, toComparedFact, type ComparedFact } from './same.ts'
import { TRUST } from './trust.ts'

/** Facts are compared for so many users, those of whom something was learned last. */
const USERS = 100
/** The newest active facts of each that are compared. */
const FACTS = 500

/** Rates are 0 to 1; null where there is nothing to divide by. */
export type MemoryAudit = {
  activeFacts: number
  supersededFacts: number
  exactDuplicatesSkipped: number
  exactDuplicateRate: number | null
  nearDuplicateRate: number | null
  openContradictions: number
  neverRecalledRate: number | null
  waitingJobs: number
  /** null where nothing waits. */
  queueAgeSeconds: number | null
}

const rate = (part: number, whole: number) => (whole > 0 ? part / whole : null)

/** What comparing facts of one user and visibility finds. */
type Comparison = { facts: number; nearDuplicates: number; contradictions: number }

/** Facts of which another says the same, and pairs of what reconciling would settle or leave in dispute. Pure. */
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

/** Of the facts that the viewer sees; what is compared is a sample of them. */
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
      const found = compareFacts(set)
      for (const key of ['facts', 'nearDuplicates', 'contradictions'] as const) sum[key] += found[key]
    }
    // Comparing one user's facts takes milliseconds: requests are served in between.
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
