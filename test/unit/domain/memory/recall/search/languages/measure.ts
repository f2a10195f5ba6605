// Ranks the turns of a set for its questions as recall does, without a database.

import { indexEntry } from '../../../../../../../src/domain/memory/indexing/index-entry.ts'
import { statisticsOf, withNeighbours } from '../../../../../../../src/domain/memory/recall/rank/features.ts'
import { toNamed } from '../../../../../../../src/domain/memory/recall/rank/question.ts'
import { toTerms } from '../../../../../../../src/domain/memory/recall/search/query.ts'
import { rankTurns } from '../../../../../../../src/domain/memory/recall/rank/rank-turns.ts'
import { matchesOf, type Sequence } from '../../../../../../../src/domain/memory/recall/index/sequence.ts'
import { dot } from '../../../../../../../src/runtime/unit-vector.ts'
import type { Embedder } from '../../../../../../../src/providers/ports/embedder.ts'
import { emptyTurns, numbering } from '../../../../../../../src/store/sql/memory/recall/indexed-turns.ts'
import { TermCounter } from '../../../../../../../src/text/words/hashed-terms.ts'
import type { LanguageSet } from './set.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 4, 4, 9)
/** Minutes between two turns, and from the last of SESSION_TURNS turns to the next session. */
const [PAUSE, GAP, SESSION_TURNS] = [5, 600, 4]

const timeOf = (turn: number) => START + (turn * PAUSE + Math.floor(turn / SESSION_TURNS) * GAP) * MINUTE

/** Where a question's turn was ranked, 1 for the first, and its relevance. */
export type Found = { question: string; rank: number; relevance: number }

/** Returns the index entries of the turns that contain terms of the query, as a sequence in which all are visible. */
function sequenceOf(turns: LanguageSet['turns'], query: ReturnType<typeof toTerms>, cosines: number[]): Sequence {
  const entries = emptyTurns('c', turns.length)
  const actorNumber = numbering(entries.names)
  const counter = new TermCounter(new Map(query), turns.length)
  for (const [index, [actor, text]] of turns.entries()) {
    const { terms, cues } = indexEntry(actor, text)
    for (const term of terms) counter.add(term)
    counter.endText()
    entries.positions[index] = entries.seqs[index] = index + 1
    entries.times[index] = timeOf(index)
    entries.cues[index] = cues
    entries.lengths[index] = terms.length
    entries.actors[index] = actorNumber(actor)
  }
  return {
    entries,
    turns: Int32Array.from(turns.keys()),
    eligible: new Uint8Array(turns.length).fill(1),
    similarities: Float64Array.from(cosines),
    matches: matchesOf(counter.finish(), turns.length, query.size),
  }
}

const isZero = (vector: Float32Array) => vector.every((component) => component === 0)

/** Time of the questions, none of which refers to it. */
const NOW = new Date('2026-11-27')

export async function measure({ turns, questions }: LanguageSet, embedder: Embedder): Promise<Found[]> {
  const vectors = await embedder.embed(turns.map(([, text]) => text))
  const asked = await embedder.embed(questions.map(([question]) => question))
  const participants = [...new Set(turns.map(([actor]) => actor))].map((actor) =>
    toNamed({ conversationId: 'c', actor, displayName: null }),
  )
  return questions.map(([question, answer], i) => {
    const terms = toTerms(question, NOW)
    const cosines = vectors.map((vector) => (isZero(vector) || isZero(asked[i]!) ? NaN : dot(vector, asked[i]!)))
    const sequence = sequenceOf(turns, terms, cosines)
    const statistics = statisticsOf(terms.size, [sequence])
    const candidates = [withNeighbours(sequence, turns.keys())]
    const gathered = { sequences: [sequence], candidates, statistics, participants, vectorSearch: 'EXACT' as const }
    const ranking = rankTurns(question, gathered, NOW)
    const hits = [...ranking.hits]
    const rank = hits.findIndex(({ candidate }) => candidate.turn.position === answer + 1)
    return { question, rank: rank + 1, relevance: hits[rank]!.relevance }
  })
}

/** The share of questions whose turn is first, and among the first three, in percent; the median relevance. */
export function figuresOf(found: readonly Found[]): { first: number; three: number; relevance: number } {
  const share = (to: number) => (100 * found.filter(({ rank }) => rank <= to).length) / found.length
  const relevances = found.map(({ relevance }) => relevance).sort((a, b) => a - b)
  return { first: share(1), three: share(3), relevance: relevances[relevances.length >> 1]! }
}
