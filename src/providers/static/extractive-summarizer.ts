// The default summarizer. It drops small talk, and selects the sentences nearest to the centroid of the remaining ones.
// It ranks a sentence lower if it is short, a question, or similar to a selected one. It returns the selected sentences
// in their original order, each with its speaker. It is deterministic and needs neither a network nor an API key,
// because it uses the static embedder.

import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { truncateToTokens, oneLine, type SummarizerTurn, type Summarizer } from '../ports/summarizer.ts'
import { isSmallTalk, namesOf, withoutHail } from '../../text/small-talk.ts'
import { sentencesOf } from '../../text/sentences.ts'
import { titleOf } from '../../text/title.ts'
import type { TokenCounter } from '../../text/tokens.ts'

const EXTRACTIVE = 'extractive'

/** Weight of a line of the previous summary, which represents many sentences. A new sentence has weight 1. */
const PREVIOUS_WEIGHT = 4
/** Fraction of centrality lost by a candidate whose similarity to a selected one is 1 (maximal marginal relevance). */
const SIMILARITY_PENALTY = 0.7
/** Number of words below which a sentence has a lower centrality, because short sentences are less informative. */
const FULL_WORDS = 8
/** Factor of the centrality of a question, which is less informative than its answer. */
const QUESTION_FACTOR = 0.5
/** Maximum length of a sentence, in UTF-16 units. Longer ones are split, so that no whole log or table is selected. */
const SENTENCE_UNITS = 400
/** Maximum number of new sentences to consider. The newest are considered, because older ones would only add noise. */
const MAX_SENTENCES = 2_000

/** A line that may be selected, and its weight in the centroid. */
type Candidate = { line: string; weight: number }

function* shortSentencesOf(text: string): Generator<string> {
  for (const sentence of sentencesOf(text)) {
    let rest = oneLine(sentence)
    while (rest.length > SENTENCE_UNITS) {
      const space = rest.lastIndexOf(' ', SENTENCE_UNITS)
      const end = space > SENTENCE_UNITS / 2 ? space : SENTENCE_UNITS
      yield rest.slice(0, end).toWellFormed()
      rest = rest.slice(end).trim()
    }
    if (rest) yield rest.toWellFormed()
  }
}

/** Returns the text of a line, without the speaker. */
const textOf = (line: string) => line.slice(line.indexOf(': ') + 1).trim()

/** Returns the candidates without small talk; all of them if all are small talk. */
function candidatesOf(previous: string | null, turns: readonly SummarizerTurn[]): Candidate[] {
  const previousLines = (previous ?? '')
    .split('\n')
    .map(oneLine)
    .filter(Boolean)
    .map((line) => ({ line, weight: PREVIOUS_WEIGHT }))
  const newLines = turns.flatMap(({ speaker, text }) =>
    [...shortSentencesOf(text)].map((sentence) => ({
      line: `${oneLine(speaker)}: ${withoutHail(sentence) || sentence}`,
      weight: 1,
    })),
  )
  const all = [...previousLines, ...newLines.slice(-MAX_SENTENCES)]
  const names = namesOf(turns.map(({ speaker }) => speaker))
  const withContent = all.filter(({ line }) => !isSmallTalk(textOf(line), names))
  return withContent.length > 0 ? withContent : all
}

/**
 * Returns the centrality of each candidate: its similarity to the centroid, or 0 if that is negative. Lower for short
 * candidates and questions, higher for lines of the previous summary.
 */
function centralities(candidates: readonly Candidate[], vectors: readonly Float32Array[]): number[] {
  const centroid = new Float32Array(vectors[0]?.length ?? 0)
  vectors.forEach((vector, i) => {
    for (let d = 0; d < centroid.length; d++) centroid[d]! += candidates[i]!.weight * vector[d]!
  })
  unit(centroid)
  return candidates.map(({ line, weight }, i) => {
    const words = line.split(' ').length - 1
    const factor = (weight > 1 ? 1.2 : 1) * (line.endsWith('?') ? QUESTION_FACTOR : 1)
    return Math.max(0, dot(vectors[i]!, centroid)) * Math.min(1, words / FULL_WORDS) * factor
  })
}

export function createExtractiveSummarizer(embedder: Embedder, tokens: Pick<TokenCounter, 'count'>): Summarizer {
  let closed = false

  /** Returns the indices of the best candidates that fit into `maxTokens`, best first. */
  async function choose(
    candidates: readonly Candidate[],
    vectors: Float32Array[],
    maxTokens: number,
  ): Promise<number[]> {
    const centrality = centralities(candidates, vectors)
    const similarity = candidates.map(() => 0)
    const remaining = new Set(candidates.keys())
    const chosen: number[] = []
    let tokensLeft = maxTokens
    while (remaining.size > 0 && tokensLeft > 0) {
      let best = -1
      let bestScore = -Infinity
      for (const i of remaining) {
        const score = centrality[i]! - SIMILARITY_PENALTY * Math.max(0, similarity[i]!) * centrality[i]!
        if (score > bestScore) [best, bestScore] = [i, score]
      }
      remaining.delete(best)
      // One more for the line break.
      const cost = (await tokens.count(candidates[best]!.line)) + 1
      if (cost > tokensLeft) continue
      tokensLeft -= cost
      chosen.push(best)
      for (const i of remaining) {
        if (candidates[i]!.line === candidates[best]!.line) remaining.delete(i)
        else similarity[i] = Math.max(similarity[i]!, dot(vectors[i]!, vectors[best]!))
      }
    }
    return chosen
  }

  return {
    model: EXTRACTIVE,
    async summarize({ previous, turns, maxTokens }, signal) {
      signal?.throwIfAborted()
      if (closed) throw closedProvider('summarizer', EXTRACTIVE)
      const candidates = candidatesOf(previous, turns)
      // Embeds only the text after the speaker's name.
      const vectors = await embedder.embed(
        candidates.map(({ line }) => textOf(line)),
        signal,
      )
      const chosen = await choose(candidates, vectors, maxTokens)
      const joined = () =>
        chosen
          .toSorted((a, b) => a - b)
          .map((i) => candidates[i]!.line)
          .join('\n')
      let content = joined()
      while (chosen.length > 0 && (await tokens.count(content)) > maxTokens) {
        chosen.pop()
        content = joined()
      }
      if (content === '' && candidates.length > 0) {
        content = await truncateToTokens(candidates[0]!.line, maxTokens, tokens.count)
      }
      return { content, model: EXTRACTIVE }
    },
    async title(turns, signal) {
      signal?.throwIfAborted()
      if (closed) throw closedProvider('summarizer', EXTRACTIVE)
      return titleOf(turns)
    },
    async close() {
      closed = true
    },
  }
}
