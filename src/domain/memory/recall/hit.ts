// Builds the hits that a recall returns.

import type { Read } from '../../../store/db/read.ts'
import { turnsAtRead } from '../../../store/sql/turn/read-turns.ts'
import { versionKey } from '../../../store/vectors/vector-search.ts'
import type { Turn } from '../../turn/turn.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { ChosenMemory, Memory, RankedMemory } from './memory.ts'

export type RecallHit = {
  memory: Memory
  /** The weighted sum of rank.ts. Hits are sorted by it, highest first, after those with a `rerankScore`. */
  score: number
  /** The reranker's score, on the scale of its model; null if the reranker has not scored the memory. */
  rerankScore: number | null
  /** Calibrated probability that the memory is evidence for the query (relevance.ts), 0 to 1. */
  relevance: number
  /**
   * Cosine of query and memory; for a fact, the greater of the cosines of its two vectors. Null for summaries, and if
   * the query or the memory has no vector.
   */
  similarity: number | null
  /**
   * BM25 score divided by the best score of the same kind, 0 to 1. Lower for facts and summaries (see rankStandalone).
   * Null if no word matches.
   */
  textScore: number | null
  /** Turns before and after a turn, as the viewer sees them, oldest first; empty for facts and summaries. */
  neighbours: Turn[]
}

/**
 * Returns the read of the turns of hits and of their neighbours, because ranking has read only index entries. Null if
 * there are no turns to read.
 */
export function turnsOfHitsRead(viewer: Viewer, chosen: readonly ChosenMemory[]): Read<Turn[]> | null {
  const versions = new Map(
    chosen
      .flatMap(({ hit: { candidate }, neighbours }) =>
        candidate.kind === 'TURN' ? [candidate.turn, ...neighbours] : [],
      )
      .map((turn) => [versionKey(turn), turn]),
  )
  return versions.size > 0 ? turnsAtRead(viewer, [...versions.values()]) : null
}

/**
 * Returns the hits. Omits a hit whose turn was not read.
 * @param read the turns that were read @param rerankScores the scores of the hits that the reranker scored
 */
export function hitsOf(
  chosen: readonly ChosenMemory[],
  read: readonly Turn[],
  rerankScores: ReadonlyMap<RankedMemory, number>,
): RecallHit[] {
  const turns = new Map(read.map((row) => [versionKey({ conversationId: row.conversationId, seq: row.seq }), row]))
  const memoryOf = ({ candidate }: RankedMemory): Memory | null => {
    if (candidate.kind === 'FACT') return { kind: 'FACT', fact: candidate.fact }
    if (candidate.kind === 'SUMMARY') return { kind: 'SUMMARY', summary: candidate.summary }
    // A turn may have been deleted since the search.
    const turn = turns.get(versionKey(candidate.turn))
    return turn ? { kind: 'TURN', turn } : null
  }
  return chosen.flatMap(({ hit, neighbours }) => {
    const memory = memoryOf(hit)
    if (!memory) return []
    const {
      candidate: { similarity },
      score,
      relevance,
      textScore,
    } = hit
    return [
      {
        memory,
        score,
        rerankScore: rerankScores.get(hit) ?? null,
        relevance,
        similarity,
        textScore,
        neighbours: neighbours.flatMap((each) => turns.get(versionKey(each)) ?? []),
      },
    ]
  })
}
