// The default summarizer. It drops small talk, keeps the sentences that state a decision, an open issue or a next step
// (see text/dates/minutes.ts), and fills the rest with the sentences nearest to the centroid of the conversation. Each line
// is a sentence with its speaker; the most important ones are first under their heading. It is deterministic and needs
// neither a network nor an API key, because it uses the static embedder.

import { closedProvider } from '../ports/call-failed.ts'
import type { Embedder } from '../ports/embedder.ts'
import { truncateToTokens, oneLine, type SummarizerTurn, type Summarizer } from '../ports/summarizer.ts'
import {
  HEADINGS,
  headingOf,
  isAnswer,
  condensed,
  isSameMatter,
  isSettling,
  matterOf,
  readMinutes,
  writeMinutes,
} from '../../text/dates/minutes.ts'
import { isSmallTalk, namesOf, withoutHail } from '../../text/small-talk.ts'
import { sentencesOf } from '../../text/words/segments.ts'
import { titleOf } from '../../text/title.ts'
import type { TokenCounter } from '../../text/tokens.ts'
import { centralities, chooseTopic, fitting, settledFirst, textOf, type Candidate } from './choose-lines.ts'

const EXTRACTIVE = 'extractive'

/** Weight of a line of the previous summary, which represents many sentences. A new sentence has weight 1. */
const PREVIOUS_WEIGHT = 4
/** Maximum length of a sentence, in UTF-16 units. Longer ones are split, so that no whole log or table is selected. */
const SENTENCE_UNITS = 400
/** Maximum number of new sentences to consider. The newest are considered, because older ones would only add noise. */
const MAX_SENTENCES = 2_000
/** Maximum number of open issues that are compared with later sentences. The newest are kept. */
const MAX_ISSUES = 50
/** Fraction of the tokens that decisions, open issues and next steps may use while there are sentences of the topic. */
const SETTLED_SHARE = 0.85

/** The forms of a summary of the same lines, longest first. */
const FORMS = [
  { hasHeadings: true, isCondensed: false },
  { hasHeadings: true, isCondensed: true },
  { hasHeadings: false, isCondensed: true },
]

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

const speakerOf = (line: string) => line.slice(0, Math.max(0, line.indexOf(': ')))

/**
 * Returns the candidates without small talk and settled issues; all sentences, as lines of the topic, if all are small
 * talk.
 */
function candidatesOf(previous: string | null, turns: readonly SummarizerTurn[]): Candidate[] {
  const minutes = readMinutes(previous ?? '')
  const previousLines = HEADINGS.flatMap((heading) =>
    minutes[heading].map((line) => ({ line: oneLine(line), heading, weight: PREVIOUS_WEIGHT })),
  )
  const newLines = turns
    .flatMap(({ speaker, text }) =>
      [...shortSentencesOf(text)].map((sentence) => {
        const content = withoutHail(sentence) || sentence
        return { line: `${oneLine(speaker)}: ${content}`, heading: headingOf(content), weight: 1 }
      }),
    )
    .slice(-MAX_SENTENCES)
  const names = namesOf(turns.map(({ speaker }) => speaker))
  const withContent = [...previousLines, ...newLines].filter(({ line }) => !isSmallTalk(textOf(line), names))
  const open = withoutSettled(withContent, names)
  return open.length > 0 ? open : newLines.map((each) => ({ ...each, heading: 'Topic' }))
}

/**
 * Returns the candidates without open issues that a later one settles. A question remains an open issue only if the
 * next sentence of another speaker does not answer it; otherwise it is a line of the topic.
 */
function withoutSettled(candidates: readonly Candidate[], names: readonly string[]): Candidate[] {
  const issues = [...candidates.keys()].filter((i) => candidates[i]!.heading === 'Open issues').slice(-MAX_ISSUES)
  const statements = [...candidates.keys()]
    .filter((i) => candidates[i]!.weight === 1 && isSettling(textOf(candidates[i]!.line)))
    .map((i) => ({ i, matter: matterOf(textOf(candidates[i]!.line), names) }))
  const settled = new Set<number>()
  const answered = new Set<number>()
  for (const i of issues) {
    const { line, weight } = candidates[i]!
    const matter = matterOf(textOf(line), names)
    if (statements.some((each) => each.i > i && isSameMatter(matter, each.matter))) settled.add(i)
    else if (weight === 1 && line.endsWith('?')) {
      const reply = candidates.slice(i + 1).find((each) => speakerOf(each.line) !== speakerOf(line))
      if (reply && isAnswer(textOf(reply.line))) answered.add(i)
    }
  }
  return candidates
    .map((each, i): Candidate => (answered.has(i) ? { ...each, heading: 'Topic' } : each))
    .filter((_, i) => !settled.has(i))
}

/**
 * Returns the summary of the chosen candidates, which are in the order of importance. If it has more than
 * `maxTokens`, leaves out lines of the topic, then explanations, then the headings, then the least important lines.
 */
async function summaryOf(
  candidates: readonly Candidate[],
  { settled, topic }: { settled: readonly number[]; topic: readonly number[] },
  maxTokens: number,
  tokens: Pick<TokenCounter, 'count'>,
): Promise<string> {
  const chosen = [...settled, ...topic]
  for (let count = chosen.length; count > 0; count--) {
    for (const form of count > settled.length ? FORMS.slice(0, 1) : FORMS) {
      const minutes = readMinutes('')
      for (const i of chosen.slice(0, count)) {
        const { line, heading } = candidates[i]!
        const isWhole = heading === 'Topic' || !form.isCondensed
        minutes[heading].push(isWhole ? line : line.slice(0, -textOf(line).length) + condensed(textOf(line)))
      }
      const content = writeMinutes(minutes, form.hasHeadings)
      if ((await tokens.count(content)) <= maxTokens) return content
    }
  }
  return ''
}

export function createExtractiveSummarizer(embedder: Embedder, tokens: Pick<TokenCounter, 'count'>): Summarizer {
  let closed = false
  /** One more for the line break. */
  const costOf = async (line: string) => (await tokens.count(line)) + 1
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
      const hasTopic = candidates.some(({ heading }) => heading === 'Topic')
      const order = settledFirst(candidates, centralities(candidates, vectors))
      const { chosen: settled, used } = await fitting(
        candidates,
        order,
        hasTopic && maxTokens > 100 ? maxTokens * SETTLED_SHARE : maxTokens,
        costOf,
      )
      const topic = await chooseTopic({ candidates, vectors, settled }, maxTokens - used, costOf)
      let content = await summaryOf(candidates, { settled, topic }, maxTokens, tokens)
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
