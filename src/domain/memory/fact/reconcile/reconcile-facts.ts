// Reconciles stored facts on demand: merges duplicates and supersedes contradicted facts. Reads the newest facts of each
// set, asks a model about the pairs that the rules of same.ts do not decide, lets reconcile.ts make the plans, and
// executes them (reconcile-sets.ts). reconcile-due.ts does the same in the background after each change.

import { z } from 'zod'
import type { FactRow } from '../../../../store/sql/memory/fact/fact-columns.ts'
import { readActiveFacts, type FactScope } from '../../../../store/sql/memory/fact/read-active-facts.ts'
import { runStepsYielding } from '../../../../runtime/yield.ts'
import { authorize, requirePermits, requireWriter } from '../../../kernel/rights/authorize.ts'
import type { FactDeps } from '../deps.ts'
import { between, id, name, parse } from '../../../kernel/input.ts'
import type { Viewer } from '../../../kernel/view.ts'
import { planSteps, type ReconciliationPlan } from './reconcile.ts'
import { executePlans, judge, toActiveFacts, type PlannedSet } from './reconcile-sets.ts'

/** Default of `n`, the maximum number of facts compared per set (setOf). */
export const DEFAULT_FACTS = 50
/** Upper limit of `n`. */
export const MAX_FACTS = 500
/** Maximum number of attempts if facts change while they are compared. The last attempt skips the changed facts. */
export const ATTEMPTS = 5

/** Result of a reconciliation. */
export type Reconciliation = {
  /** Number of compared facts that are neither duplicates nor contradicted. */
  kept: number
  /** Number of new facts that replace duplicates. */
  merged: number
  /** Number of facts superseded because they contradict another fact. */
  contradicted: number
}

/** Returns the key of a fact's set (reconcile-sets.ts). */
const setOf = ({ userId, conversationId, visibility }: FactRow) => `${userId ?? conversationId} ${visibility}`

/** Plans the reconciliation of the `n` newest facts of each set in scope. @throws ProviderFailed */
async function planSets(deps: FactDeps, scope: FactScope, n: number): Promise<PlannedSet[]> {
  const rows = await readActiveFacts(deps.db, scope, n)
  const active = await toActiveFacts(deps, scope.tenant, rows)
  const sets = new Map<string, number[]>()
  for (const [i, row] of rows.entries()) sets.set(setOf(row), [...(sets.get(setOf(row)) ?? []), i])
  const planned: PlannedSet[] = []
  for (const set of sets.values()) {
    const facts = set.map((i) => active[i]!)
    const plan = await runStepsYielding(planSteps(facts, await judge(deps, facts, null)))
    planned.push({ facts: set.map((i) => rows[i]!), plan })
  }
  return planned
}

/** Reconciles the `n` newest facts of each set in scope. @throws ProviderFailed */
async function reconcileScope(deps: FactDeps, scope: FactScope, n: number): Promise<Reconciliation> {
  for (let attempt = 1; ; attempt++) {
    const planned = await planSets(deps, scope, n)
    const result = await executePlans(deps, scope.tenant, planned, { compared: [], isPartial: attempt >= ATTEMPTS })
    if (result) return countChanges(result.executed)
  }
}

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
  await requirePermits(deps.db.of(viewer.tenant), viewer, 'reconcileFacts', {
    conversationId: conversationId ?? null,
    conditions: [
      ...(userId === viewer.actor
        ? []
        : [conversationId == null ? ('factsOfTenant' as const) : ('factsAboutOthers' as const)]),
    ],
  })
  const { tenant, actor } = viewer
  const scope = { tenant, actor, userId: userId ?? null, conversationId: conversationId ?? null }
  return reconcileScope(deps, scope, n ?? DEFAULT_FACTS)
}

/** Reconciles the DEFAULT_FACTS newest facts of each set about a user that the viewer sees. @throws ProviderFailed */
export async function reconcileFactsAbout(deps: FactDeps, { tenant, actor }: Viewer, userId: string): Promise<void> {
  await reconcileScope(deps, { tenant, userId, actor, conversationId: null }, DEFAULT_FACTS)
}
