// Recalls summaries by words only, because summaries have no vectors. Searches only the current summaries that the
// viewer may read (see `coveringSummaries`).

import { terms as termsOf } from '../../../text/words/words.ts'
import type { ScopeConversation } from '../../../store/sql/memory/recall/scope.ts'
import type { RecallDeps } from './deps.ts'
import { coveringSummaries, type Summary } from '../summary/summary.ts'
import type { Viewer } from '../../kernel/view.ts'
import { countsOf, rankStandalone } from './rank/standalone.ts'
import { cuesOf } from '../indexing/cues.ts'
import type { RecallRequest } from './search/request.ts'
import { MAX_INDEXED_UNITS } from '../indexing/index-entry.ts'
import { hashTerm } from '../../../text/words/hashed-terms.ts'
import { createYield } from '../../../runtime/yield.ts'
import type { SummaryCandidate } from './memory.ts'
import { readQuestion } from './rank/question.ts'
import type { Ranked } from './rank/rank.ts'

/** Maximum number of summaries searched, newest first. */
export const MAX_SUMMARIES = 1_000
/** Maximum number of conversations whose summaries one statement reads. */
const BATCH_CONVERSATIONS = 500

/** Returns the MAX_SUMMARIES newest summaries for which `matches` returns true, newest first. */
async function newestOf(
  deps: RecallDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  matches: (summary: Summary) => boolean,
) {
  let newest: Summary[] = []
  for (let from = 0; from < conversationIds.length; from += BATCH_CONVERSATIONS) {
    const covering = await coveringSummaries(deps, viewer, conversationIds.slice(from, from + BATCH_CONVERSATIONS))
    newest = [...newest, ...[...covering.values()].flat().filter(matches)]
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1))
      .slice(0, MAX_SUMMARIES)
  }
  return newest
}

/**
 * Returns the summaries that contain any of the query's terms, best first. Searches the MAX_SUMMARIES newest ones. The
 * filter's times apply to a summary's creation time. No summary matches a filter for actors, roles or metadata.
 */
export async function recallSummaries(
  deps: RecallDeps,
  viewer: Viewer,
  conversations: readonly ScopeConversation[],
  { query, terms, filter }: RecallRequest,
): Promise<Ranked<SummaryCandidate>[]> {
  const { actors, roles, metadata, since, until, writtenBy } = filter
  if (terms.size === 0 || actors || roles || metadata) return []
  const summaries = await newestOf(
    deps,
    viewer,
    conversations.map(({ id }) => id),
    ({ createdAt }) =>
      (!since || createdAt >= since) && (!until || createdAt < until) && (!writtenBy || createdAt <= writtenBy),
  )
  const searched: { summary: Summary; terms: number[] }[] = []
  const yieldIfDue = createYield()
  for (const summary of summaries) {
    searched.push({ summary, terms: termsOf(summary.content.slice(0, MAX_INDEXED_UNITS)).map(hashTerm) })
    await yieldIfDue()
  }
  const counted = searched.map((each) => ({ ...each, counts: countsOf(terms, each.terms) }))
  const matching = counted.filter(({ counts }) => counts.size > 0)
  const statistics = {
    texts: searched.length,
    documentFrequencies: Array.from(
      { length: terms.size },
      (_, number) => matching.filter(({ counts }) => counts.has(number)).length,
    ),
    averageLength: matching.reduce((sum, each) => sum + each.terms.length, 0) / (matching.length || 1) || 1,
  }
  // Ignore named periods: a summary's creation time does not show when its turns were created.
  const question = { ...readQuestion(query, [], new deps.clock.Date()), periods: [] }
  return rankStandalone(
    question,
    terms,
    statistics,
    matching.map(({ summary, terms: own }) => ({
      kind: 'SUMMARY' as const,
      summary,
      terms: own,
      named: false,
      at: summary.createdAt.getTime(),
      similarity: null,
      cues: cuesOf(summary.content, new Set()),
    })),
  )
}
