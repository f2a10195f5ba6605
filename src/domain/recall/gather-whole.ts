// Finds candidate turns in a scope that is read completely: by the indexes of its conversations in memory
// (index-cache.ts), in each viewer's view.

import { readMatching } from '../../store/sql/recall/read-matching.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import type { IndexedVersion } from '../../store/sql/recall/read-turn-index.ts'
import type { SearchFilter } from '../../store/vector-search.ts'
import type { View, Viewer } from '../view.ts'
import { inverseDocumentFrequencies, type Statistics } from './bm25.ts'
import { ownScore, statisticsOf, withNeighbours } from './candidate.ts'
import { best, withoutQueryTurn, type GatherDeps, type GatheredTurns, type SearchRequest } from './search.ts'
import type { Sequence } from './sequence.ts'
import { searchIndex, type TurnIndex } from './turn-index.ts'

/** Returns the indexes of the conversations that the viewer sees, with the view of each. */
async function readIndexes(
  { pool, indexes, embedding }: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  vector: SearchRequest['vector'],
): Promise<{ index: TurnIndex; view: View }[]> {
  const embedder = vector?.embedder ?? embedding.serving().name
  const states = conversations.map(({ id, index: { state } }) => ({ id, state }))
  const read = await indexes.read(pool, viewer.tenant, embedder, states)
  return conversations.flatMap(({ id, index: { view } }) => {
    const index = read.get(id)
    return index ? [{ index, view }] : []
  })
}

/** Returns a function that decides whether a turn matches the filter. Reads only what the indexes do not contain. */
async function matcher(
  { pool }: GatherDeps,
  tenant: string,
  conversationIds: readonly string[],
  filter: SearchFilter,
): Promise<(conversationId: string, version: IndexedVersion) => boolean> {
  const { actors, roles, since, until, metadata, writtenBy } = filter
  const isRead = metadata != null || writtenBy != null
  const read = isRead ? await readMatching(pool, tenant, conversationIds, filter) : null
  if (read) return (conversationId, { seq }) => read.get(conversationId)?.has(seq) ?? false
  return (_, { actor, role, at }) =>
    (actors?.includes(actor) ?? true)
    && (roles?.includes(role) ?? true)
    && (since == null || at >= since.getTime())
    && (until == null || at < until.getTime())
}

/** Gathers candidates of conversations that are read whole. */
export async function gatherWhole(
  deps: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  { terms, vector, filter, limit, queryTurn }: SearchRequest,
): Promise<GatheredTurns> {
  const ids = conversations.map(({ id }) => id)
  const [read, isMatch] = await Promise.all([
    readIndexes(deps, viewer, conversations, vector),
    matcher(deps, viewer.tenant, ids, filter),
  ])
  const sequences: Sequence[] = []
  for (const { index, view } of read) {
    const isEligible = (version: IndexedVersion) => isMatch(index.conversationId, version)
    const sequence = await searchIndex(index, view, terms, vector?.query ?? null, isEligible)
    sequences.push(withoutQueryTurn(queryTurn, sequence))
  }
  const statistics = statisticsOf(terms.size, sequences)
  const found = findBest(sequences, statistics, limit)
  return {
    sequences,
    statistics,
    participants: read.flatMap(({ index }) => index.participants),
    candidates: sequences.map((sequence, i) => withNeighbours(sequence, found[i]!)),
    vectorSearch: vector ? 'EXACT' : 'NONE',
  }
}

/** For each sequence, returns the indexes of the best turns by words and by vectors, at most `limit` of each in all. */
function findBest(sequences: readonly Sequence[], statistics: Statistics, limit: number): Set<number>[] {
  const idf = inverseDocumentFrequencies(statistics)
  const byWords = new Float64Array(statistics.texts)
  const byVectors = new Float64Array(statistics.texts)
  /** The offset of each sequence's turns in the scores, followed by the number of all turns. */
  const offsets = [0]
  for (const sequence of sequences) {
    const { turns, eligible, similarities } = sequence
    const offset = offsets.at(-1)!
    for (let index = 0; index < turns.length; index++) {
      if (eligible[index] === 0) continue
      byWords[offset + index] = ownScore(idf, statistics.averageLength, sequence, index)
      // Shift every cosine above 0, so that dissimilar turns can fill the result.
      byVectors[offset + index] = similarities[index]! + 1 + 1e-6
    }
    offsets.push(offset + turns.length)
  }
  const found = sequences.map(() => new Set<number>())
  let i = 0
  for (const at of [...best(byWords, limit), ...best(byVectors, limit)].sort((a, b) => a - b)) {
    while (at >= offsets[i + 1]!) i += 1
    found[i]!.add(at - offsets[i]!)
  }
  return found
}
