// Plans which active facts of one visibility set are merged, contradicted or kept. Pure. The plan names each fact
// exactly once; the winner over a contradicted fact is always kept or merged, so there are no chains and no cycles; the
// plan does not depend on the order of the facts; a second pass changes nothing.
//
// Duplicates (same.ts) become one fact. It takes the words of the clearest, the latest time and the greatest confidence
// among the most trusted of them; repetition does not raise confidence. Of two contradictory facts, the later observed
// wins, then the more confident, then the one with the lower hash. A less trusted fact never supersedes a more trusted
// one: if the less trusted fact is newer, both are kept and reported as disputed.

import type { Verdict } from '../../providers/ports/fact-judge.ts'
import { contentHash, type Statement } from './content-hash.ts'
import { contradicts, isOpen, isSame, THRESHOLDS, toComparedFact, type ComparedFact, type Thresholds } from './same.ts'

export type ActiveFact = Statement & {
  id: string
  /** 0 to 1. */
  confidence: number
  observedAt: Date
  contentHash: string
  /** Vector of the object, of length 1 or all zeros, all by the same embedder; null if not embedded yet. */
  vector: Float32Array | null
  /** Greater is more trusted: see trust.ts. */
  trust: number
}

/** A new fact that replaces duplicates. */
type MergedFact = Statement & {
  /** Identifies the merged fact in `contradicted` and `disputed` until it has an id. */
  key: string
  confidence: number
  observedAt: Date
  contentHash: string
  trust: number
  /** Id of the original whose words, vectors and source turn it takes over. */
  from: string
}

type FactPair = { a: string; b: string }

/** `kept`, `originals` and `loser` together name each fact exactly once. Lists are in the order of ids. */
export type ReconciliationPlan = {
  merged: { into: MergedFact; originals: string[] }[]
  /** `winner`: the id of a kept fact, or the key of a merged one. */
  contradicted: { loser: string; winner: string }[]
  kept: string[]
  /**
   * Contradictory pairs of which both are kept, because the newer (a) is less trusted than the older (b). Ids or keys.
   */
  disputed: FactPair[]
  /** Verdicts that were ignored, and why. */
  rejected: { verdict: Verdict; why: 'UNKNOWN_ID' | 'NOT_ASKED' | 'AMBIGUOUS' }[]
}

