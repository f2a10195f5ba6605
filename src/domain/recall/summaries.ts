// Summaries that a query is about, by their words alone: no vectors are kept of them. Of each conversation those are
// looked at that stand for the viewer's oldest turns, and so nothing that the viewer may not have.

import { terms as termsOf } from '../../text/words.ts'
import type { ScopeConversation } from '../../store/sql/recall/read-scope.ts'
import type { RecallDeps } from './deps.ts'
import { coveringSummaries, type Summary } from '../summary/summary.ts'
import type { Viewer } from '../view.ts'
import { countsOf, rankStandalone } from './standalone.ts'
import { cuesOf } from '../indexing/cues.ts'
import type { SearchRequest } from './gather.ts'
import { READ } from '../indexing/index-entry.ts'
import { hashTerm } from '../../text/term-hash.ts'
import { createYield } from '../../yield.ts'
import type { RankedMemory } from './memory.ts'
import { readQuestion } from './question.ts'

/** The newest so many of the scope are searched. */
const NEWEST = 1_000
/** Conversations whose summaries are read at once. */
const CONVERSATIONS = 500

async function newestOf(
  deps: RecallDeps,
  viewer: Viewer,
  conversationIds: readonly string[],
  meets: (summary: Summary) => boolean,
) {
  let newest: Summary[] = []
  for (let from = 0; from < conversationIds.length; from += CONVERSATIONS) {
    const found = await coveringSummaries(deps, viewer, conversationIds.slice(from, from + CONVERSATIONS))
    newest = [...newest, ...[...found.values()].flat().filter(meets)]
      .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1))
      .slice(0, NEWEST)
  }
  return newest
}

/**
 * Best first: those of the 1,000 newest that hold any of the query's words. The filter's times go by when a summary was
 * written; they are of everybody, so none meets one for actors, roles or metadata.
 */
export async function recallSummaries(
  deps: RecallDeps,
  viewer: Viewer,
  conversationIds: readonly ScopeConversation[],
  query: string,
  { terms, filter }: SearchRequest,
): Promise<RankedMemory[]> {
  const { actors, roles, metadata, since, until } = filter
  if (terms.size === 0 || actors || roles || metadata) return []
  const summaries = await newestOf(
    deps,
    viewer,
    conversationIds.map(({ id }) => id),
    ({ createdAt }) => (!since || createdAt >= since) && (!until || createdAt < until),
  )
  const read: { summary: Summary; terms: number[] }[] = []
  const yieldIfDue = createYield()
  for (const summary of summaries) {
    read.push({ summary, terms: termsOf(summary.content.slice(0, READ)).map(hashTerm) })
    await yieldIfDue()
  }
  const counted = read.map((each) => ({ ...each, counts: countsOf(terms, each.terms) }))
  const matching = counted.filter(({ counts }) => counts.size > 0)
  const statistics = {
    texts: read.length,
    holding: [...terms.values()].map((number) => matching.filter(({ counts }) => counts.has(number)).length),
    averageLength: matching.reduce((sum, each) => sum + each.terms.length, 0) / (matching.length || 1) || 1,
  }
  // When it was written says nothing of when what it tells of was said.
  const question = { ...readQuestion(query, []), periods: [] }
  return rankStandalone(
    question,
    terms,
    statistics,
    matching.map(({ summary, terms: own }) => ({
      summary,
      terms: own,
      named: false,
      at: summary.createdAt.getTime(),
      similarity: null,
      cues: cuesOf(summary.content, new Set()),
    })),
  ).map((ranked) => ({ kind: 'SUMMARY', summary: ranked.candidate.summary, ...ranked }))
}
