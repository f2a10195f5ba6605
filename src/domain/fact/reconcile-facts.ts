// Reconciling: what says the same becomes one fact, and of two that cannot both hold one stays. The rules are in
// reconcile.ts; here are the facts it is asked about, the model that judges what rules leave open, and the one
// transaction that writes the outcome, if the facts are then as they were read.

import { z } from 'zod'
import { NotFound } from '../../errors.ts'
import { MOST_PAIRS, type JudgedFact, type Verdict } from '../../providers/ports/fact-judge.ts'
import type { Tx } from '../../store/db.ts'
import type { FactRow } from '../../store/sql/fact/fact-columns.ts'
import { readActiveFacts, readNames, type FactScope } from '../../store/sql/fact/read-active-facts.ts'
import { readProgressOf, takeReconciliation } from '../../store/sql/background/user-progress.ts'
import { copyFactVectors, insertFacts, lockFacts, supersedeFacts } from '../../store/sql/fact/write-facts.ts'
import { withTransaction } from '../../store/tx.ts'
import { getConversations } from '../conversation.ts'
import type { FactDeps } from './deps.ts'
import { askProvider } from '../ask-provider.ts'
import { runsDue } from '../automatic-thresholds.ts'
import { newId } from '../id.ts'
import { between, id, name, parse } from '../input.ts'
import type { Viewer } from '../view.ts'
import { embedFacts } from './embed.ts'
import { openPairs, reconcile, type ActiveFact, type ReconciliationPlan } from './reconcile.ts'
import { TRUST } from './trust.ts'
import { subjectFor } from './user.ts'
import { factTerms, lockConversations, noteFacts } from './write.ts'

/** Facts of one set that are looked at, unless another number is asked for, and at most. */
const FACTS = 50
const MOST = 500
/** Attempts where facts change while they are compared; the last one settles what did not. */
const ATTEMPTS = 5

/** What reconciling came to. */
export type Reconciliation = {
  /** Facts that stay as they are. */
  kept: number
  /** Facts that now stand for several that said the same. */
  merged: number
  /** Facts that gave way to others they cannot hold beside. */
  contradicted: number
}

/** Facts that are compared with one another, and what becomes of them. */
type ReconciliationOutcome = { facts: FactRow[]; plan: ReconciliationPlan }

const setOf = ({ userId, conversationId, visibility }: FactRow) => `${userId ?? conversationId} ${visibility}`

const judged = ({ id: fact, subject, predicate, object, observedAt }: ActiveFact): JudgedFact => ({
  id: fact,
  subject,
  predicate,
  object,
  observedAt: observedAt.toISOString(),
})

/** What the model says of pairs that rules leave open, where there is one. @throws ProviderFailed */
async function judge(deps: FactDeps, facts: readonly ActiveFact[], signal?: AbortSignal): Promise<Verdict[]> {
  const { judge: model } = deps.factServices
  const pairs = model ? openPairs(facts, MOST_PAIRS) : []
  if (!model || pairs.length === 0) return []
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const asked = pairs.map(({ a, b }) => ({ a: judged(byId.get(a)!), b: judged(byId.get(b)!) }))
  return askProvider(deps.log, 'judge facts', model.name, () => model.judge(asked, signal))
}

/** What is to become of the facts in scope, set by set. @throws ProviderFailed */
async function decide(
  deps: FactDeps,
  scope: FactScope,
  n: number,
  signal?: AbortSignal,
): Promise<ReconciliationOutcome[]> {
  const rows = await readActiveFacts(deps.db, scope, n)
  const users = [...new Set(rows.flatMap(({ userId }) => userId ?? []))]
  const [vectors, names] = await Promise.all([
    embedFacts(
      deps,
      rows.map((row) => row.id),
    ),
    readNames(deps.db, scope.tenant, users),
  ])
  const sets = new Map<string, FactRow[]>()
  for (const row of rows) sets.set(setOf(row), [...(sets.get(setOf(row)) ?? []), row])
  const outcomes: ReconciliationOutcome[] = []
  for (const facts of sets.values()) {
    const active = facts.map((fact): ActiveFact => ({
      ...fact,
      subject: subjectFor(fact, names),
      vector: vectors.get(fact.id) ?? null,
      trust: TRUST[fact.saidBy],
    }))
    outcomes.push({ facts, plan: reconcile(active, await judge(deps, active, signal)) })
  }
  return outcomes
}

/** Writes what becomes of one set; the changed facts. Those it supersedes are locked, and active. */
async function write(tx: Tx, tenant: string, { facts, plan }: ReconciliationOutcome): Promise<FactRow[]> {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const ids = new Map<string, string>()
  // In the words, and in the place, of the one it has them from: so it is seen by those alone who saw these.
  const merged = plan.merged.map(({ into }) => {
    const fact = {
      ...byId.get(into.from)!,
      id: newId('fact'),
      observedAt: into.observedAt,
      confidence: into.confidence,
    }
    ids.set(into.key, fact.id)
    return { fact, from: into.from }
  })
  const superseded = [
    ...plan.merged.flatMap(({ into, originals }) =>
      originals.map((original) => ({ id: original, by: ids.get(into.key)!, reason: 'DUPLICATE' as const })),
    ),
    ...plan.contradicted.map(({ loser, winner }) => ({
      id: loser,
      by: ids.get(winner) ?? winner,
      reason: 'CONTRADICT' as const,
    })),
  ]
  await supersedeFacts(tx, superseded)
  await insertFacts(
    tx,
    tenant,
    merged.map(({ fact }) => ({ ...fact, terms: factTerms(tenant, fact) })),
  )
  await copyFactVectors(
    tx,
    merged.map(({ fact, from }) => ({ from, to: fact.id })),
  )
  return [...merged.map(({ fact }) => fact), ...superseded.map((each) => byId.get(each.id)!)]
}

