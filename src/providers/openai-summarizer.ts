// Summarises with any server that speaks OpenAI's POST /chat/completions. The prompts lie beside this file, in prompts/,
// for whoever wants others. What was said goes out as JSON inside a fence longer than any in it, so that nothing in it
// can pass for the prompt. A reply that cannot be used is asked for once more. The key appears in no message.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { z } from 'zod'
import { explain, Unreachable, type Use } from './openai-failure.ts'
import {
  beginningOf, closedSummarizer, oneLine, SummarizerFailed, type Summarizer, type SummaryRequest,
} from './summarizer.ts'
import type { TokenCounter } from './tokens.ts'

export type OpenAiSummarizerSettings = {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | undefined
  model: string
}

export type Patience = {
  /** For one request, from the first byte out to the last one in. */
  timeoutMs: number
  /** Further attempts after one that failed and may succeed later. */
  retries: number
  /** The pause before the first of them. It doubles. */
  pauseMs: number
}

/** What lasts longer is left to the job queue. */
const PATIENT: Patience = { timeoutMs: 60_000, retries: 2, pauseMs: 500 }
/** A server that asks for a longer pause fails the call. */
const LONGEST_PAUSE_MS = 20_000

const prompt = (name: string) => readFile(new URL(`./prompts/${name}.md`, import.meta.url), 'utf8')

const list = z.array(z.string()).default([])
const replySchema = z.object({ topic: z.string(), keyDecisions: list, openIssues: list, nextSteps: list })
type Reply = z.output<typeof replySchema>

const CHAT: Use = {
  failed: (message, retryable) => new SummarizerFailed(message, retryable),
  isFailure: (error) => error instanceof SummarizerFailed,
  noun: 'a chat completion', modelVariable: 'SUMMARIZER_MODEL', advice: 'Check SUMMARIZER_MODEL.',
}

/** A reply that is no summary: worth asking again. */
class BadReply extends Error {}

export function createOpenAiSummarizer(
  settings: OpenAiSummarizerSettings, tokens: Pick<TokenCounter, 'count'>, patience: Patience = PATIENT,
): Summarizer {
  const { model, baseUrl, apiKey } = settings
  const who = `openai:${model} at ${baseUrl}`
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    organization: null, project: null, adminAPIKey: null, webhookSecret: null, logLevel: 'off', maxRetries: 0,
    ...(!apiKey && { defaultHeaders: { Authorization: null } }),
  })
  const running = new Set<AbortController>()
  let closed = false

  /** One request. Throws what the client throws, Unreachable, or BadReply. */
  async function attempt(messages: Message[], stop: AbortSignal): Promise<Reply> {
    stop.throwIfAborted()
    const request = new AbortController()
    const end = () => request.abort()
    // The client's own timeout ends with the headers of the answer; this one with its last byte.
    const timer = setTimeout(end, patience.timeoutMs)
    stop.addEventListener('abort', end, { once: true })
    try {
      const reply: unknown = await client.chat.completions.create(
        { model, messages, response_format: { type: 'json_object' } }, { signal: request.signal },
      )
      return readReply(reply)
    } catch (error) {
      if (request.signal.aborted) throw new Unreachable(`no answer within ${patience.timeoutMs / 1000} s`)
      throw error
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', end)
    }
  }

  /** With retries; a bad reply has one. */
  async function ask(messages: Message[], stop: AbortSignal): Promise<Reply> {
    let bad = 0
    for (let retry = 0; ; ) {
      try {
        return await attempt(messages, stop)
      } catch (error) {
        stop.throwIfAborted()
        if (error instanceof BadReply || error instanceof SyntaxError) {
          if (++bad <= 1) continue
          throw new SummarizerFailed(
            `${who} answered twice with something that is no summary: ${oneLine(error.message).slice(0, 200)}. ` +
              'Try again, or set a model that answers with JSON as SUMMARIZER_MODEL.', true)
        }
        const explained = explain(error, who, apiKey, CHAT)
        const pause = explained.pauseMs ?? patience.pauseMs * 2 ** retry * (1 - Math.random() / 4)
        if (!explained.isPassing || retry >= patience.retries || pause > LONGEST_PAUSE_MS) throw explained.failure
        retry += 1
        await sleep(pause, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
      }
    }
  }

  return {
    model,
    async summarize(request, signal) {
      signal?.throwIfAborted()
      if (closed) throw closedSummarizer(model)
      if (!request.previous && request.turns.length === 0) return { content: '', model }
      const stop = new AbortController()
      const end = () => stop.abort(signal?.reason)
      signal?.addEventListener('abort', end, { once: true })
      running.add(stop)
      try {
        const reply = await ask(await messagesFor(request), stop.signal)
        return { content: await render(reply, request.maxTokens, tokens), model }
      } finally {
        running.delete(stop)
        signal?.removeEventListener('abort', end)
      }
    },
    async close() {
      closed = true
      for (const stop of running) stop.abort(closedSummarizer(model))
    },
  }
}

type Message = { role: 'system' | 'user'; content: string }

/** The instructions, then what was said, as data. */
async function messagesFor({ previous, turns, maxTokens }: SummaryRequest): Promise<Message[]> {
  const rules = (await prompt('summarize')).replaceAll('{{maxTokens}}', String(maxTokens))
  const said = turns.map(({ speaker, at, text }) => JSON.stringify({ speaker, at: at.toISOString(), text })).join('\n')
  const before = previous === null ? '' : `The summary so far:\n${fenced(JSON.stringify({ summary: previous }))}\n\n`
  return [
    { role: 'system', content: previous === null ? rules : `${rules}\n${await prompt('merge')}` },
    { role: 'user', content: `${before}The turns since:\n${fenced(said)}` },
  ]
}

/** Inside a fence that the text does not hold. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

/** Throws BadReply where it is none, or says nothing. */
function readReply(reply: unknown): Reply {
  const content = (reply as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content
  if (typeof content !== 'string') throw new BadReply('it has no message with text')
  // Some models put it into a fence, whatever they are told.
  const json = /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(content)?.[1] ?? content
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new BadReply('its text is not JSON')
  }
  const { data, error } = replySchema.safeParse(value)
  if (error) throw new BadReply(z.prettifyError(error))
  // What Postgres cannot hold is left out.
  const storable = (text: string) => oneLine(text.replaceAll('\0', '').toWellFormed())
  const items = (all: string[]) => all.map(storable).filter(Boolean)
  const { topic, keyDecisions, openIssues, nextSteps } = data
  const read = {
    topic: storable(topic), keyDecisions: items(keyDecisions), openIssues: items(openIssues), nextSteps: items(nextSteps),
  }
  if (!read.topic) throw new BadReply('its topic is empty')
  return read
}

/** As text of at most `maxTokens`: what is too much is taken from the end of the longest list. */
async function render(
  { topic, ...lists }: Reply, maxTokens: number, tokens: Pick<TokenCounter, 'count'>,
): Promise<string> {
  const sections: [string, string[]][] = [
    ['Decisions', lists.keyDecisions], ['Open', lists.openIssues], ['Next', lists.nextSteps],
  ]
  for (;;) {
    const content = [
      `Topic: ${topic}`,
      ...sections.filter(([, items]) => items.length > 0)
        .map(([title, items]) => `${title}:\n${items.map((item) => `- ${item}`).join('\n')}`),
    ].join('\n')
    if (await tokens.count(content) <= maxTokens) return content
    const longest = sections.map(([, items]) => items).reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length === 0) return beginningOf(content, maxTokens, tokens.count)
    longest.pop()
  }
}
