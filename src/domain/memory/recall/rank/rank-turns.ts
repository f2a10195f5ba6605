// Ranks the candidates of a search for turns. Pure. Creates objects only for the hits that the caller iterates over,
// because there may be thousands of candidates.

import { inverseDocumentFrequencies } from './bm25.ts'
import { candidateAt, featuresOf, type TurnCandidate, type TurnFeatures } from './features.ts'
import { readQuestion, type Question, type NamedActor } from './question.ts'
import { TextScale, weightedSignals, type Ranked, type Ranking, type Signals } from './rank.ts'
import { COMPARED, comparedOf, relevanceAmong } from './relevance.ts'
import type { GatheredTurns } from '../search/request.ts'

/**
 * The scores of the candidates of all sequences, in flat arrays. Elements with the same index describe one candidate.
 */
type Scores = { scores: Float64Array; times: Float64Array; scale: TextScale; hasVectors: boolean }

/** Returns the ranking of the gathered candidates. @param now time of the query */
export function rankTurns(query: string, gathered: GatheredTurns, now: Date): Ranking<TurnCandidate> {
  const { sequences, candidates, participants, statistics } = gathered
  const question = readQuestion(
    query,
    participants.flatMap(({ names }) => names),
    now,
  )
  const named = namedActors(question, participants)
  const search = {
    idf: inverseDocumentFrequencies(statistics),
    averageLength: statistics.averageLength,
    namesActor: (conversationId: string, actor: string) => named.get(conversationId)?.has(actor) ?? false,
  }
  const parts = sequences.map((sequence, i) => featuresOf(search, sequence, candidates[i]!))
  const scored = scoresOf(question, parts)
  return { count: scored.scores.length, hits: { [Symbol.iterator]: () => hitsOf(parts, scored) } }
}

/** Returns the actors that the question names, by conversation. */
function namedActors(question: Question, participants: readonly NamedActor[]): Map<string, Set<string>> {
  const named = new Map<string, Set<string>>()
  if (question.names.size === 0) return named
  for (const { conversationId, actor, names } of participants) {
    if (!names.some((each) => question.names.has(each))) continue
    named.set(conversationId, (named.get(conversationId) ?? new Set()).add(actor))
  }
  return named
}

/** Returns the scores of the candidates, computed as in `rank`. */
function scoresOf(question: Question, parts: readonly TurnFeatures[]): Scores {
  const count = parts.reduce((sum, { places }) => sum + places.length, 0)
  const [scores, times] = [new Float64Array(count), new Float64Array(count)]
  const scale = new TextScale()
  for (const { bm25, matched, echo } of parts) {
    for (let i = 0; i < bm25.length; i++) scale.add(bm25[i]!, matched[i]!, echo[i] === 1)
  }
  let hasVectors = false
  let next = 0
  for (const { sequence, places, ...features } of parts) {
    const { entries, turns, similarities } = sequence
    for (let i = 0; i < places.length; i++) {
      const turn = turns[places[i]!]!
      const signals: Signals = {
        named: features.named[i] === 1,
        at: entries.times[turn]!,
        cues: entries.cues[turn]!,
        session: features.session[i]!,
        length: entries.lengths[turn]!,
        similarityWithNeighbours: features.similarityWithNeighbours[i]!,
        answers: features.answers[i] === 1,
        echo: features.echo[i] === 1,
      }
      scores[next] = (scale.scoreOf(features.bm25[i]!) ?? 0) + weightedSignals(question, signals)
      times[next] = signals.at
      hasVectors ||= !Number.isNaN(similarities[places[i]!])
      next += 1
    }
  }
  return { scores, times, scale, hasVectors }
}

/**
 * Yields the hits, best first. Reads at least COMPARED of them first, because the relevance of each depends on them.
 */
function* hitsOf(parts: readonly TurnFeatures[], scored: Scores): Generator<Ranked<TurnCandidate>> {
  const order = descending(scored)
  const best: ReturnType<typeof hitAt>[] = []
  while (comparedOf(best).length < COMPARED) {
    const { value, done } = order.next()
    if (done) break
    best.push(hitAt(parts, scored, value))
  }
  const relevanceOf = relevanceAmong(comparedOf(best), scored.hasVectors)
  for (const hit of best) yield { ...hit, relevance: relevanceOf(hit) }
  for (const index of order) {
    const hit = hitAt(parts, scored, index)
    yield { ...hit, relevance: relevanceOf(hit) }
  }
}

function hitAt(parts: readonly TurnFeatures[], { scores, scale }: Scores, index: number) {
  let [part, i] = [0, index]
  while (i >= parts[part]!.places.length) i -= parts[part++]!.places.length
  const candidate = candidateAt(parts[part]!, i)
  return { candidate, score: scores[index]!, textScore: scale.scoreOf(candidate.bm25) }
}

/**
 * Yields the indexes of the scores, highest first; at equal scores, the newer candidate first, then the lower index.
 */
function* descending({ scores, times }: Scores): Generator<number> {
  // Use a heap instead of sorting, because callers read few of the indexes.
  const heap = new Int32Array(scores.length)
  for (let index = 0; index < heap.length; index++) heap[index] = index
  const isBefore = (a: number, b: number) =>
    scores[a] !== scores[b] ? scores[a]! > scores[b]! : times[a] !== times[b] ? times[a]! > times[b]! : a < b
  const sink = (at: number, size: number) => {
    const moved = heap[at]!
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, moved)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = moved
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(at, heap.length)
  for (let size = heap.length; size > 0; size--) {
    yield heap[0]!
    heap[0] = heap[size - 1]!
    sink(0, size - 1)
  }
}
