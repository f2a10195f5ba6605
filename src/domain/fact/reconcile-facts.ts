// Reconciles stored facts: merges duplicates and supersedes contradicted facts. Reads the facts, asks a model about the
// pairs that the rules of same.ts do not decide, lets reconcile.ts make the plan, and executes the plan in one
// transaction. Changes only facts that did not change after they were read.

import { z } from 'zod'
import { MAX_PAIRS, type JudgedFact, type Verdict } from '../../providers/ports/fact-judge.ts'
import type { Tx } from '../../store/db.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { readActiveFacts, readNames, type FactScope } from '../../store/sql/fact/read-active-facts.ts'
import { readProgressOf, advanceReconciliation } from '../../store/sql/background/user-progress.ts'
import { copySources } from '../../store/sql/fact/fact-sources.ts'
import { copyFactVectors, insertFacts, lockFacts, supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import { withTransaction } from '../../store/tx.ts'
import { runStepsYielding } from '../../yield.ts'
import { authorize, requirePermits, requireWriter } from '../authorize.ts'
import type { FactDeps } from './deps.ts'
import { askProvider } from '../ask-provider.ts'
import { runsDue } from '../automatic-thresholds.ts'
import { newId } from '../id.ts'
import { between, id, name, parse } from '../input.ts'
import type { Viewer } from '../view.ts'
import { embedFacts } from './embed.ts'
import { openPairs, planSteps, type ActiveFact, type ReconciliationPlan } from './reconcile.ts'
import { trustOf } from './trust.ts'
import { subjectFor } from './user.ts'
import { membersOf } from './visibility-set.ts'
import { factTerms, lockConversations, appendFactsChanged } from './write.ts'

/** Default of `n`, the maximum number of facts compared per set (setOf). */
export const DEFAULT_FACTS = 50
/** Upper limit of `n`. */
export const MAX_FACTS = 500
/** Maximum number of attempts if facts change while they are compared. The last attempt skips the changed facts. */
const ATTEMPTS = 5

/** Result of a reconciliation. */
export type Reconciliation = {
  /** Number of compared facts that are neither duplicates nor contradicted. */
  kept: number
  /** Number of new facts that replace duplicates. */
  merged: number
  /** Number of facts superseded because they contradict another fact. */
  contradicted: number
}

/** The facts of one set and the plan for them. */
type PlannedSet = { facts: FactRow[]; plan: ReconciliationPlan }

/**
 * Returns the key of a fact's set: the facts about one user, or about no user in one conversation, with equal
 * visibility. Each fact is compared only with facts of its set.
 */
const setOf = ({ userId, conversationId, visibility }: FactRow) => `${userId ?? conversationId} ${visibility}`

const toJudgedFact = ({ id: fact, subject, predicate, object, observedAt }: ActiveFact): JudgedFact => ({
  id: fact,
  subject,
  predicate,
  object,
  observedAt: observedAt.toISOString(),
})

/** Returns the model's verdicts on the open pairs of facts; empty if no model is configured. @throws ProviderFailed */
async function judge(deps: FactDeps, facts: readonly ActiveFact[], signal?: AbortSignal): Promise<Verdict[]> {
  const { judge: model } = deps.factServices
  const pairs = model ? await runStepsYielding(openPairs(facts, MAX_PAIRS)) : []
  if (!model || pairs.length === 0) return []
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const judgedPairs = pairs.map(({ a, b }) => ({ a: toJudgedFact(byId.get(a)!), b: toJudgedFact(byId.get(b)!) }))
  return askProvider(deps.log, 'judge facts', model.name, () => model.judge(judgedPairs, signal))
}

/** Plans the reconciliation of the `n` newest facts of each set in scope. @throws ProviderFailed */
async function planSets(deps: FactDeps, scope: FactScope, n: number, signal?: AbortSignal): Promise<PlannedSet[]> {
  const rows = await readActiveFacts(deps.db, scope, n)
  const users = [...new Set(rows.flatMap(({ userId }) => userId ?? []))]
  const vectors = await embedFacts(
    deps,
    scope.tenant,
    rows.map((row) => row.id),
  )
  // Display names that only a MEMBERS conversation shows must not affect the comparison of facts outside it.
  const namesIn = new Map<string | null, Map<string, string[]>>()
  for (const members of new Set(rows.map(({ visibility }) => membersOf(visibility)))) {
    namesIn.set(members, await readNames(deps.db, scope.tenant, users, members))
  }
  const sets = new Map<string, FactRow[]>()
  for (const row of rows) sets.set(setOf(row), [...(sets.get(setOf(row)) ?? []), row])
  const planned: PlannedSet[] = []
  for (const facts of sets.values()) {
    const names = namesIn.get(membersOf(facts[0]!.visibility))!
    const active = facts.map((fact): ActiveFact => ({
      ...fact,
      subject: subjectFor(fact, names),
      vector: vectors.get(fact.id) ?? null,
      trust: trustOf(fact),
    }))
    planned.push({ facts, plan: await runStepsYielding(planSteps(active, await judge(deps, active, signal))) })
  }
  return planned
}

/**
 * Executes the plan of one set, and returns the inserted and the superseded facts. The facts to supersede must be
 * locked and active.
 */
async function write(tx: Tx, tenant: string, { facts, plan }: PlannedSet): Promise<FactRow[]> {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const ids = new Map<string, string>()
  // A merged fact copies the text and the sources of one original, and hence has the same visibility.
  const merged = plan.merged.map(({ into, originals }) => {
    const latest = originals
      .map((id) => byId.get(id)!)
      .find((fact) => trustOf(fact) === into.trust && fact.observedAt.getTime() === into.observedAt.getTime())!
    const fact = {
      ...byId.get(into.from)!,
      id: newId('fact'),
      observedAt: into.observedAt,
      importedAt: latest.importedAt,
      confidence: into.confidence,
    }
    ids.set(into.key, fact.id)
    return { fact, from: into.from }
  })
  const superseded = [
    ...plan.merged.flatMap(({ into, originals }) =>
      originals.map((original) => ({ id: original, by: ids.get(into.key)!, reason: 'DUPLICATED' as const })),
    ),
    ...plan.contradicted.map(({ loser, winner }) => ({
      id: loser,
      by: ids.get(winner) ?? winner,
      reason: 'CONTRADICTED' as const,
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

/**
 * Reconciles the `n` newest facts of each set in scope, and runs `advance` in the same transaction. If `advance`
 * returns false, writes nothing and returns null.
 * @throws ProviderFailed
 */
async function reconcileScope(
  deps: FactDeps,
  scope: FactScope,
  n: number,
  advance: (tx: Tx) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<Reconciliation | null> {
  for (let attempt = 1; ; attempt++) {
    const planned = await planSets(deps, scope, n, signal)
    const changing = planned.filter(hasChanges)
    const result = await withTransaction(deps.db, scope.tenant, async (tx, afterCommit) => {
      const facts = changing.flatMap((set) => set.facts)
      await lockConversations(
        tx,
        scope.tenant,
        facts.flatMap(({ conversationId }) => conversationId ?? []),
      )
      const required = new Set(changing.flatMap(dependenciesOf))
      const locked = new Set(
        await lockFacts(
          tx,
          facts.filter((fact) => required.has(fact.id)),
        ),
      )
      if (locked.size < required.size && attempt < ATTEMPTS) return 'changed'
      const writable = planned.map((set) => restrictToLocked(set, locked))
      const written: FactRow[] = []
      for (const set of writable) written.push(...(await write(tx, scope.tenant, set)))
      // Lock order: facts before the users' progress; see count-user-turns.ts.
      if (!(await advance(tx))) throw new AlreadyRun()
      await appendFactsChanged(deps, tx, afterCommit, scope.tenant, written)
      return countChanges(writable)
    }).catch((error) => {
      if (error instanceof AlreadyRun) return 'alreadyRun' as const
      throw error
    })
    if (result === 'alreadyRun') return null
    if (result !== 'changed') return result
  }
}

/** Thrown to roll back the transaction when `advance` returned false. */
class AlreadyRun extends Error {}

const countChanges = (sets: readonly PlannedSet[]): Reconciliation => {
  const sum = (count: (plan: ReconciliationPlan) => number) => sets.reduce((total, { plan }) => total + count(plan), 0)
  return {
    kept: sum(({ kept }) => kept.length),
    merged: sum(({ merged }) => merged.length),
    contradicted: sum(({ contradicted }) => contradicted.length),
  }
}

const reconcileFactsInput = z
  .object({ userId: name.nullish(), conversationId: id('conversation').nullish(), n: between(1, MAX_FACTS).nullish() })
  .refine(({ userId, conversationId }) => userId != null || conversationId != null, {
    path: ['userId'],
    message: 'is required if conversationId is omitted',
  })
export type ReconcileFactsInput = z.input<typeof reconcileFactsInput>

/**
 * Reconciles the newest active facts that the viewer sees: facts about the user, facts from the conversation, or, if
 * both are given, facts that match both. `n` is the maximum number of facts per set; defaults to DEFAULT_FACTS, at most
 * MAX_FACTS.
 * @throws InvalidInput @throws NotFound if the viewer sees no such conversation @throws ProviderFailed
 * @throws NotAllowed if the conversation is MEMBERS and the viewer has left it, or if rights.ts denies the call
 */
export async function reconcileFacts(
  deps: FactDeps,
  viewer: Viewer,
  input: ReconcileFactsInput,
): Promise<Reconciliation> {
  authorize(viewer, 'reconcileFacts', input)
  const { userId, conversationId, n } = parse(reconcileFactsInput, input)
  if (conversationId != null) await requireWriter(deps.db.of(viewer.tenant), viewer, conversationId)
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'reconcileFacts', conversationId ?? null, [
    ...(userId === viewer.actor
      ? []
      : [conversationId == null ? ('factsOfTenant' as const) : ('factsAboutOthers' as const)]),
  ])
  const { tenant, actor } = viewer
  const scope = { tenant, actor, userId: userId ?? null, conversationId: conversationId ?? null }
  return (await reconcileScope(deps, scope, n ?? DEFAULT_FACTS, async () => true))!
}

/**
 * Reconciles the DEFAULT_FACTS newest facts of each set about a user. Includes only facts that the actor sees; a null
 * actor includes all.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function reconcileFactsAbout(
  deps: FactDeps,
  { tenant, userId, actor }: Pick<FactScope, 'tenant' | 'actor'> & { userId: string },
  signal?: AbortSignal,
): Promise<void> {
  const scope = { tenant, userId, actor, conversationId: null }
  await reconcileScope(deps, scope, DEFAULT_FACTS, async () => true, signal)
}

/**
 * Runs one automatic reconciliation of the DEFAULT_FACTS newest facts of each set about a user, if a run is due; one
 * run becomes due per `every` turns by the user. Returns false if none is due, or if another process ran it.
 * @throws ProviderFailed, or the signal's reason after an abort
 */
export async function reconcileDue(
  deps: FactDeps,
  tenant: string,
  userId: string,
  every: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const progress = await readProgressOf(deps.db, tenant, userId)
  if (!progress || runsDue(progress.turns, progress.reconciledTurns, every) === 0) return false
  const scope = { tenant, userId, conversationId: null, actor: null }
  const advance = (tx: Tx) => advanceReconciliation(tx, tenant, userId, progress.reconciledTurns, every)
  return (await reconcileScope(deps, scope, DEFAULT_FACTS, advance, signal)) !== null
}
