// The default summarizer: selects the sentences nearest to the centroid of all sentences, ranks a sentence lower if it
// is similar to a selected one, and returns the selected sentences in their original order, each with its speaker. It
// is deterministic and needs neither a network nor an API key, because it uses the word vectors of the static embedder.

import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { beginningOf, oneLine, type Said, type Summarizer } from '../ports/summarizer.ts'
import type { TokenCounter } from '../../text/tokens.ts'

const EXTRACTIVE = 'extractive'

/** Weight of a line of the previous summary. Such a line replaces many sentences; a new sentence has weight 1. */
const KEPT_WEIGHT = 4
/** Fraction of its centrality that a candidate loses at similarity 1 to a selected one (maximal marginal relevance). */
const SIMILARITY_PENALTY = 0.7
/** Number of words below which a sentence loses centrality, because short sentences are less informative. */
const FULL_WORDS = 8
/** Maximum UTF-16 units of a sentence; longer ones are split at spaces, so that no log or table is taken whole. */
const LONGEST = 400
/** Maximum number of new sentences to consider. Older sentences are ignored, because they would only add noise. */
const MOST = 2_000

type Candidate = { line: string; weight: number }

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

function* sentencesOf(text: string): Generator<string> {
  for (const paragraph of text.split(/\n+/)) {
    for (const { segment } of sentences.segment(paragraph)) {
      let rest = oneLine(segment)
      while (rest.length > LONGEST) {
        const space = rest.lastIndexOf(' ', LONGEST)
        const end = space > LONGEST / 2 ? space : LONGEST
        yield rest.slice(0, end).toWellFormed()
        rest = rest.slice(end).trim()
      }
      if (rest) yield rest.toWellFormed()
    }
  }
}

function candidatesOf(previous: string | null, turns: readonly Said[]): Candidate[] {
  const kept = (previous ?? '')
    .split('\n')
    .map(oneLine)
    .filter(Boolean)
    .map((line) => ({ line, weight: KEPT_WEIGHT }))
  const spoken = turns.flatMap(({ speaker, text }) =>
    [...sentencesOf(text)].map((sentence) => ({ line: `${oneLine(speaker)}: ${sentence}`, weight: 1 })),
  )
  return [...kept, ...spoken.slice(-MOST)]
}

/**
 * Returns the centrality of each candidate: its similarity to the centroid, at least 0. Reduced for short candidates,
 * and raised for lines of the previous summary.
 */
function centralities(candidates: readonly Candidate[], vectors: readonly Float32Array[]): number[] {
  const centroid = new Float32Array(vectors[0]?.length ?? 0)
  vectors.forEach((vector, i) => {
    for (let d = 0; d < centroid.length; d++) centroid[d]! += candidates[i]!.weight * vector[d]!
  })
  unit(centroid)
  return candidates.map(({ line, weight }, i) => {
    const words = line.split(' ').length - 1
    return Math.max(0, dot(vectors[i]!, centroid)) * Math.min(1, words / FULL_WORDS) * (weight > 1 ? 1.2 : 1)
  })
}

export function createExtractiveSummarizer(embedder: Embedder, tokens: Pick<TokenCounter, 'count'>): Summarizer {
  let closed = false

  /** Returns the indices of the best candidates that fit, best first. */
  async function choose(
    candidates: readonly Candidate[],
    vectors: Float32Array[],
    maxTokens: number,
  ): Promise<number[]> {
    const centrality = centralities(candidates, vectors)
    const similarity = candidates.map(() => 0)
    const open = new Set(candidates.keys())
    const chosen: number[] = []
    let left = maxTokens
    while (open.size > 0 && left > 0) {
      let best = -1
      let most = -Infinity
      for (const i of open) {
        const score = centrality[i]! - SIMILARITY_PENALTY * Math.max(0, similarity[i]!) * centrality[i]!
        if (score > most) [best, most] = [i, score]
      }
      open.delete(best)
      // The line and its line break.
      const cost = (await tokens.count(candidates[best]!.line)) + 1
      if (cost > left) continue
      left -= cost
      chosen.push(best)
      for (const i of open) {
        if (candidates[i]!.line === candidates[best]!.line) open.delete(i)
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
      // Only the text after the speaker's name is embedded.
      const vectors = await embedder.embed(
        candidates.map(({ line }) => line.slice(line.indexOf(': ') + 1)),
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
        content = await beginningOf(candidates[0]!.line, maxTokens, tokens.count)
      }
      return { content, model: EXTRACTIVE }
    },
    async close() {
      closed = true
    },
  }
}
