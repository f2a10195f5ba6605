// Finds candidate turns in a scope that is read completely: by the indexes of its conversations in memory
// (index-cache.ts), in each viewer's view.

import { readMatching } from '../../store/sql/recall/read-matching.ts'
import type { IndexedTurn } from '../../store/sql/recall/read-index.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { readIndexViews, type IndexedVersion } from '../../store/sql/recall/read-turn-index.ts'
import type { SearchFilter } from '../../store/vector-search.ts'
import type { View, Viewer } from '../view.ts'
import { inverseDocumentFrequencies } from './bm25.ts'
import { ownScore, statisticsOf, withNeighbours } from './candidate.ts'
import { best, isOther, type GatherDeps, type GatheredTurns, type SearchRequest } from './search.ts'
import { cosine, turnsInView, type FoundVersion, type TurnIndex } from './turn-index.ts'

/** Returns the indexes of the conversations that the viewer sees, with the view of each. */
async function readIndexes(
  { pool, indexes, embedding }: GatherDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  vector: SearchRequest['vector'],
): Promise<{ index: TurnIndex; view: View }[]> {
  const embedder = vector?.embedder ?? embedding.serving().name
  const ids = conversations.map(({ id }) => id)
  const known = conversations.flatMap(({ id, index }) => (index ? [[id, index] as const] : []))
  const views = known.length > 0 ? new Map(known) : await readIndexViews(pool, viewer, embedder, ids)
  const visible = [...views].map(([id, { state }]) => ({ id, state }))
  const read = await indexes.read(pool, viewer.tenant, embedder, visible)
  return [...views].flatMap(([id, { view }]) => {
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
  const sequences: FoundVersion[][] = []
  for (const { index, view } of read) {
    const turns = await turnsInView(index, view, terms, (version) => isMatch(index.conversationId, version))
    sequences.push(queryTurn ? turns.filter(isOther(queryTurn)) : turns)
  }
  const scope = sequences.flat()
  const statistics = statisticsOf(terms.size, scope)
  const similarities = new Map<IndexedTurn, number>()
  if (vector) for (const turn of scope) if (turn.vector) similarities.set(turn, cosine(turn.vector, vector.query))
  const similarity = (turn: IndexedTurn) => similarities.get(turn) ?? null

  const eligible = scope.filter((turn) => turn.eligible)
  const idf = inverseDocumentFrequencies(statistics)
  const found = new Set<IndexedTurn>([
    ...best(eligible, (turn) => ownScore(idf, statistics.averageLength, turn), limit),
    // Shift the score of every turn with a vector above 0, so that dissimilar turns can fill the result.
    ...best(eligible, (turn) => (similarity(turn) ?? -2) + 1 + 1e-6, limit),
  ])
  return {
    sequences,
    statistics,
    similarity,
    participants: read.flatMap(({ index }) => index.participants),
    candidates: sequences.map((sequence) => withNeighbours(sequence, (turn) => found.has(turn))),
    vectorSearch: vector ? 'EXACT' : 'NONE',
  }
}
