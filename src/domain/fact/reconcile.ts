// Decides what becomes of the active facts of one visibility set: which are merged, which are contradicted, which stay.
// Pure. Each fact is accounted for exactly once; who loses always points at one that stays, so there are no chains and
// no cycles; the order of the list says nothing; a second pass over the outcome changes nothing.
//
// The rules. Facts that say the same (same.ts) become one, with the words of the clearest of the most trusted of them;
// only the most trusted lend it their time (the latest) and their confidence (the greatest: repeating raises nothing).
// Of two that cannot both hold, the later observed stays, then the more confident, then the lower hash. A less trusted
// fact never displaces a more trusted one: where it is the newer, both stay, and the pair is reported as disputed.

import type { Verdict } from '../../providers/ports/fact-judge.ts'
import { contentHash, type Statement } from './content-hash.ts'
import { contradicts, isOpen, isSame, NEARNESS, toComparedFact, type ComparedFact, type Nearness } from './same.ts'

export type ActiveFact = Statement & {
  id: string
  /** 0 to 1. */
  confidence: number
  observedAt: Date
  contentHash: string
  /** The object's, of one embedder, of length 1 or all zeros; null where there is none yet. */
  vector: Float32Array | null
  /** Greater is more trusted: see trust.ts. */
  trust: number
}

/** A new fact in the place of others. */
type MergedFact = Statement & {
  /** Stands for it in `contradicted` and `disputed` until it has an id. */
  key: string
  confidence: number
  observedAt: Date
  contentHash: string
  trust: number
  /** The original whose words it has: its vectors and its source turn are the new fact's. */
  from: string
}

type FactPair = { a: string; b: string }

/** `kept`, `originals` and `loser` together name each fact exactly once. Lists are in the order of ids. */
export type ReconciliationPlan = {
  merged: { into: MergedFact; originals: string[] }[]
  /** `winner`: the id of one that is kept, or the key of a merged one. */
  contradicted: { loser: string; winner: string }[]
  kept: string[]
  /** Pairs that cannot both hold and both stay, since the newer (a) is less trusted than the older (b). Ids or keys. */
  disputed: FactPair[]
  /** Verdicts that were not followed, and why. */
  rejected: { verdict: Verdict; why: 'UNKNOWN_ID' | 'NOT_ASKED' | 'AMBIGUOUS' }[]
}

