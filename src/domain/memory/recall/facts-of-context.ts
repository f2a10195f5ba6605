// Ranks the facts that a context may contain: those of its conversation, and those about its people.

import type { RecallDeps } from './deps.ts'
import type { Fact } from '../fact/fact.ts'
import { trusted } from '../../kernel/rights/authorize.ts'
import type { Viewer } from '../../kernel/view.ts'
import { recallFacts } from './facts.ts'
import { toTerms, embedQuery } from './search/query.ts'

/**
 * Returns the facts that are most relevant to the query, best first, in the order of a recall of facts; at most `limit`.
 * Does not mark them as recalled. The caller must have checked that the viewer may read the facts.
 * @param users people whose facts from other conversations are searched, too
 */
export async function recallFactsOfContext(
  deps: RecallDeps,
  viewer: Viewer,
  { conversationId, users }: { conversationId: string; users: readonly string[] },
  { query, limit }: { query: string; limit: number },
): Promise<Fact[]> {
  const [terms, vector] = [toTerms(query, new deps.clock.Date()), await embedQuery(deps, query)]
  if (terms.size === 0 && vector === null) return []
  const request = { query, terms, vector, limit, filter: {}, queryTurn: null }
  const scope = { scope: 'CONVERSATION' as const, conversationId, users }
  const ranked = await recallFacts(deps, trusted(viewer), scope, request)
  return ranked.slice(0, limit).map(({ candidate }) => candidate.fact)
}
