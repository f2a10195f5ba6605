// Merges the ranked turns, facts and summaries, and chooses the hits that fit the token limit. Pure.

import { versionKey } from '../../../store/vectors/vector-search.ts'
import type { Fact } from '../fact/fact.ts'
import type { Summary } from '../summary/summary.ts'
import type { Turn } from '../../turn/turn.ts'
import type { TurnCandidate } from './rank/features.ts'
import { toRanking, type RankCandidate, type Ranked, type Ranking } from './rank/rank.ts'
import { turnAtPlace } from './index/sequence.ts'

export const KINDS = ['TURN', 'FACT', 'SUMMARY'] as const
export type MemoryKind = (typeof KINDS)[number]

export type Memory = { kind: 'TURN'; turn: Turn } | { kind: 'FACT'; fact: Fact } | { kind: 'SUMMARY'; summary: Summary }

export type FactCandidate = RankCandidate & { kind: 'FACT'; fact: Fact }
export type SummaryCandidate = RankCandidate & { kind: 'SUMMARY'; summary: Summary }

/** A ranked memory: a fact, a summary, or the index entry of a turn. */
export type RankedMemory = Ranked<TurnCandidate | FactCandidate | SummaryCandidate>

export type ChosenMemory = {
  hit: RankedMemory
  /** For a turn, the turns before and after it; empty for other kinds. */
  neighbours: TurnCandidate['turn'][]
}

/** Merges the rankings of several kinds. At equal scores, the newer hit is first. */
export function merge(...kinds: readonly Ranking<RankedMemory['candidate']>[]): Ranking<RankedMemory['candidate']> {
  const filled = kinds.filter(({ count }) => count > 0)
  if (filled.length < 2) return filled[0] ?? toRanking([])
  return {
    count: filled.reduce((sum, { count }) => sum + count, 0),
    hits: { [Symbol.iterator]: () => mergedHits(filled.map(({ hits }) => hits)) },
  }
}

function* mergedHits(kinds: readonly Iterable<RankedMemory>[]): Generator<RankedMemory> {
  const heads = kinds.map((hits) => {
    const iterator = hits[Symbol.iterator]()
    return { iterator, next: iterator.next() }
  })
  for (;;) {
    const left = heads.filter(({ next }) => next.done !== true)
    if (left.length === 0) return
    const best = left.reduce((a, b) => (isBefore(b.next.value, a.next.value) ? b : a))
    yield best.next.value
    best.next = best.iterator.next()
  }
}

const isBefore = (a: RankedMemory, b: RankedMemory) =>
  a.score !== b.score ? a.score > b.score : a.candidate.at > b.candidate.at

/**
 * Returns a hit's neighbours, up to `reach` on each side, and the token counts of the hit and its neighbours. Equal
 * keys denote the same turn, fact or summary.
 */
function withCosts(
  { candidate }: RankedMemory,
  reach: number,
): { around: TurnCandidate['turn'][]; costs: [key: string, tokens: number][] } {
  if (candidate.kind === 'FACT') return { around: [], costs: [[candidate.fact.id, candidate.fact.tokenCount]] }
  if (candidate.kind === 'SUMMARY') return { around: [], costs: [[candidate.summary.id, candidate.summary.tokenCount]] }
  const { turn: own, sequence, place } = candidate
  const around: TurnCandidate['turn'][] = []
  const last = Math.min(sequence.turns.length - 1, place + reach)
  for (let at = Math.max(0, place - reach); at <= last; at++) {
    if (at !== place) around.push(turnAtPlace(sequence, at))
  }
  return { around, costs: [own, ...around].map((turn) => [versionKey(turn), turn.tokens]) }
}

/** Returns the text that identifies a memory. All versions of a turn have the same identity. */
export const identityOf = ({ candidate }: RankedMemory): string =>
  candidate.kind === 'TURN'
    ? versionKey({ conversationId: candidate.turn.conversationId, seq: candidate.turn.position })
    : candidate.kind === 'FACT'
      ? candidate.fact.id
      : candidate.summary.id

/**
 * Chooses the best `k` hits that fit into `maxTokens` together with their neighbours, at most `reach` on each side. A
 * turn that is returned twice counts once. `isMore` is true if a further hit would fit as the first hit of a page.
 */
export function choose(
  ranked: Iterable<RankedMemory>,
  k: number,
  reach: number,
  maxTokens: number,
): { chosen: ChosenMemory[]; isMore: boolean } {
  const chosen: ChosenMemory[] = []
  let isMore = false
  const counted = new Set<string>()
  let left = maxTokens
  for (const hit of ranked) {
    if (chosen.length === k && isMore) break
    const { around, costs } = withCosts(hit, reach)
    const added = costs.filter(([key]) => !counted.has(key))
    const tokens = sumOf(added)
    if (chosen.length === k || tokens > left) {
      isMore ||= sumOf(costs) <= maxTokens
      continue
    }
    left -= tokens
    for (const [key] of added) counted.add(key)
    chosen.push({ hit, neighbours: around })
  }
  return { chosen, isMore }
}

const sumOf = (costs: readonly [key: string, tokens: number][]) => costs.reduce((sum, [, tokens]) => sum + tokens, 0)