type ComparedActiveFact = ActiveFact & { compared: ComparedFact }
/** Facts that say the same. */
type FactCluster = {
  lead: ComparedActiveFact
  members: ComparedActiveFact[]
  observedAt: Date
  confidence: number
  key: string
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const pairKey = ({ a, b }: FactPair) => (a < b ? `${a} ${b}` : `${b} ${a}`)

/** A total order: who comes first is believed where two cannot both hold. */
const byWinning = (a: FactCluster, b: FactCluster) =>
  b.observedAt.getTime() - a.observedAt.getTime()
  || b.confidence - a.confidence
  || byText(a.lead.contentHash, b.lead.contentHash)
  || byText(a.lead.id, b.lead.id)

/** Of more words a sentence gets no clearer. */
const CLEAR_WORDS = 12

/** The clearest first: more trusted, then more words up to 12, then shorter, more confident, lower hash, lower id. */
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
 * Pairs that rules leave open, nearest subject matter only, at most `most`: what a model may be asked about. The same
 * for every order of the list.
 */
export function openPairs(facts: readonly ActiveFact[], most = 100, nearness: Nearness = NEARNESS): FactPair[] {
  const known = prepare(facts).sort((a, b) => byText(a.id, b.id))
  const pairs: FactPair[] = []
  for (const [i, a] of known.entries()) {
    for (const b of known.slice(i + 1)) {
      if (pairs.length >= most) return pairs
      if (isOpen(a.compared, b.compared, nearness)) pairs.push({ a: a.id, b: b.id })
    }
  }
  return pairs
}

/** The verdicts to follow, by pair, and those that are not: of unknown facts, of pairs not open, or two of one pair. */
function check(known: readonly ComparedActiveFact[], verdicts: readonly Verdict[], nearness: Nearness) {
  const byId = new Map(known.map((fact) => [fact.id, fact]))
  const said = new Map<string, Set<Verdict['says']>>()
  for (const verdict of verdicts) {
    const key = pairKey(verdict)
    said.set(key, (said.get(key) ?? new Set()).add(verdict.says))
  }
  const followed = new Map<string, Verdict['says']>()
  const rejected: ReconciliationPlan['rejected'] = []
  for (const verdict of verdicts) {
    const [a, b] = [byId.get(verdict.a), byId.get(verdict.b)]
    const key = pairKey(verdict)
    if (!a || !b) rejected.push({ verdict, why: 'UNKNOWN_ID' })
    else if (a === b || !isOpen(a.compared, b.compared, nearness)) rejected.push({ verdict, why: 'NOT_ASKED' })
    else if (said.get(key)!.size > 1) rejected.push({ verdict, why: 'AMBIGUOUS' })
    else followed.set(key, verdict.says)
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

/** @param facts the newest active ones of one visibility set, with distinct ids */
export function reconcile(
  facts: readonly ActiveFact[],
  verdicts: readonly Verdict[] = [],
  nearness: Nearness = NEARNESS,
): ReconciliationPlan {
  const known = prepare(facts)
  const { followed, rejected } = check(known, verdicts, nearness)
  const verdictOn = (a: ComparedActiveFact, b: ComparedActiveFact) => followed.get(pairKey({ a: a.id, b: b.id }))

  // Each joins the first lead it says the same as. So no two leads are the same: a second pass finds nothing to merge.
  const groups: ComparedActiveFact[][] = []
  for (const fact of known) {
    const group = groups.find(
      ([lead]) => isSame(lead!.compared, fact.compared, nearness) || verdictOn(lead!, fact) === 'SAME',
    )
    if (group) group.push(fact)
    else groups.push([fact])
  }
  const clusters = groups.map(toFactCluster).sort(byWinning)

  const clash = (a: FactCluster, b: FactCluster) =>
    contradicts(a.lead.compared, b.lead.compared, nearness)
    || a.members.some((one) => b.members.some((other) => verdictOn(one, other) === 'CONTRADICTORY'))

  const plan: ReconciliationPlan = { merged: [], contradicted: [], kept: [], disputed: [], rejected }
  const staying: FactCluster[] = []
  for (const cluster of clusters) {
    const rivals = staying.filter((other) => clash(other, cluster))
    const winner = rivals.find((rival) => rival.lead.trust >= cluster.lead.trust)
    if (winner) {
      for (const { id } of cluster.members) plan.contradicted.push({ loser: id, winner: winner.key })
      continue
    }
    staying.push(cluster)
    for (const rival of rivals) plan.disputed.push({ a: rival.key, b: cluster.key })
    if (cluster.members.length === 1) plan.kept.push(cluster.lead.id)
    else plan.merged.push({ into: toMerged(cluster), originals: cluster.members.map(({ id }) => id).sort(byText) })
  }
  plan.merged.sort((x, y) => byText(x.into.key, y.into.key))
  plan.contradicted.sort((x, y) => byText(x.loser, y.loser))
  plan.kept.sort(byText)
  plan.disputed.sort((x, y) => byText(x.a, y.a) || byText(x.b, y.b))
  plan.rejected.sort(({ verdict: x }, { verdict: y }) => byText(x.a, y.a) || byText(x.b, y.b) || byText(x.says, y.says))
  return plan
}

function toMerged({ lead, observedAt, confidence, key }: FactCluster): MergedFact {
  const { id, subject, predicate, object, trust } = lead
  const statement = { subject, predicate, object }
  return { ...statement, key, from: id, confidence, observedAt, trust, contentHash: contentHash(statement) }
}
