// Plans which active facts of one visibility set are merged, contradicted or kept. Pure. The plan does not depend on
// the order of the facts, and a second pass changes nothing.

import { runSteps } from '../../yield.ts'
import type { Verdict } from '../../providers/ports/fact-judge.ts'
import { contentHash, type Statement } from './content-hash.ts'
import { isKeptApart, latest } from './kept-apart.ts'
import { contradicts, isOpen, isSame, THRESHOLDS, toComparedFact, type ComparedFact, type Thresholds } from './same.ts'

export type ActiveFact = Statement & {
  id: string
  /** 0 to 1. */
  confidence: number
  observedAt: Date
  contentHash: string
  /** Embedding of the object: a unit vector, or all zeros. All facts use the same embedder. Null until embedded. */
  vector: Float32Array | null
  /** Trust level; a higher value is more trusted (trust.ts). */
  trust: number
  /** Time at which a source last asserted the fact anew, by the clock of the server. */
  assertedAt: Date
  /** Time at which undoReconciliation made the fact active again; null if that never happened (kept-apart.ts). */
  restoredAt: Date | null
}

/** A new fact that replaces duplicates. */
type MergedFact = Statement & {
  /** Identifies the merged fact in `contradicted` and `disputed`, because it has no id yet. */
  key: string
  confidence: number
  observedAt: Date
  contentHash: string
  trust: number
  assertedAt: Date
  restoredAt: Date | null
  /** Id of the original whose texts, vectors and sources are copied to the merged fact. */
  from: string
}

type FactPair = { a: string; b: string }

/** `kept`, `originals` and `loser` together contain the id of each fact exactly once. Lists are sorted by id or key. */
export type ReconciliationPlan = {
  /** New facts, each with the ids of the duplicates that it replaces. */
  merged: { into: MergedFact; originals: string[] }[]
  /** Facts to supersede. `winner` is the id of a kept fact, or the key of a merged one. */
  contradicted: { loser: string; winner: string }[]
  /** Ids of the facts that do not change. */
  kept: string[]
  /**
   * Contradictory pairs of facts that are both kept or merged: `a` would win by time of observation, confidence or
   * hash, but is less trusted than `b`. Ids of kept facts, or keys of merged ones.
   */
  disputed: FactPair[]
  /** Verdicts on unknown facts, on pairs that are not open, and on pairs whose verdicts differ. */
  rejected: { verdict: Verdict; why: 'UNKNOWN_ID' | 'NOT_ASKED' | 'AMBIGUOUS' }[]
}

