// Reconciles facts in the background after each change: recorded, extracted, imported and restored facts alike. A fact is
// due until it was compared with the other active facts of its set. The pass that compares facts also marks them, in one
// transaction, so a crash only delays the work. No two facts stay active that the rules call contradictory, because the
// later one of them to be marked was compared with the other.

import type { Subject } from '../../../../store/jobs/job-queue.ts'
import { readDueFacts, readFactsOfSet, readPredicates } from '../../../../store/sql/memory/fact/due-facts.ts'
import type { FactRow } from '../../../../store/sql/memory/fact/fact-columns.ts'
import { runStepsYielding } from '../../../../runtime/yield.ts'
import type { FactDeps } from '../deps.ts'
import { classify } from './predicate.ts'
import { planSteps } from './reconcile.ts'
import { ATTEMPTS, DEFAULT_FACTS } from './reconcile-facts.ts'
import { executePlans, judge, toActiveFacts, type PlannedSet } from './reconcile-sets.ts'
import { relatedSteps } from './related.ts'

/** Maximum number of due facts that one pass compares. */
const DUE_FACTS = 100
/** Maximum number of facts of the set that one pass compares the due facts with, newest first. */
const MAX_COMPARED = 2_000
/** Maximum number of different predicates in a set that are considered. */
const MAX_PREDICATES = 5_000

/**
 * Returns the due facts, the other facts of their set with predicates of the same classes, which alone the rules relate
 * to them, and, if a model judges, the newest facts of the set.
 */
async function readCompared(deps: FactDeps, key: string, tenant: string, due: readonly FactRow[]): Promise<FactRow[]> {
  const set = { tenant, key, visibility: due[0]!.visibility }
  const classes = new Set(due.map(({ predicate }) => classify(predicate).name))
  const predicates = await readPredicates(deps.db, set, MAX_PREDICATES)
  const similar = predicates.filter((predicate) => classes.has(classify(predicate).name))
  const rows = [
    ...due,
    ...(await readFactsOfSet(deps.db, set, similar, MAX_COMPARED)),
    ...(deps.factServices.judge ? await readFactsOfSet(deps.db, set, null, DEFAULT_FACTS) : []),
  ]
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}

/** Plans the changes that the due facts, which are among the rows, make necessary. @throws ProviderFailed */
async function plan(
  deps: FactDeps,
  tenant: string,
  { due, rows }: { due: readonly FactRow[]; rows: readonly FactRow[] },
  signal?: AbortSignal,
) {
  const changed = new Set(due.map(({ id }) => id))
  const active = await toActiveFacts(deps, tenant, rows)
  const verdicts = await judge(deps, active, changed, signal)
  const related = await runStepsYielding(relatedSteps(active, changed, verdicts))
  const ids = new Set(related.map(({ id }) => id))
  const facts = rows.filter(({ id }) => ids.has(id))
  return { facts, plan: await runStepsYielding(planSteps(related, verdicts)) } satisfies PlannedSet
}

/**
 * Runs one pass: compares at most DUE_FACTS due facts of one set of the subject. Returns false if none is due, or if
 * all of them changed meanwhile.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function reconcileNext(deps: FactDeps, { tenant, key }: Subject, signal?: AbortSignal): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const due = await readDueFacts(deps.db, { tenant, key }, DUE_FACTS)
    if (due.length === 0) return false
    const rows = await readCompared(deps, key, tenant, due)
    const planned = await plan(deps, tenant, { due, rows }, signal)
    const result = await executePlans(deps, tenant, [planned], { compared: due, isPartial: attempt >= ATTEMPTS })
    if (result) return result.marked > 0
  }
}

/** Runs passes until no fact of the subject is due. @throws ProviderFailed, or the signal's reason after an abort */
export async function reconcileAllDue(deps: FactDeps, subject: Subject, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted && (await reconcileNext(deps, subject, signal)));
}
