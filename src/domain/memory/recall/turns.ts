// Recalls turns: gathers candidates and ranks them.

import type { ScopeConversation } from '../../../store/sql/memory/recall/read-scope.ts'
import type { RecallDeps } from './deps.ts'
import type { Viewer } from '../../kernel/view.ts'
import type { TurnCandidate } from './rank/features.ts'
import { gather } from './search/turns.ts'
import { rankTurns } from './rank/rank-turns.ts'
import { toRanking, type Ranking } from './rank/rank.ts'
import type { GatheredTurns, RecallRequest } from './search/request.ts'

/** Returns the ranked turns, and the method of the vector search. */
export async function recallTurns(
  deps: RecallDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  request: RecallRequest,
): Promise<{ found: Ranking<TurnCandidate>; vectorSearch: GatheredTurns['vectorSearch'] }> {
  if (conversations.length === 0) return { found: toRanking([]), vectorSearch: 'NONE' }
  const gathered = await gather(deps, viewer, { conversations }, request)
  return { found: rankTurns(request.query, gathered, new deps.clock.Date()), vectorSearch: gathered.vectorSearch }
}