/** Of the plan, what rests on facts that are as they were read; the rest is for the next time. */
function resting({ facts, plan }: ReconciliationOutcome, locked: ReadonlySet<string>): ReconciliationOutcome {
  const merged = plan.merged.filter(({ originals }) => originals.every((original) => locked.has(original)))
  const keys = new Set(merged.map(({ into }) => into.key))
  const contradicted = plan.contradicted.filter(
    ({ loser, winner }) => locked.has(loser) && (keys.has(winner) || locked.has(winner)),
  )
  return { facts, plan: { ...plan, merged, contradicted } }
}

const changes = ({ plan }: ReconciliationOutcome) => plan.merged.length + plan.contradicted.length > 0

/** What the plan rests on: what it changes, and what wins by it. */
const touched = ({ plan }: ReconciliationOutcome): string[] => {
  const keys = new Set(plan.merged.map(({ into }) => into.key))
  return [
    ...plan.merged.flatMap(({ originals }) => originals),
    ...plan.contradicted.flatMap(({ loser, winner }) => (keys.has(winner) ? [loser] : [loser, winner])),
  ]
}

/**
 * Reconciles in one transaction, together with what `take` does there; null where that says no: then nothing is
 * written.
 * @throws ProviderFailed
 */
async function settle(
  deps: FactDeps,
  scope: FactScope,
  n: number,
  take: (tx: Tx) => Promise<boolean>,
  signal?: AbortSignal,
): Promise<Reconciliation | null> {
  for (let attempt = 1; ; attempt++) {
    const outcomes = await decide(deps, scope, n, signal)
    const busy = outcomes.filter(changes)
    const done = await withTransaction(deps.db, async (tx, afterCommit) => {
      const facts = busy.flatMap((outcome) => outcome.facts)
      await lockConversations(
        tx,
        scope.tenant,
        facts.flatMap(({ conversationId }) => conversationId ?? []),
      )
      const wanted = new Set(busy.flatMap(touched))
      const locked = new Set(
        await lockFacts(
          tx,
          facts.filter((fact) => wanted.has(fact.id)),
        ),
      )
      if (locked.size < wanted.size && attempt < ATTEMPTS) return 'changed'
      if (!(await take(tx))) return 'taken'
      const settled = outcomes.map((outcome) => resting(outcome, locked))
      const written: FactRow[] = []
      for (const outcome of settled) written.push(...(await write(tx, scope.tenant, outcome)))
      await noteFacts(deps, tx, afterCommit, scope.tenant, written)
      return summed(settled)
    })
    if (done === 'taken') return null
    if (done !== 'changed') return done
  }
}

const summed = (outcomes: readonly ReconciliationOutcome[]): Reconciliation => {
  const sum = (count: (plan: ReconciliationPlan) => number) =>
    outcomes.reduce((total, { plan }) => total + count(plan), 0)
  return {
    kept: sum(({ kept }) => kept.length),
    merged: sum(({ merged }) => merged.length),
    contradicted: sum(({ contradicted }) => contradicted.length),
  }
}

const reconcileFactsInput = z
  .object({ userId: name.nullish(), conversationId: id('conversation').nullish(), n: between(1, MOST).nullish() })
  .refine(({ userId, conversationId }) => userId != null || conversationId != null, {
    path: ['userId'],
    message: "give userId, conversationId or both: whose facts, or which conversation's",
  })
export type ReconcileFactsInput = z.input<typeof reconcileFactsInput>

/**
 * Reconciles the `n` (50) newest active facts of a user, of a conversation, or of a user in a conversation, as far as the viewer sees
 * them. Only facts that the same people see are compared, and `n` counts in each such set.
 * @throws InvalidInput @throws NotFound for a conversation the viewer's tenant has not @throws ProviderFailed
 */
export async function reconcileFacts(
  deps: FactDeps,
  viewer: Viewer,
  input: ReconcileFactsInput,
): Promise<Reconciliation> {
  const { userId, conversationId, n } = parse(reconcileFactsInput, input)
  if (conversationId != null && !(await getConversations(deps, viewer, [conversationId])).has(conversationId)) {
    throw new NotFound('conversation', conversationId)
  }
  const scope = { ...viewer, userId: userId ?? null, conversationId: conversationId ?? null }
  return (await settle(deps, scope, n ?? FACTS, async () => true))!
}

/**
 * One automatic reconciling of a user's facts, whoever sees them, where the user has said `every` turns more than the
 * ones before account for. False where not, or somebody else did it.
 * @throws ProviderFailed, or the reason of the signal
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
  const take = (tx: Tx) => takeReconciliation(tx, tenant, userId, progress.reconciledTurns, every)
  return (await settle(deps, scope, FACTS, take, signal)) !== null
}
