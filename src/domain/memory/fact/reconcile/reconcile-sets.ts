// Compares stored facts, set by set, and executes the resulting plans in one transaction. Changes only facts that did not
// change after they were read. A set contains the facts about one user, or about no user in one conversation, with equal
// visibility; facts of different sets are never compared.

import { MAX_PAIRS, type JudgedFact, type Verdict } from '../../../../providers/ports/fact-judge.ts'
import type { Tx } from '../../../../store/db/db.ts'
import { markReconciled } from '../../../../store/sql/memory/fact/due-facts.ts'
import type { FactRow } from '../../../../store/sql/memory/fact/fact-columns.ts'
import { copySources } from '../../../../store/sql/memory/fact/fact-sources.ts'
import { readNames } from '../../../../store/sql/memory/fact/read-active-facts.ts'
import { copyFactVectors, insertFacts, lockFacts, supersedeFacts } from '../../../../store/sql/memory/fact/facts.ts'
import { withTransaction } from '../../../../store/db/tx.ts'
import { runStepsYielding } from '../../../../runtime/yield.ts'
import { askProvider } from '../../../../providers/ports/call-failed.ts'
import { newId } from '../../../kernel/id.ts'
import type { FactDeps } from '../deps.ts'
import { embedFacts } from '../index/index-facts.ts'
import type { ActiveFact } from '../active-fact.ts'
import { openPairs } from './judged-pairs.ts'
import type { ReconciliationPlan } from './reconcile.ts'
import { trustOf } from '../trust.ts'
import { subjectFor } from '../user.ts'
import { appendFactsChanged, factTerms, lockConversations, membersOf } from '../write.ts'

/** The facts of one set and the plan for them. */
export type PlannedSet = { facts: readonly FactRow[]; plan: ReconciliationPlan }

/**
 * Returns the facts in the form in which they are compared, in the same order. Embeds those without vectors, and calls
 * the user by its id where a fact uses one of its names.
 */
export async function toActiveFacts(deps: FactDeps, tenant: string, rows: readonly FactRow[]): Promise<ActiveFact[]> {
  const users = [...new Set(rows.flatMap(({ userId }) => userId ?? []))]
  const ids = rows.map(({ id }) => id)
  const vectors = await embedFacts(deps, tenant, ids)
  // Display names that only a MEMBERS conversation shows must not affect the comparison of facts outside it.
  const namesIn = new Map<string | null, Map<string, string[]>>()
  for (const members of new Set(rows.map(({ visibility }) => membersOf(visibility)))) {
    namesIn.set(members, await readNames(deps.db, tenant, users, members))
  }
  return rows.map((fact) => ({
    ...fact,
    subject: subjectFor(fact, namesIn.get(membersOf(fact.visibility))!),
    vector: vectors.get(fact.id) ?? null,
    trust: trustOf(fact),
  }))
}

const toJudgedFact = ({ id, subject, predicate, object, observedAt }: ActiveFact): JudgedFact => ({
  id,
  subject,
  predicate,
  object,
  observedAt: observedAt.toISOString(),
})

/**
 * Returns the model's verdicts on the open pairs of facts of one set, each with a fact among `changed`; null for all
 * facts. Empty if no model is configured.
 * @throws ProviderFailed
 */
export async function judge(
  { factServices, log }: Pick<FactDeps, 'factServices' | 'log'>,
  facts: readonly ActiveFact[],
  changed: ReadonlySet<string> | null,
  signal?: AbortSignal,
): Promise<Verdict[]> {
  const { judge: model } = factServices
  const pairs = model ? await runStepsYielding(openPairs(facts, MAX_PAIRS, changed)) : []
  if (!model || pairs.length === 0) return []
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const judgedPairs = pairs.map(({ a, b }) => ({ a: toJudgedFact(byId.get(a)!), b: toJudgedFact(byId.get(b)!) }))
  return askProvider(log, 'judge facts', model.name, () => model.judge(judgedPairs, signal))
}

/**
 * Executes the plan of one set, and returns the inserted and the superseded facts. The facts to supersede must be
 * locked and active.
 */
