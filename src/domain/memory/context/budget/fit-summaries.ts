// Fits summaries into their space. If they do not fit as they are, shortens them at the ends of sentences, so that a
// context that leaves turns out contains a summary of them.

import { fits, NOTHING, plus, sum, type Size } from './budget.ts'
import { sizeOfText } from './fit-quotes.ts'
import { measureMessage, omittedItem, type MeasuredMessage, type Tokens } from './measure.ts'
import type { ContextItem } from '../message.ts'
import { fenceFor, joinedMessage, summaryMessage } from '../quote.ts'

/** A current summary of the turns with positions `fromPosition` to `toPosition`, both included. */
export type CoveringSummary = { id: string; content: string; fromPosition: number; toPosition: number }

type FittedSummaries = {
  messages: MeasuredMessage[]
  /** The included texts. */
  texts: string[]
  omitted: ContextItem[]
}

/** Manifest reason for summaries that are left out. */
export const NO_SPACE_FOR_SUMMARIES = 'no space for a sentence of these summaries of the oldest turns'

/** Usual maximum number of tokens that a summary's message adds to its text: the introduction, fences and escapes. */
const SUMMARY_OVERHEAD = 64

/** A line break, or the space after the end of a sentence; in scripts without spaces, the end of a sentence. */
const SENTENCE_BREAK = /\n+|(?<=[.!?…][\p{Pe}\p{Pf}"']{0,3})[^\S\n]+|(?<=[。！？｡])(?![\p{Pe}\p{Pf}"'\n])/gu

/** Returns the sentences of a summary, each with the white space that follows it. */
function sentencesOf(content: string): string[] {
  const ends = [...content.matchAll(SENTENCE_BREAK)].map(({ 0: space, index }) => index + space.length)
  return [...ends, content.length]
    .map((end, index) => content.slice(index === 0 ? 0 : ends[index - 1], end))
    .filter((sentence) => sentence.trim() !== '')
}

/** Whether the first sentence of the newest summary may fit, by its share of the stored token count. */
export function mayFitShortened(
  summaries: readonly { content: string; tokenCount: number }[],
  tokenBudget: number,
): boolean {
  const newest = summaries.at(-1)
  if (!newest) return true
  const first = sentencesOf(newest.content)[0] ?? ''
  return (newest.tokenCount * first.length) / Math.max(1, newest.content.length) + SUMMARY_OVERHEAD <= tokenBudget
}

const toMessage = async (tokens: Tokens, summary: CoveringSummary) => measureMessage(tokens, summaryMessage(summary))

/** Returns the size of all summaries as they are, and of the newest one cut after its first sentence. */
export async function needsOfSummaries(
  tokens: Tokens,
  summaries: readonly CoveringSummary[],
): Promise<{ all: Size; shortest: Size }> {
  const newest = summaries.at(-1)
  if (!newest) return { all: NOTHING, shortest: NOTHING }
  const all = sum((await Promise.all(summaries.map((each) => toMessage(tokens, each)))).map(({ size }) => size))
  const first = { id: newest.id, content: (sentencesOf(newest.content)[0] ?? '').trimEnd() }
  const fence = fenceFor(summaries.map(({ content }) => content))
  const { size: shortest } = await measureMessage(tokens, joinedMessage([first], fence, true))
  return { all, shortest: fits(shortest, all) ? shortest : all }
}

/** A sentence of the summary with the index `of`. */
type Sentence = { of: number; text: string }

/**
 * Returns the sentences in order of preference. The first sentence of each summary comes first, the newest summary's
 * before the others'. Of the following sentences, the newest summary gets two for each of the one before it, three for
 * each of the one before that, and so on: old turns have a shorter form than new ones.
 */
const byPreference = (summaries: readonly CoveringSummary[]): Sentence[] =>
  summaries
    .flatMap(({ content }, of) => {
      const age = summaries.length - 1 - of
      return sentencesOf(content).map((text, index) => ({ of, text, age, rank: index * (age + 1) }))
    })
    .sort((a, b) => a.rank - b.rank || a.age - b.age)

/**
 * Returns the summaries as one message each if they fit; otherwise one message with the beginning of each, as long as
 * fits. Summaries of which not even a sentence fits are listed in the manifest.
 */
export async function fitSummaries(
  tokens: Tokens,
  summaries: readonly CoveringSummary[],
  space: Size,
): Promise<FittedSummaries> {
  const whole = await Promise.all(summaries.map((each) => toMessage(tokens, each)))
  if (fits(sum(whole.map(({ size }) => size)), space)) {
    return { messages: whole, texts: summaries.map(({ content }) => content), omitted: [] }
  }
  const fence = fenceFor(summaries.map(({ content }) => content))
  const textsOf = (taken: readonly Sentence[]) =>
    summaries.flatMap(({ id }, of) => {
      const content = taken
        .flatMap((each) => (each.of === of ? each.text : []))
        .join('')
        .trimEnd()
      return content === '' ? [] : [{ id, content }]
    })
  const sentences = byPreference(summaries)
  const measure = async (taken: readonly Sentence[]) =>
    measureMessage(tokens, joinedMessage(textsOf(taken), fence, taken.length < sentences.length))
  const taken = await beginningsThatFit(tokens, sentences, space, measure)
  const included = new Set(taken.map(({ of }) => of))
  const omitted = whole.filter((_, of) => !included.has(of))
  return {
    messages: taken.length > 0 ? [await measure(taken)] : [],
    texts: textsOf(taken).map(({ content }) => content),
    omitted: omitted.length > 0 ? [omittedItem('SUMMARY', omitted, NO_SPACE_FOR_SUMMARIES)] : [],
  }
}

/**
 * Takes sentences in order of preference. A summary of which a sentence does not fit gets no more of them. The sizes of
 * sentences are estimates, usually too high, so what is left is tried again until no sentence is added.
 */
async function beginningsThatFit(
  tokens: Tokens,
  sentences: readonly Sentence[],
  space: Size,
  measure: (taken: readonly Sentence[]) => Promise<MeasuredMessage>,
): Promise<Sentence[]> {
  let taken: Sentence[] = []
  for (;;) {
    const added: Sentence[] = []
    const ended = new Set<number>()
    const isTaken = new Set(taken)
    let size = (await measure(taken)).size
    for (const sentence of sentences) {
      if (isTaken.has(sentence) || ended.has(sentence.of)) continue
      const grown = plus(size, await sizeOfText(tokens, sentence.text))
      // The first sentence is tried even if it does not seem to fit: its space may be exactly its size.
      const isFirst = taken.length + added.length + ended.size === 0
      if (!isFirst && !fits(grown, space)) ended.add(sentence.of)
      else {
        added.push(sentence)
        size = grown
      }
    }
    const wanted = added.length
    while (added.length > 0 && !fits((await measure([...taken, ...added])).size, space)) added.pop()
    taken = [...taken, ...added]
    if (added.length === 0 || added.length < wanted) return taken
  }
}
