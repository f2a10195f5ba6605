// Recalls turns: gathers candidates, adds the features of their neighbours and ranks them.

import { STOP_WORDS, words } from '../../text/words.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { versionKey } from '../../store/vector-search.ts'
import { createYield } from '../../yield.ts'
import type { RecallDeps } from './deps.ts'
import type { Viewer } from '../view.ts'
import { inverseDocumentFrequencies } from './bm25.ts'
import { toTurnCandidate, type TurnCandidate } from './candidate.ts'
import { gather } from './gather.ts'
import type { SearchRequest, GatheredTurns } from './search.ts'
import type { RankedMemory } from './memory.ts'
import { readQuestion } from './question.ts'
import { rank, type Ranked } from './rank.ts'

/** Returns the turns that match the query, best first. */
export async function recallTurns(
  deps: RecallDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  query: string,
  request: SearchRequest,
): Promise<{ found: RankedMemory[]; vectorSearch: GatheredTurns['vectorSearch'] }> {
  if (conversations.length === 0) return { found: [], vectorSearch: 'NONE' }
  const gathered = await gather(deps, viewer, conversations, request)
  return {
    found: (await rankGathered(query, gathered)).map((ranked) => ({ kind: 'TURN', ...ranked })),
    vectorSearch: gathered.vectorSearch,
  }
}

/**
 * Returns the names by which a query may refer to an actor or subject: the full name and its first word, except stop
 * words and single characters.
 */
export function namesOf(name: string): string[] {
  const all = words(name)
  const first = all[0]
  return [...new Set([all.join(' '), first ?? ''])].filter((each) => each.length > 1 && !STOP_WORDS.has(each))
}

/** Ranks the gathered candidates, best first, each turn once. */
async function rankGathered(
  query: string,
  { sequences, candidates, participants, statistics, similarity }: GatheredTurns,
): Promise<Ranked<TurnCandidate>[]> {
  // A neighbour of found turns may be a candidate in two sequences. Either sequence contains enough of its neighbours.
  const chosen = new Map(
    sequences.flatMap((sequence, i) =>
      candidates[i]!.map((index) => [versionKey(sequence[index]!), { sequence, index }] as const),
    ),
  )
  const keyOf = (conversationId: string, actor: string) => `${conversationId} ${actor}`
  const names = new Map(
    participants.map(({ conversationId, actor, displayName }) => [
      keyOf(conversationId, actor),
      [...namesOf(actor), ...namesOf(displayName ?? '')],
    ]),
  )
  const question = readQuestion(query, [...names.values()].flat())
  const search = {
    similarity,
    idf: inverseDocumentFrequencies(statistics),
    averageLength: statistics.averageLength,
    namesActor: ({ conversationId, actor }: { conversationId: string; actor: string }) =>
      (names.get(keyOf(conversationId, actor)) ?? []).some((each) => question.names.has(each)),
  }
  const ranked: TurnCandidate[] = []
  const yieldIfDue = createYield()
  for (const { sequence, index } of chosen.values()) {
    ranked.push(toTurnCandidate(search, sequence, index))
    await yieldIfDue()
  }
  return rank(question, ranked)
}