async function write(tx: Tx, tenant: string, { facts, plan }: PlannedSet): Promise<FactRow[]> {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const ids = new Map<string, string>()
  // A merged fact copies the text and the sources of one original, and hence has the same visibility.
  const merged = plan.merged.map(({ into, originals: originalIds }) => {
    const originals = originalIds.map((id) => byId.get(id)!)
    const latest = originals.find(
      (fact) => trustOf(fact) === into.trust && fact.observedAt.getTime() === into.observedAt.getTime(),
    )!
    const restored = originals.find(({ restoredAt }) => restoredAt?.getTime() === into.restoredAt?.getTime())!
    const fact = {
      ...byId.get(into.from)!,
      id: newId('fact'),
      contentHash: into.contentHash,
      validFrom: into.validFrom,
      validTo: into.validTo,
      observedAt: into.observedAt,
      importedAt: latest.importedAt,
      confidence: into.confidence,
      assertedAt: into.assertedAt,
      restoredAt: into.restoredAt,
      restoreNote: restored.restoreNote,
    }
    ids.set(into.key, fact.id)
    return { fact, from: into.from }
  })
  const superseded = [
    ...plan.merged.flatMap(({ into, originals }) =>
      originals.map((original) => ({ id: original, by: ids.get(into.key)!, reason: 'DUPLICATED' as const })),
    ),
    ...plan.contradicted.map(({ loser, winner, from }) => ({
      id: loser,
      by: ids.get(winner) ?? winner,
      reason: 'CONTRADICTED' as const,
      contradictedFrom: from,
    })),
  ]
  await supersedeFacts(tx, superseded)
  await insertFacts(
    tx,
    tenant,
    merged.map(({ fact }) => ({ ...fact, terms: factTerms(tenant, fact) })),
  )
  const copies = merged.map(({ fact, from }) => ({ from, to: fact.id }))
  await copyFactVectors(tx, copies)
  await copySources(tx, copies)
  return [...merged.map(({ fact }) => fact), ...superseded.map((each) => byId.get(each.id)!)]
}

/** Limits the plan to changes whose facts are all locked, and hence unchanged. The next run plans the others again. */
function restrictToLocked({ facts, plan }: PlannedSet, locked: ReadonlySet<string>): PlannedSet {
  const merged = plan.merged.filter(({ originals }) => originals.every((original) => locked.has(original)))
  const mergedKeys = new Set(merged.map(({ into }) => into.key))
  const contradicted = plan.contradicted.filter(
    ({ loser, winner }) => locked.has(loser) && (mergedKeys.has(winner) || locked.has(winner)),
  )
  return { facts, plan: { ...plan, merged, contradicted } }
}

const hasChanges = ({ plan }: PlannedSet) => plan.merged.length + plan.contradicted.length > 0

/** Returns the ids of the facts that the plan depends on: the facts that it changes, and the winners. */
const dependenciesOf = ({ plan }: PlannedSet): string[] => {
  const keys = new Set(plan.merged.map(({ into }) => into.key))
  return [
    ...plan.merged.flatMap(({ originals }) => originals),
    ...plan.contradicted.flatMap(({ loser, winner }) => (keys.has(winner) ? [loser] : [loser, winner])),
  ]
}

/** The executed plans, and the number of facts that were marked as compared. */
export type ExecutedPlans = { executed: PlannedSet[]; marked: number }

/**
 * Executes the plans, and marks those of the `compared` facts that did not change since they were read. Returns null
 * and writes nothing if a fact changed on which a plan depends; with `isPartial`, leaves such changes out instead.
 */
export async function executePlans(
  deps: FactDeps,
  tenant: string,
  planned: readonly PlannedSet[],
  { compared, isPartial }: { compared: readonly FactRow[]; isPartial: boolean },
): Promise<ExecutedPlans | null> {
  const required = new Set(planned.filter(hasChanges).flatMap(dependenciesOf))
  const facts = planned.flatMap((set) => set.facts).filter(({ id }) => required.has(id))
  const others = compared.filter(({ id }) => !required.has(id))
  if (facts.length + others.length === 0) return { executed: [...planned], marked: 0 }
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    await lockConversations(
      tx,
      tenant,
      facts.flatMap(({ conversationId }) => conversationId ?? []),
    )
    const locked = new Set(await lockFacts(tx, [...facts, ...others]))
    if (!isPartial && facts.some(({ id }) => !locked.has(id))) return null
    const executed = planned.map((set) => restrictToLocked(set, locked))
    const written: FactRow[] = []
    for (const set of executed) written.push(...(await write(tx, tenant, set)))
    const unchanged = compared.map(({ id }) => id).filter((id) => locked.has(id))
    await markReconciled(tx, unchanged)
    if (written.length > 0) await appendFactsChanged(deps, { tx, afterCommit }, tenant, written)
    return { executed, marked: unchanged.length }
  })
}
