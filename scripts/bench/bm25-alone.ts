// Ranks the turns of a conversation by Okapi BM25 over each turn's own words, without vectors, neighbours and other
// signals, to compare the product's recall with it. Uses the words and parameters of the product.

import { bm25, inverseDocumentFrequencies } from '../../src/domain/memory/recall/rank/bm25.ts'
import { countsOf } from '../../src/domain/memory/recall/rank/standalone.ts'
import { toTerms } from '../../src/domain/memory/recall/search/query.ts'
import { hashTerm } from '../../src/text/words/hashed-terms.ts'
import { terms } from '../../src/text/words/words.ts'
import { contentOf, sessionsOf, type AnsweredQuestion, type Conversation } from './locomo.ts'

/** Number of turns per question. */
const HITS = 20

/** Returns the questions of a conversation, each with the HITS turns that match it best. */
export function answersOfBm25(conversation: Conversation): AnsweredQuestion[] {
  const { set, name, turns, questions } = conversation
  const texts = turns.map((turn) => terms(`${turn.speaker} ${contentOf(turn)}`).map(hashTerm))
  const sessions = sessionsOf(conversation)
  return questions.map(({ question, category, evidence }) => {
    const query = toTerms(question, new Date())
    const counted = texts.map((text) => countsOf(query, text))
    const matching = texts.filter((_, i) => counted[i]!.size > 0)
    const idf = inverseDocumentFrequencies({
      texts: texts.length,
      documentFrequencies: Array.from(
        { length: query.size },
        (_, term) => counted.filter((counts) => counts.has(term)).length,
      ),
      averageLength: 0,
    })
    const averageLength = matching.reduce((sum, text) => sum + text.length, 0) / matching.length
    const recalled = texts
      .flatMap((text, i) =>
        counted[i]!.size > 0 ? [{ id: turns[i]!.id, score: bm25(idf, counted[i]!, text.length, averageLength) }] : [],
      )
      .sort((a, b) => b.score - a.score)
      .slice(0, HITS)
      .map(({ id }) => id)
    return { set, file: name, category, evidence, recalled, sessions, ms: null }
  })
}
