// Extracts facts with a chat model. The prompt lies beside this file, in prompts/extract-facts.md. The turns go out as
// JSON inside a fence; what comes back is parsed, never obeyed: facts of turns that were not given, and texts that
// cannot be stored, are dropped; the rest is capped. A reply of another shape is refused as a whole.

import { z } from 'zod'
import { acceptable, type ExtractedFact, type FactExtractor, type ToldTurn } from '../ports/fact-extractor.ts'
import { BadReply, createChat, fenced, requestsOf, type Message, type PromptedSettings } from './chat.ts'
import type { Patience } from './calls.ts'
import { readPrompt } from './prompt.ts'

/** Turns of one request, and UTF-16 units of their texts: a model reads few turns better than many. */
const REQUEST_TURNS = 20
const REQUEST_UNITS = 24 * 1024
/** Facts a reply may have before it is refused: somebody made the model talk. */
const REPLY_FACTS = 400

const fact = z.object({
  subject: z.string(),
  predicate: z.string(),
  object: z.coerce.string(),
  turnId: z.string(),
  confidence: z.number().min(0).max(1).catch(0.5),
})
const replySchema = z.object({ facts: z.array(fact).max(REPLY_FACTS) })

export function createOpenAiExtractor(settings: PromptedSettings, patience?: Patience): FactExtractor {
  const name = `openai:${settings.model}`
  const use = { port: 'extractor', name, noun: 'a list of facts', modelVariable: 'EXTRACTOR_MODEL' }
  const chat = createChat(settings, use, patience)
  return {
    name,
    async extract(turns, { people = [], signal } = {}) {
      chat.check(signal)
      const facts: ExtractedFact[] = []
      const prompt = await readPrompt('extract-facts', settings.promptsDir)
      for (const part of requestsFor(turns)) {
        const messages: Message[] = [
          { role: 'system', content: prompt },
          { role: 'user', content: `${present(people)}The turns:\n${fenced(part.map(told).join('\n'))}` },
        ]
        facts.push(...acceptable(await chat.ask(messages, readReply, signal), part))
      }
      return { facts }
    },
    async close() {
      chat.close()
    },
  }
}

/** Who is or was there, in a line of its own; nothing where that is not known. */
const present = (people: readonly string[]) =>
  people.length === 0 ? '' : `Who is or was there:\n${fenced(JSON.stringify(people))}\n\n`

/** What is cut off a turn that is longer than a request may be is not read. */
const told = ({ id, displayName, kind, at, text }: ToldTurn) =>
  JSON.stringify({ turnId: id, speaker: displayName, kind, at: at.toISOString(), text: text.slice(0, REQUEST_UNITS) })

/** What tools return says nothing of anybody, and is not sent. */
function requestsFor(turns: readonly ToldTurn[]): ToldTurn[][] {
  const telling = turns.filter(({ kind, text }) => kind !== 'TOOL' && text.trim() !== '')
  const unitsOf = ({ text }: ToldTurn) => Math.min(text.length, REQUEST_UNITS)
  return requestsOf(telling, unitsOf, REQUEST_UNITS, REQUEST_TURNS)
}

/** On one line, of what Postgres can hold. */
const clean = (text: string) => text.replaceAll('\0', '').toWellFormed().replace(/\s+/g, ' ').trim()

/** Throws BadReply where it is no list of facts. */
function readReply(value: unknown): ExtractedFact[] {
  const { data, error } = replySchema.safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  return data.facts.map(({ subject, predicate, object, ...rest }) => ({
    ...rest,
    subject: clean(subject),
    predicate: clean(predicate),
    object: clean(object),
  }))
}
