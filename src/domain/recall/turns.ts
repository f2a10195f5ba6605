// Recalls turns: gathers candidates, adds the features of their neighbours and ranks them.

import { STOP_WORDS, words } from '../../text/words.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import { createYield } from '../../yield.ts'
import type { RecallDeps } from './deps.ts'
import type { Viewer } from '../view.ts'
import { inverseDocumentFrequencies } from './bm25.ts'
import { candidateReader, type TurnCandidate } from './candidate.ts'
import { gather } from './gather.ts'
import type { SearchRequest, GatheredTurns } from './search.ts'
import { readQuestion } from './question.ts'
import { rank, type Ranked } from './rank.ts'

/** Returns the turns that match the query, best first. */
export async function recallTurns(
  deps: RecallDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  query: string,
  request: SearchRequest,
): Promise<{ found: Ranked<TurnCandidate>[]; vectorSearch: GatheredTurns['vectorSearch'] }> {
  if (conversations.length === 0) return { found: [], vectorSearch: 'NONE' }
  const gathered = await gather(deps, viewer, conversations, request)
  return { found: await rankGathered(query, gathered), vectorSearch: gathered.vectorSearch }
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

/** Number of candidates after which ranking checks whether to yield to the event loop. */
const YIELD_AFTER = 64

/** Ranks the gathered candidates, best first. */
async function rankGathered(
  query: string,
  { sequences, candidates, participants, statistics }: GatheredTurns,
): Promise<Ranked<TurnCandidate>[]> {
  const named = participants.map((each) => ({
    ...each,
    names: [...namesOf(each.actor), ...namesOf(each.displayName ?? '')],
  }))
  const question = readQuestion(
    query,
    named.flatMap(({ names }) => names),
  )
  const actors = new Map<string, Set<string>>()
  for (const { conversationId, actor, names } of named) {
    if (!names.some((each) => question.names.has(each))) continue
    actors.set(conversationId, (actors.get(conversationId) ?? new Set()).add(actor))
  }
  const read = candidateReader({
    idf: inverseDocumentFrequencies(statistics),
    averageLength: statistics.averageLength,
    namesActor: ({ conversationId, actor }) => actors.get(conversationId)?.has(actor) ?? false,
  })
  const found: TurnCandidate[] = []
  const yieldIfDue = createYield()
  for (const [i, sequence] of sequences.entries()) {
    for (const index of candidates[i]!) {
      found.push(read(sequence, index))
      if (found.length % YIELD_AFTER === 0) await yieldIfDue()
    }
  }
  return rank(question, found)
}
