// Judges pairs of facts with a chat model, using prompts/judge-facts.md. Pairs are sent as numbered JSON inside a
// fence, without ids. Verdicts with other numbers are dropped, so a fact with malicious text can only cause wrong
// verdicts on pairs of the same request.

import { z } from 'zod'
import { CallFailed } from '../ports/call-failed.ts'
import { MAX_PAIRS, type FactJudge, type FactPair, type Verdict } from '../ports/fact-judge.ts'
import { BadReply, createChat, fenced, requestsOf, type Message, type PromptedSettings, readPrompt } from './chat.ts'
import type { RetryPolicy } from './calls.ts'

/** Maximum UTF-16 units of the pairs in a request. A pair is never cut, because half a fact may mean something else. */
const REQUEST_UNITS = 24 * 1024
/** Maximum number of verdicts per pair. More in a reply suggest a prompt injection, so the reply is rejected. */
const REPLY_VERDICTS = 2

/** Accepts numbers as text, and labels in lower case, because some models write them so. */
const number = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
])
const says = z
  .string()
  .toUpperCase()
  .pipe(z.enum(['SAME', 'CONTRADICTORY', 'BOTH_HOLD']))
  .transform((label) => (label === 'BOTH_HOLD' ? 'COMPATIBLE' : label))
const verdict = z.object({ pair: number, says })

export function createOpenAiJudge(settings: PromptedSettings, retryPolicy?: RetryPolicy): FactJudge {
  const name = `openai:${settings.model}`
  const context = { port: 'judge', name, noun: 'a list of verdicts', modelVariable: 'EXTRACTOR_MODEL' }
  const chat = createChat(settings, context, retryPolicy)
  return {
    name,
    async judge(pairs, signal) {
      chat.check(signal)
      if (pairs.length > MAX_PAIRS) {
        throw new CallFailed(`${pairs.length} pairs exceed the limit of ${MAX_PAIRS} per call.`, false)
      }
      const verdicts: Verdict[] = []
      const prompt = await readPrompt('judge-facts', settings.promptsDir)
      for (const part of requestsFor(pairs)) {
        const messages: Message[] = [
          { role: 'system', content: prompt },
          { role: 'user', content: `The pairs:\n${fenced(part.map(({ line }) => line).join('\n'))}` },
        ]
        const byNumber = new Map(part.map((each) => [each.number, each.pair]))
        for (const { pair, says } of await chat.ask(messages, readReplyOn(part.length), signal)) {
          const judged = byNumber.get(pair)
          if (judged) verdicts.push({ a: judged.a.id, b: judged.b.id, relation: says })
        }
      }
      return verdicts
    },
    async close() {
      chat.close()
    },
  }
}

type NumberedPair = { number: number; pair: FactPair; line: string }

/**
 * Splits the pairs into requests. Numbers are unique across requests, so a verdict on a pair of another request is
 * recognised and dropped.
 */
function requestsFor(pairs: readonly FactPair[]): NumberedPair[][] {
  const numbered = pairs.map((pair, i): NumberedPair => ({
    number: i + 1,
    pair,
    line: JSON.stringify({ pair: i + 1, a: withoutId(pair.a), b: withoutId(pair.b) }),
  }))
  return requestsOf(numbered, ({ line }) => line.length, REQUEST_UNITS)
}

const withoutId = ({ subject, predicate, object, observedAt }: FactPair['a']) => ({
  subject,
  predicate,
  object,
  observedAt,
})

/** Returns a parser of the verdicts on `count` pairs. @throws BadReply from the parser */
const readReplyOn = (count: number) => (value: unknown) => {
  const { data, error } = z.object({ verdicts: z.array(verdict).max(REPLY_VERDICTS * count) }).safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  return data.verdicts
}
