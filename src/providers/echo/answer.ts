// The answer of the echo provider if no script applies: the tool results, or the sentence of the context that shares
// the most words with the newest user message, with its source. The functions are pure and deterministic.

import { sentencesOf } from '../../text/words/segments.ts'
import { terms } from '../../text/words/words.ts'
import { asText, sourcesOf, textOf, toolResultsOf } from '../message-parts.ts'
import type { ProviderMessage } from '../ports/provider-adapter.ts'
import { afterQuestion, questionOf } from './script.ts'

/** A sentence of the context. `source` is the id of its turn or fact; without one, the name of the speaker. */
type Sentence = { speaker: string; text: string; source: string }

/** Matches a quote of a recalled turn: the time and the speaker, then the text, whose further lines are indented. */
const QUOTE = /^\d\d:\d\d (.+?): (.*(?:\n {2}.*)*)$/gm

const split = (text: string, speaker: string, source: string): Sentence[] =>
  [...sentencesOf(text)].map((sentence) => ({ speaker, text: sentence.trim(), source })).filter((each) => each.text)

function sentencesIn(message: ProviderMessage): Sentence[] {
  if (message.role === 'system' || message.role === 'tool') return []
  const text = textOf(message)
  const sources = sourcesOf(message)
  const name = message.role === 'assistant' ? 'I' : (message.name ?? 'user')
  const quotes = message.name === 'recall' ? [...text.matchAll(QUOTE)] : []
  return quotes.length === 0
    ? split(text, name, sources[0] ?? name)
    : quotes.flatMap(([, speaker, quoted], index) => split(quoted!, speaker!, sources[index] ?? speaker!))
}

/** Quotes a text in one line. Removes each `@`, because a mention may start another agent. */
const quoted = (text: string) => `"${text.replace(/\s+/g, ' ').replaceAll('@', '').trim()}"`

/** Returns the text of the tool results after the newest user message; empty if there are none. */
export const resultText = (messages: readonly ProviderMessage[]): string =>
  afterQuestion(messages)
    .filter(({ role }) => role === 'tool')
    .flatMap(toolResultsOf)
    .map(({ name, result }) => `${name}: ${asText(result)}`)
    .join('\n')

/** Returns the answer to the newest user message. */
export function answerFrom(messages: readonly ProviderMessage[]): string {
  const results = resultText(messages)
  if (results) return `The tools returned:\n${results}`
  const question = questionOf(messages)
  if (!question) return 'There is no message to answer.'
  const asked = new Set(terms(textOf(question)))
  let best: { sentence: Sentence; score: number } | null = null
  for (const sentence of messages.filter((message) => message !== question).flatMap(sentencesIn)) {
    const score = new Set(terms(sentence.text).filter((term) => asked.has(term))).size
    // Of several sentences with the same score, select the newest.
    if (score > 0 && score >= (best?.score ?? 0)) best = { sentence, score }
  }
  if (best) return `${best.sentence.speaker} said: ${quoted(best.sentence.text)} (${best.sentence.source})`
  const [own] = sentencesIn(question)
  return own ? `${own.speaker} said: ${quoted(textOf(question))} (${own.source})` : 'The newest message has no text.'
}
