// Recalls the active facts that the viewer sees: finds them by words and by vectors, and scores them like turns. If the
// query names the fact's subject, the fact gets the weight that a turn gets if the query names its actor.

import { findFacts } from '../../store/sql/recall/find-facts.ts'
import type { Scope } from '../../store/sql/recall/read-scope.ts'
import type { RecallDeps } from './deps.ts'
import { getFacts } from '../fact/fact.ts'
import { sentenceOf } from '../fact/write.ts'
import type { Viewer } from '../view.ts'
import { rankStandalone, scoresOf } from './standalone.ts'
import { cuesOf } from '../indexing/cues.ts'
import type { SearchRequest } from './search.ts'
import { saltOf, salted } from '../../text/term-hash.ts'
import type { RankedMemory } from './memory.ts'
import { readQuestion } from './question.ts'
import { namesOf } from './turns.ts'

/** Matches a subject of capitalised words only. Such a subject counts as a name, which a query may shorten. */
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

/**
 * Returns facts, best first. Scope OWNER contains the facts of the owner's conversations and the facts about the owner.
 * `conversationId` is the conversation to search (CONVERSATION), or a conversation of the owner (OWNER); null if the
 * viewer is the owner.
 *
 * The filter's times apply to the time a fact was observed; its actors, roles and metadata to the fact's source turn.
 */
export async function recallFacts(
  deps: RecallDeps,
  viewer: Viewer,
  { scope, conversationId }: { scope: Scope; conversationId: string | null },
  query: string,
  { terms, vector, filter, limit }: SearchRequest,
): Promise<RankedMemory[]> {
  const salt = saltOf(viewer.tenant, '')
  const {
    facts: texts,
    factsByTerm,
    averageLength,
    found,
  } = await findFacts(deps.db, viewer, {
    scope,
    conversationId,
    terms: salted([...terms.keys()], salt),
    vector,
    nearest: limit,
    filter,
  })
  const statistics = { texts, documentFrequencies: factsByTerm, averageLength }
  const unsalted = found.map((each) => ({ ...each, terms: salted(each.terms, salt) }))
  const scores = scoresOf(
    terms,
    statistics,
    unsalted.map((each) => each.terms),
  )
  const byWords = unsalted
    .map((each, i) => ({ each, score: scores[i]! }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ each }) => each)
  const byVectors = unsalted
    .filter(({ similarity }) => similarity !== null)
    .sort((a, b) => b.similarity! - a.similarity!)
    .slice(0, limit)
  const candidates = [...new Set([...byWords, ...byVectors])]

  const facts = await getFacts(
    deps,
    viewer,
    candidates.map(({ id }) => id),
  )
  const subjects = new Map([...facts.values()].map(({ subject }) => [subject, subjectNames(subject)]))
  const question = readQuestion(
    query,
    [...subjects.values()].flat().filter((each) => each !== ''),
  )
  return rankStandalone(
    question,
    terms,
    statistics,
    candidates.flatMap(({ id, ...rest }) => {
      // The fact may have been superseded or deleted since the search.
      const fact = facts.get(id)
      if (!fact || fact.supersededAt) return []
      const names = subjects.get(fact.subject)!
      return [
        {
          ...rest,
          fact,
          named: names.some((each) => question.names.has(each)),
          at: fact.observedAt.getTime(),
          cues: cuesOf(sentenceOf(fact), new Set(names)),
        },
      ]
    }),
  ).map((ranked) => ({ kind: 'FACT', fact: ranked.candidate.fact, ...ranked }))
}
