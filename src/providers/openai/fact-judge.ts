// Judges pairs of facts with a chat model. The prompt lies beside this file, in prompts/judge-facts.md. Pairs go out as
// JSON inside a fence, by number; what comes back is parsed, never obeyed: a model names pairs it was given or none, so
// the worst that a hostile fact brings about is a wrong verdict on a pair that was asked. No id of ours leaves.

import { z } from 'zod'
import { CallFailed } from '../ports/call-failed.ts'
import { MOST_PAIRS, type FactJudge, type FactPair, type Verdict } from '../ports/fact-judge.ts'
import { BadReply, createChat, fenced, requestsOf, type Message, type PromptedSettings } from './chat.ts'
import type { Patience } from './calls.ts'
import { readPrompt } from './prompt.ts'

/** UTF-16 units of the pairs of one request. A pair is never cut: half a fact may say something else. */
const REQUEST_UNITS = 24 * 1024
/** Verdicts for each pair of a request, beyond which a reply is refused: somebody made the model talk. */
const REPLY_VERDICTS = 2

/** Some models write numbers as text, and labels in lower case. */
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
const verdict = z.object({ pair: number, says })

export function createOpenAiJudge(settings: PromptedSettings, patience?: Patience): FactJudge {
  const name = `openai:${settings.model}`
  const use = { port: 'judge', name, noun: 'a list of verdicts', modelVariable: 'EXTRACTOR_MODEL' }
  const chat = createChat(settings, use, patience)
  return {
    name,
    async judge(pairs, signal) {
      chat.check(signal)
      if (pairs.length > MOST_PAIRS) {
        throw new CallFailed(`${pairs.length} pairs are too many for one call: give at most ${MOST_PAIRS}.`, false)
      }
      const verdicts: Verdict[] = []
      const prompt = await readPrompt('judge-facts', settings.promptsDir)
      for (const part of requestsFor(pairs)) {
        const messages: Message[] = [
          { role: 'system', content: prompt },
          { role: 'user', content: `The pairs:\n${fenced(part.map(({ line }) => line).join('\n'))}` },
        ]
        const byNumber = new Map(part.map((asked) => [asked.number, asked.pair]))
        for (const { pair, says } of await chat.ask(messages, readReplyOn(part.length), signal)) {
          const asked = byNumber.get(pair)
          if (asked) verdicts.push({ a: asked.a.id, b: asked.b.id, says })
        }
      }
      return verdicts
    },
    async close() {
      chat.close()
    },
  }
}

type Asked = { number: number; pair: FactPair; line: string }

/** Numbers run through all requests: a verdict that strays from one into another names nothing there. */
function requestsFor(pairs: readonly FactPair[]): Asked[][] {
  const asked = pairs.map((pair, i): Asked => ({
    number: i + 1,
    pair,
    line: JSON.stringify({ pair: i + 1, a: told(pair.a), b: told(pair.b) }),
  }))
  return requestsOf(asked, ({ line }) => line.length, REQUEST_UNITS)
}

const told = ({ subject, predicate, object, observedAt }: FactPair['a']) => ({ subject, predicate, object, observedAt })

/** Throws BadReply where it is no list of verdicts, or one longer than so many pairs explain. */
const readReplyOn = (pairs: number) => (value: unknown) => {
  const { data, error } = z.object({ verdicts: z.array(verdict).max(REPLY_VERDICTS * pairs) }).safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  return data.verdicts
}
