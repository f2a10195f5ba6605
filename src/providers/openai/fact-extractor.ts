// Extracts facts with a chat model, using prompts/extract-facts.md. The turns are sent as JSON inside a fence. A reply
// with another structure is rejected as a whole. Characters that Postgres cannot store are removed, and facts that
// violate the port's contract are dropped.

import { z } from 'zod'
import { keepValidFacts, type ExtractedFact, type FactExtractor, type ExtractorTurn } from '../ports/fact-extractor.ts'
import { BadReply, createChat, fenced, requestsOf, type Message, type PromptedSettings, readPrompt } from './chat.ts'
import type { RetryPolicy } from './calls.ts'

/** Maximum number of turns per request, and of UTF-16 units of their texts. Models extract better from few turns. */
const REQUEST_TURNS = 20
const REQUEST_UNITS = 24 * 1024
/** Maximum number of facts in a reply. A longer list suggests a prompt injection, so the reply is rejected. */
const REPLY_FACTS = 400

/** A time as ISO 8601, or only its year or month; null for anything else. */
const time = z
  .string()
  .regex(/^\d{4}(-\d\d(-\d\d(T.*)?)?)?$/)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()))
  .nullish()
  .catch(null)
const fact = z.object({
  subject: z.string(),
  predicate: z.string(),
  object: z.coerce.string(),
  turnId: z.string(),
  confidence: z.number().min(0).max(1).catch(0.5),
  validFrom: time,
  validTo: time,
})
const replySchema = z.object({ facts: z.array(fact).max(REPLY_FACTS) })

export function createOpenAiExtractor(settings: PromptedSettings, retryPolicy?: RetryPolicy): FactExtractor {
  const name = `openai:${settings.model}`
  const context = { port: 'extractor', name, noun: 'a list of facts', modelVariable: 'EXTRACTOR_MODEL' }
  const chat = createChat(settings, context, retryPolicy)
  return {
    name,
    async extract(turns, { people = [], signal } = {}) {
      chat.check(signal)
      const facts: ExtractedFact[] = []
      const prompt = await readPrompt('extract-facts', settings.promptsDir)
      for (const part of requestsFor(turns)) {
        const messages: Message[] = [
          { role: 'system', content: prompt },
          { role: 'user', content: `${peopleSection(people)}The turns:\n${fenced(part.map(lineOf).join('\n'))}` },
        ]
        facts.push(...keepValidFacts(await chat.ask(messages, readReply, signal), part))
      }
      return { facts }
    },
    async close() {
      chat.close()
    },
  }
}

/** The part of the message that lists the people in the conversation; empty if none are given. */
const peopleSection = (people: readonly string[]) =>
  people.length === 0 ? '' : `Who is or was there:\n${fenced(JSON.stringify(people))}\n\n`

/** Formats a turn. Cuts a text that exceeds the limit of a request; the remainder is never sent. */
const lineOf = ({ id, displayName, kind, at, text }: ExtractorTurn) =>
  JSON.stringify({ turnId: id, speaker: displayName, kind, at: at.toISOString(), text: text.slice(0, REQUEST_UNITS) })

/** Splits the turns into requests. Omits empty turns, and turns of tools, because they state no facts about people. */
function requestsFor(turns: readonly ExtractorTurn[]): ExtractorTurn[][] {
  const relevant = turns.filter(({ kind, text }) => kind !== 'TOOL' && text.trim() !== '')
  const unitsOf = ({ text }: ExtractorTurn) => Math.min(text.length, REQUEST_UNITS)
  return requestsOf(relevant, unitsOf, REQUEST_UNITS, REQUEST_TURNS)
}

/** Returns the text on one line, without characters that Postgres cannot store. */
const clean = (text: string) => text.replaceAll('\0', '').toWellFormed().replace(/\s+/g, ' ').trim()

/** Parses a reply with a list of facts. @throws BadReply */
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
