// The default summarizer: what was said in its own words. The sentences nearest to what all of them are about, each
// with its speaker, in the order they were said; a sentence that says again what was taken already is passed over. The
// same turns give the same summary. No network, no key: nearness is that of the word vectors that recall uses, too.

import { closedProvider } from '../ports/call-failed.ts'
import { dot, unit, type Embedder } from '../ports/embedder.ts'
import { beginningOf, oneLine, type Said, type Summarizer } from '../ports/summarizer.ts'
import type { TokenCounter } from '../../text/tokens.ts'

const EXTRACTIVE = 'extractive'

/** A line of the summary before this one stands for many sentences that are gone: it weighs as much as so many. */
const KEPT_WEIGHT = 4
/** Of a sentence's centrality, how much a like one that was taken costs it (maximal marginal relevance). */
const SAMENESS = 0.7
/** Words from which on a sentence is not held to be too short to say something. */
const FULL_WORDS = 8
/** Sentences are cut after so many characters, at a space: a log or a table must not be taken whole. */
const LONGEST = 400
/** Sentences that are weighed at most, the newest of them: the rest of a pass of 8,000 tokens is noise by then. */
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
  const said = turns.flatMap(({ speaker, text }) =>
    [...sentencesOf(text)].map((sentence) => ({ line: `${oneLine(speaker)}: ${sentence}`, weight: 1 })),
  )
  return [...kept, ...said.slice(-MOST)]
}

/** How near each candidate is to the middle of all, from 0 on; less where it is short. */
function centralities(candidates: readonly Candidate[], vectors: readonly Float32Array[]): number[] {
  const middle = new Float32Array(vectors[0]?.length ?? 0)
  vectors.forEach((vector, i) => {
    for (let d = 0; d < middle.length; d++) middle[d]! += candidates[i]!.weight * vector[d]!
  })
  unit(middle)
  return candidates.map(({ line, weight }, i) => {
    const words = line.split(' ').length - 1
    return Math.max(0, dot(vectors[i]!, middle)) * Math.min(1, words / FULL_WORDS) * (weight > 1 ? 1.2 : 1)
  })
}

export function createExtractiveSummarizer(embedder: Embedder, tokens: Pick<TokenCounter, 'count'>): Summarizer {
  let closed = false

  /** The candidates' places, best first, as far as they fit. */
  async function choose(
    candidates: readonly Candidate[],
    vectors: Float32Array[],
    maxTokens: number,
  ): Promise<number[]> {
    const centrality = centralities(candidates, vectors)
    const sameness = candidates.map(() => 0)
    const open = new Set(candidates.keys())
    const chosen: number[] = []
    let left = maxTokens
    while (open.size > 0 && left > 0) {
      let best = -1
      let most = -Infinity
      for (const i of open) {
        const score = centrality[i]! - SAMENESS * Math.max(0, sameness[i]!) * centrality[i]!
        if (score > most) [best, most] = [i, score]
      }
      open.delete(best)
      // The line, and its break.
      const cost = (await tokens.count(candidates[best]!.line)) + 1
      if (cost > left) continue
      left -= cost
      chosen.push(best)
      for (const i of open) {
        if (candidates[i]!.line === candidates[best]!.line) open.delete(i)
        else sameness[i] = Math.max(sameness[i]!, dot(vectors[i]!, vectors[best]!))
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
      // Of a line, the words after the speaker's name.
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
