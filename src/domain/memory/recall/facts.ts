// Recalls the active facts that the viewer sees: finds them by words and by vectors, and scores them like turns. A
// query that names the subject of a fact raises the fact's score like a query that names the actor of a turn.

import { findFacts, type MatchingFacts } from '../../../store/sql/memory/recall/find-facts.ts'
import type { Scope } from '../../../store/sql/memory/recall/scope.ts'
import type { RecallDeps } from './deps.ts'
import { getFacts } from '../fact/fact.ts'
import { sentenceOf } from '../fact/write.ts'
import type { Viewer } from '../../kernel/view.ts'
import { inverseDocumentFrequencies, normOf, termScore, type Statistics } from './rank/bm25.ts'
import { rankStandalone } from './rank/standalone.ts'
import { Cue, cuesOf } from '../indexing/cues.ts'
import { best, type RecallRequest } from './search/request.ts'
import { saltOf, salted } from '../../../text/words/hashed-terms.ts'
import type { FactCandidate } from './memory.ts'
import { readQuestion, namesOf } from './rank/question.ts'
import type { Ranked } from './rank/rank.ts'

/** Matches a subject of capitalised words only. Such a subject counts as a name, and a query may use its first word. */
const NAME = /^\p{Lu}[^\s'’]*(?: \p{Lu}[^\s'’]*)*$/u

/** Returns the names by which a query may refer to a subject. "Ada" does not refer to "Ada's sister". */
const subjectNames = (subject: string): string[] =>
  NAME.test(subject)
    ? namesOf(subject)
    : [
        subject
          .toLowerCase()
          .replace(/[^\p{L}\p{N}]+/gu, ' ')
          .trim(),
      ]

/** Returns the statistics of the facts in scope. @param texts number of facts @param terms number of query terms */
function statisticsOf(texts: number, terms: number, { ids, counts, lengths }: MatchingFacts): Statistics {
  const documentFrequencies = new Array<number>(terms).fill(0)
  for (let entry = 0; entry < counts.starts[ids.length]!; entry++) documentFrequencies[counts.terms[entry]!]! += 1
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / (ids.length || 1) || 1
  return { texts, documentFrequencies, averageLength }
}

/** Returns the BM25 score of each matching fact; 0 for facts excluded by the filter. */
function scoresOfMatching(statistics: Statistics, { ids, counts, lengths, eligible }: MatchingFacts): Float64Array {
  const idf = inverseDocumentFrequencies(statistics)
  const scores = new Float64Array(ids.length)
  for (let index = 0; index < ids.length; index++) {
    if (eligible[index] === 0) continue
    const norm = normOf(lengths[index]!, statistics.averageLength)
    for (let entry = counts.starts[index]!; entry < counts.starts[index + 1]!; entry++) {
      scores[index]! += termScore(idf[counts.terms[entry]!]!, counts.counts[entry]!, norm)
    }
  }
  return scores
}

/**
 * Returns facts, best first. Scope OWNER contains the facts of the owner's conversations and the facts about the owner.
 * `conversationId` is the conversation to search for scope CONVERSATION. For scope OWNER, it is any conversation of the
 * owner; null means that the viewer is the owner. `users`: users whose facts scope CONVERSATION contains, too.
 *
 * The filter's times apply to the time at which a fact was observed; its actors, roles and metadata apply to the fact's
 * source turn.
 */
export async function recallFacts(
  deps: RecallDeps,
  viewer: Viewer,
  { scope, conversationId, users = [] }: { scope: Scope; conversationId: string | null; users?: readonly string[] },
  { query, terms, vector, filter, limit }: RecallRequest,
): Promise<Ranked<FactCandidate>[]> {
  const salt = saltOf(viewer.tenant, '')
  const {
    facts: texts,
    matching,
    nearest,
  } = await findFacts(deps.pool, viewer, {
    scope,
    conversationId,
    users,
    terms: new Map([...terms].map(([hash, number]) => [hash ^ salt, number])),
    vector,
    nearest: limit,
    filter,
  })
  const statistics = statisticsOf(texts, terms.size, matching)
  const byWords = best(scoresOfMatching(statistics, matching), limit)
  const indexes = new Map(matching.ids.map((id, index) => [id, index]))
  const candidates = [...new Set([...byWords.map((index) => matching.ids[index]!), ...nearest.map(({ id }) => id)])]
  const similarities = new Map(nearest.map(({ id, similarity }) => [id, similarity]))
  const toFound = (id: string) => {
    const index = indexes.get(id)
    const similarity = index === undefined ? similarities.get(id)! : matching.similarities[index]!
    return {
      id,
      terms: index === undefined ? [] : salted(matching.termsOf(index), salt),
      similarity: Number.isNaN(similarity) ? null : similarity,
    }
  }

  const facts = await getFacts(deps, viewer, candidates)
  const subjects = new Map([...facts.values()].map(({ subject }) => [subject, subjectNames(subject)]))
  const question = readQuestion(
    query,
    [...subjects.values()].flat().filter((each) => each !== ''),
    new deps.clock.Date(),
  )
  return rankStandalone(
    question,
    terms,
    statistics,
    candidates.map(toFound).flatMap(({ id, ...rest }) => {
      // The fact may have been superseded or deleted since the search.
      const fact = facts.get(id)
      if (!fact || fact.supersededAt) return []
      const names = subjects.get(fact.subject)!
      return [
        {
          ...rest,
          kind: 'FACT' as const,
          fact,
          named: names.some((each) => question.names.has(each)),
          at: fact.observedAt.getTime(),
          importance: fact.importance,
          // A fact tells about its subject what a turn in the first person tells about its actor.
          cues: cuesOf(sentenceOf(fact), new Set(names)) | Cue.STATES_SELF,
        },
      ]
    }),
  )
}
