// Writes summaries with a chat model, using prompts/summarize.md and prompts/merge.md, and titles, using
// prompts/title.md. The turns are sent as JSON inside a fence that is longer than any fence in them, so that no turn
// can end the fence.

import { z } from 'zod'
import { BadReply, createChat, fenced, type Message, type PromptedSettings, readPrompt } from './chat.ts'
import type { RetryPolicy } from './calls.ts'
import { cutToTokens, oneLine, type Summarizer, type SummarizerTurn, type SummaryRequest } from '../ports/summarizer.ts'
import type { TokenCounter } from '../../text/tokens.ts'

const list = z.array(z.string()).default([])
const replySchema = z.object({ topic: z.string(), keyDecisions: list, openIssues: list, nextSteps: list })
type Reply = z.output<typeof replySchema>

const titleSchema = z.object({ title: z.string() })
/** Maximum number of words of a title, as stated in the prompt. Longer titles are accepted. */
const TITLE_WORDS = 8

export function createOpenAiSummarizer(
  settings: PromptedSettings,
  tokens: Pick<TokenCounter, 'count'>,
  retryPolicy?: RetryPolicy,
): Summarizer {
  const { model } = settings
  const context = { port: 'summarizer', name: model, noun: 'a summary or a title', modelVariable: 'SUMMARIZER_MODEL' }
  const chat = createChat(settings, context, retryPolicy)
  return {
    model,
    async summarize(request, signal) {
      chat.check(signal)
      if (!request.previous && request.turns.length === 0) return { content: '', model }
      const reply = await chat.ask(await messagesFor(request, settings.promptsDir), readReply, signal)
      return { content: await render(reply, request.maxTokens, tokens), model }
    },
    async title(turns, signal) {
      chat.check(signal)
      if (turns.length === 0) return null
      return chat.ask(await titleMessages(turns, settings.promptsDir), readTitle, signal)
    },
    async close() {
      chat.close()
    },
  }
}

const linesOf = (turns: readonly SummarizerTurn[]) =>
  turns.map(({ speaker, at, text }) => JSON.stringify({ speaker, at: at.toISOString(), text })).join('\n')

/** Returns two messages: the prompt, and the turns as fenced data. */
async function titleMessages(turns: readonly SummarizerTurn[], promptsDir: string | undefined): Promise<Message[]> {
  const rules = (await readPrompt('title', promptsDir)).replaceAll('{{maxWords}}', String(TITLE_WORDS))
  return [
    { role: 'system', content: rules },
    { role: 'user', content: `The first turns:\n${fenced(linesOf(turns))}` },
  ]
}

/** Parses a reply with a title; null for an empty title. @throws BadReply */
function readTitle(value: unknown): string | null {
  const { data, error } = titleSchema.safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  return oneLine(data.title) || null
}

/** Returns two messages: the prompt, and the previous summary and the turns as fenced data. */
async function messagesFor(
  { previous, turns, maxTokens }: SummaryRequest,
  promptsDir: string | undefined,
): Promise<Message[]> {
  const rules = (await readPrompt('summarize', promptsDir)).replaceAll('{{maxTokens}}', String(maxTokens))
  const previousPart =
    previous === null ? '' : `The summary so far:\n${fenced(JSON.stringify({ summary: previous }))}\n\n`
  return [
    { role: 'system', content: previous === null ? rules : `${rules}\n${await readPrompt('merge', promptsDir)}` },
    { role: 'user', content: `${previousPart}The turns since:\n${fenced(linesOf(turns))}` },
  ]
}

/** Parses a reply with a summary. @throws BadReply, also if the topic is empty */
function readReply(value: unknown): Reply {
  const { data, error } = replySchema.safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  // Removes characters that Postgres cannot store.
  const storable = (text: string) => oneLine(text.replaceAll('\0', '').toWellFormed())
  const nonEmpty = (items: string[]) => items.map(storable).filter(Boolean)
  const { topic, keyDecisions, openIssues, nextSteps } = data
  const reply = {
    topic: storable(topic),
    keyDecisions: nonEmpty(keyDecisions),
    openIssues: nonEmpty(openIssues),
    nextSteps: nonEmpty(nextSteps),
  }
  if (!reply.topic) throw new BadReply('its topic is empty')
  return reply
}

/**
 * Formats the summary. Drops the last item of the longest list until the text has at most `maxTokens`. If the topic
 * alone has more tokens, cuts the topic.
 */
async function render(
  { topic, ...lists }: Reply,
  maxTokens: number,
  tokens: Pick<TokenCounter, 'count'>,
): Promise<string> {
  const sections: [string, string[]][] = [
    ['Decisions', lists.keyDecisions],
    ['Open', lists.openIssues],
    ['Next', lists.nextSteps],
  ]
  for (;;) {
    const content = [
      `Topic: ${topic}`,
      ...sections
        .filter(([, items]) => items.length > 0)
        .map(([title, items]) => `${title}:\n${items.map((item) => `- ${item}`).join('\n')}`),
    ].join('\n')
    if ((await tokens.count(content)) <= maxTokens) return content
    const longest = sections.map(([, items]) => items).reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length === 0) return cutToTokens(content, maxTokens, tokens.count)
    longest.pop()
  }
}