type ComparedActiveFact = ActiveFact & { compared: ComparedFact }
/** A fact and its duplicates. `lead` is the clearest of the most trusted. */
type FactCluster = {
  lead: ComparedActiveFact
  members: ComparedActiveFact[]
  observedAt: Date
  confidence: number
  key: string
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const pairKey = ({ a, b }: FactPair) => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** A total order: of two contradictory clusters with equal trust, the first wins. */
const byWinning = (a: FactCluster, b: FactCluster) =>
  b.observedAt.getTime() - a.observedAt.getTime()
  || b.confidence - a.confidence
  || byText(a.lead.contentHash, b.lead.contentHash)
  || byText(a.lead.id, b.lead.id)

/** Number of words above which an object counts as no clearer. */
const CLEAR_WORDS = 12

/** Most trusted first, then clearest: more words up to CLEAR_WORDS, shorter, more confident, lower hash, lower id. */
const byClarity = (a: ComparedActiveFact, b: ComparedActiveFact) =>
  b.trust - a.trust
  || Math.min(CLEAR_WORDS, b.compared.words.length) - Math.min(CLEAR_WORDS, a.compared.words.length)
  || a.object.length - b.object.length
  || b.confidence - a.confidence
  || byText(a.contentHash, b.contentHash)
  || byText(a.id, b.id)

const prepare = (facts: readonly ActiveFact[]): ComparedActiveFact[] =>
  facts.map((fact) => ({ ...fact, compared: toComparedFact(fact) })).sort(byClarity)

/**
 * Returns at most `max` pairs that the rules leave open, for a model to judge. The result does not depend on the order
 * of the facts.
 */
export function openPairs(facts: readonly ActiveFact[], max = 100, thresholds: Thresholds = THRESHOLDS): FactPair[] {
  const sorted = prepare(facts).sort((a, b) => byText(a.id, b.id))
  const pairs: FactPair[] = []
  for (const [i, a] of sorted.entries()) {
    for (const b of sorted.slice(i + 1)) {
      if (pairs.length >= max) return pairs
      if (isOpen(a.compared, b.compared, thresholds)) pairs.push({ a: a.id, b: b.id })
    }
  }
  return pairs
}

/** Splits verdicts: `followed`, by pair, and `rejected` for an unknown fact, a pair that is not open, or a conflict. */
function checkVerdicts(facts: readonly ComparedActiveFact[], verdicts: readonly Verdict[], thresholds: Thresholds) {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const answers = new Map<string, Set<Verdict['relation']>>()
  for (const verdict of verdicts) {
    const key = pairKey(verdict)
    answers.set(key, (answers.get(key) ?? new Set()).add(verdict.relation))
  }
  const followed = new Map<string, Verdict['relation']>()
  const rejected: ReconciliationPlan['rejected'] = []
  for (const verdict of verdicts) {
    const [a, b] = [byId.get(verdict.a), byId.get(verdict.b)]
    const key = pairKey(verdict)
    if (!a || !b) rejected.push({ verdict, why: 'UNKNOWN_ID' })
    else if (a === b || !isOpen(a.compared, b.compared, thresholds)) rejected.push({ verdict, why: 'NOT_ASKED' })
    else if (answers.get(key)!.size > 1) rejected.push({ verdict, why: 'AMBIGUOUS' })
    else followed.set(key, verdict.relation)
  }
  return { followed, rejected }
}

function toFactCluster(members: ComparedActiveFact[]): FactCluster {
  const lead = members[0]!
  const trusted = members.filter(({ trust }) => trust === lead.trust)
  return {
    lead,
    members,
    observedAt: new Date(Math.max(...trusted.map(({ observedAt }) => observedAt.getTime()))),
    confidence: Math.max(...trusted.map(({ confidence }) => confidence)),
    key: members.length > 1 ? `merged:${lead.id}` : lead.id,
  }
}

/** Plans the reconciliation of the active facts of one visibility set, with distinct ids. */
export function reconcile(
  facts: readonly ActiveFact[],
  verdicts: readonly Verdict[] = [],
  thresholds: Thresholds = THRESHOLDS,
): ReconciliationPlan {
  const prepared = prepare(facts)
  const { followed, rejected } = checkVerdicts(prepared, verdicts, thresholds)
  const verdictOn = (a: ComparedActiveFact, b: ComparedActiveFact) => followed.get(pairKey({ a: a.id, b: b.id }))

  // Each fact joins the first group whose lead it duplicates. Hence no two leads are duplicates, and a second pass
  // merges nothing.
  const groups: ComparedActiveFact[][] = []
  for (const fact of prepared) {
    const group = groups.find(
      ([lead]) => isSame(lead!.compared, fact.compared, thresholds) || verdictOn(lead!, fact) === 'SAME',
    )
    if (group) group.push(fact)
    else groups.push([fact])
  }
  const clusters = groups.map(toFactCluster).sort(byWinning)

  const areContradictory = (a: FactCluster, b: FactCluster) =>
    contradicts(a.lead.compared, b.lead.compared, thresholds)
    || a.members.some((one) => b.members.some((other) => verdictOn(one, other) === 'CONTRADICTORY'))

  const plan: ReconciliationPlan = { merged: [], contradicted: [], kept: [], disputed: [], rejected }
  const kept: FactCluster[] = []
  for (const cluster of clusters) {
    const rivals = kept.filter((other) => areContradictory(other, cluster))
    const winner = rivals.find((rival) => rival.lead.trust >= cluster.lead.trust)
    if (winner) {
      for (const { id } of cluster.members) plan.contradicted.push({ loser: id, winner: winner.key })
      continue
    }
    kept.push(cluster)
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

function toMerged({ lead, observedAt, confidence, key }: FactCluster): MergedFact {
  const { id, subject, predicate, object, trust } = lead
  const statement = { subject, predicate, object }
  return { ...statement, key, from: id, confidence, observedAt, trust, contentHash: contentHash(statement) }
}