type ComparedActiveFact = ActiveFact & { compared: ComparedFact }
/** A fact and its duplicates. `lead` is the first of them by `byClarity`. */
type FactCluster = {
  lead: ComparedActiveFact
  members: ComparedActiveFact[]
  observedAt: Date
  confidence: number
  assertedAt: Date
  restoredAt: Date | null
  key: string
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const pairKey = ({ a, b }: FactPair) => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** Total order of clusters. The first of two contradictory clusters with equal trust wins. */
const byWinning = (a: FactCluster, b: FactCluster) =>
  b.observedAt.getTime() - a.observedAt.getTime()
  || b.confidence - a.confidence
  || byText(a.lead.contentHash, b.lead.contentHash)
  || byText(a.lead.id, b.lead.id)

/** Number of words above which further words do not make an object clearer. */
const CLEAR_WORDS = 12

/**
 * Order of facts: the most trusted first, then the one whose object has more words (up to CLEAR_WORDS), the shorter
 * object, the higher confidence, the lower hash, and the lower id.
 */
const byClarity = (a: ComparedActiveFact, b: ComparedActiveFact) =>
  b.trust - a.trust
  || Math.min(CLEAR_WORDS, b.compared.words.length) - Math.min(CLEAR_WORDS, a.compared.words.length)
  || a.object.length - b.object.length
  || b.confidence - a.confidence
  || byText(a.contentHash, b.contentHash)
  || byText(a.id, b.id)

/** Adds the compared form to each fact, and sorts the facts by clarity. Yields after each fact. */
function* prepareSteps(facts: readonly ActiveFact[]): Generator<void, ComparedActiveFact[]> {
  const prepared: ComparedActiveFact[] = []
  for (const fact of facts) {
    prepared.push({ ...fact, compared: toComparedFact(fact) })
    yield
  }
  return prepared.sort(byClarity)
}

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

/** Splits the verdicts into accepted ones, by pair, and rejected ones (see ReconciliationPlan). */
function checkVerdicts(facts: readonly ComparedActiveFact[], verdicts: readonly Verdict[], thresholds: Thresholds) {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const answers = new Map<string, Set<Verdict['relation']>>()
  for (const verdict of verdicts) {
    const key = pairKey(verdict)
    answers.set(key, (answers.get(key) ?? new Set()).add(verdict.relation))
  }
  const accepted = new Map<string, Verdict['relation']>()
  const rejected: ReconciliationPlan['rejected'] = []
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

function toFactCluster(members: ComparedActiveFact[]): FactCluster {
  const lead = members[0]!
  const trusted = members.filter(({ trust }) => trust === lead.trust)
  return {
    lead,
    members,
    observedAt: new Date(Math.max(...trusted.map(({ observedAt }) => observedAt.getTime()))),
    confidence: Math.max(...trusted.map(({ confidence }) => confidence)),
    assertedAt: latest(members.map(({ assertedAt }) => assertedAt))!,
    restoredAt: latest(members.map(({ restoredAt }) => restoredAt)),
    key: members.length > 1 ? `merged:${lead.id}` : lead.id,
  }
}

/** Returns a map for each relation: from the id of a fact to the ids of the facts that verdicts relate to it. */
function partnersOf(accepted: ReadonlyMap<string, Verdict['relation']>) {
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

/** Creates an index of items by slot (see same.ts), in insertion order. The rules relate only facts of one slot. */
function bySlot<T>(): { at(slot: string): T[]; add(slot: string, item: T): void } {
  const slots = new Map<string, T[]>()
  const at = (slot: string) => slots.get(slot) ?? []
  return { at, add: (slot, item) => slots.set(slot, at(slot)).get(slot)!.push(item) }
}

/**
 * Groups duplicates. Adds each fact to the first group whose first fact it duplicates, or to a new group. Hence the
 * first facts of two groups are never duplicates, and a second pass merges nothing. Yields after each fact.
 */
function* group(
  prepared: readonly ComparedActiveFact[],
  same: ReadonlyMap<string, ReadonlySet<string>>,
  thresholds: Thresholds,
): Generator<void, ComparedActiveFact[][]> {
  type Group = { index: number; members: ComparedActiveFact[] }
  const groups: Group[] = []
  const inSlots = bySlot<Group>()
  const byLead = new Map<string, Group>()
  for (const fact of prepared) {
    const { slot } = fact.compared
    const byRule = inSlots
      .at(slot)
      .find(({ members: [lead] }) => isSame(lead!.compared, fact.compared, thresholds) && !isKeptApart(lead!, fact))
    const judged = [...(same.get(fact.id) ?? [])].flatMap((id) => byLead.get(id) ?? [])
    const [first] = [...(byRule ? [byRule] : []), ...judged].sort((a, b) => a.index - b.index)
    if (first) first.members.push(fact)
    else {
      const created = { index: groups.length, members: [fact] }
      groups.push(created)
      inSlots.add(slot, created)
      byLead.set(fact.id, created)
    }
    yield
  }
  return groups.map(({ members }) => members)
}

/** Plans the reconciliation of the active facts of one visibility set. The ids must be distinct. */
export function reconcile(
  facts: readonly ActiveFact[],
  verdicts: readonly Verdict[] = [],
  thresholds: Thresholds = THRESHOLDS,
): ReconciliationPlan {
  return runSteps(planSteps(facts, verdicts, thresholds))
}

/**
 * Runs `reconcile` in steps: yields after each fact. With 500 facts, a step takes less than a millisecond.
 *
 * Each fact is kept, merged or contradicted. The winner over a contradicted fact is always kept or merged, so the plan
 * has no chains and no cycles.
 *
 * Duplicates (same.ts) are merged. The merged fact has the texts of the clearest of the most trusted duplicates, and
 * the latest time and highest confidence of the most trusted ones. Repetition does not raise the confidence.
 *
 * Of two contradictory facts, the one observed later wins. If the times are equal, the more confident fact wins, and
 * then the one with the lower content hash. A less trusted fact never supersedes a more trusted one: if it would win,
 * both are kept and reported as disputed. Facts that an undo keeps apart (kept-apart.ts) are neither duplicates nor
 * contradictory.
 */
export function* planSteps(
  facts: readonly ActiveFact[],
  verdicts: readonly Verdict[] = [],
  thresholds: Thresholds = THRESHOLDS,
): Generator<void, ReconciliationPlan> {
  const prepared = yield* prepareSteps(facts)
  const { accepted, rejected } = checkVerdicts(prepared, verdicts, thresholds)
  const { SAME: same, CONTRADICTORY: contradictory } = partnersOf(accepted)
  const clusters = (yield* group(prepared, same, thresholds)).map(toFactCluster).sort(byWinning)

  const plan: ReconciliationPlan = { merged: [], contradicted: [], kept: [], disputed: [], rejected }
  const keptInSlots = bySlot<FactCluster>()
  const keptById = new Map<string, FactCluster>()
  for (const cluster of clusters) {
    yield
    const { slot } = cluster.lead.compared
    const byRule = keptInSlots
      .at(slot)
      .filter(
        (other) => contradicts(other.lead.compared, cluster.lead.compared, thresholds) && !isKeptApart(other, cluster),
      )
    const judged = cluster.members.flatMap(({ id }) =>
      [...(contradictory.get(id) ?? [])].flatMap((partner) => keptById.get(partner) ?? []),
    )
    // Sort the rivals, so that the first one that is trusted enough wins.
    const rivals = [...new Set([...byRule, ...judged])].sort(byWinning)
    const winner = rivals.find((rival) => rival.lead.trust >= cluster.lead.trust)
    if (winner) {
      for (const { id } of cluster.members) plan.contradicted.push({ loser: id, winner: winner.key })
      continue
    }
    keptInSlots.add(slot, cluster)
    for (const { id } of cluster.members) keptById.set(id, cluster)
    for (const rival of rivals) plan.disputed.push({ a: rival.key, b: cluster.key })
    if (cluster.members.length === 1) plan.kept.push(cluster.lead.id)
    else plan.merged.push({ into: toMerged(cluster), originals: cluster.members.map(({ id }) => id).sort(byText) })
  }
  plan.merged.sort((x, y) => byText(x.into.key, y.into.key))
  plan.contradicted.sort((x, y) => byText(x.loser, y.loser))
  plan.kept.sort(byText)
  plan.disputed.sort((x, y) => byText(x.a, y.a) || byText(x.b, y.b))
  plan.rejected.sort(
    ({ verdict: x }, { verdict: y }) => byText(x.a, y.a) || byText(x.b, y.b) || byText(x.relation, y.relation),
  )
  return plan
}

function toMerged({ lead, key, observedAt, confidence, assertedAt, restoredAt }: FactCluster): MergedFact {
  const { id: from, subject, predicate, object, trust } = lead
  const statement = { subject, predicate, object }
  const times = { observedAt, assertedAt, restoredAt }
  return { ...statement, ...times, key, from, confidence, trust, contentHash: contentHash(statement) }
}
