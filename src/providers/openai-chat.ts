// Asks any server that speaks OpenAI's POST /chat/completions for JSON, and insists: on answers in time, on replies
// that can be read (a bad one is asked for once more), and on failures that say what to do. The key is in no message.

import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { explain, Unreachable, type Use } from './openai-failure.ts'

export type ChatSettings = {
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
/** UTF-16 units of a reply. A model that does not stop is not believed. */
const LONGEST_REPLY = 1024 * 1024

export type Message = { role: 'system' | 'user'; content: string }

/** A reply that is not what was asked for: worth asking again. */
export class BadReply extends Error {}

/** What a call is for, and how it fails. */
export type ChatUse<Failure extends Error> = Use<Failure> & {
  /** What rejects after close. */
  closed(): Failure
}

type Chat = {
  /**
   * What `read` makes of the JSON value that the model answers with. `read` throws BadReply where it is no good.
   * @throws the failure of the use, or the reason of the signal that was aborted
   */
  ask<T>(messages: Message[], read: (value: unknown) => T, signal?: AbortSignal): Promise<T>
  /** Ends what runs; afterwards, ask rejects. May be called twice. */
  close(): void
}

export function createChat<Failure extends Error>(
  { model, baseUrl, apiKey }: ChatSettings, use: ChatUse<Failure>, patience: Patience = PATIENT,
): Chat {
  const who = `openai:${model} at ${baseUrl}`
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    // Nothing from the environment but what config.ts read; no retries but ours, which a signal can end.
    organization: null, project: null, adminAPIKey: null, webhookSecret: null, logLevel: 'off', maxRetries: 0,
    ...(!apiKey && { defaultHeaders: { Authorization: null } }),
  })
  const running = new Set<AbortController>()
  let closed = false

  /** One request. Throws what the client throws, Unreachable, or BadReply. */
  async function attempt(messages: Message[], stop: AbortSignal): Promise<unknown> {
    stop.throwIfAborted()
    const request = new AbortController()
    const end = () => request.abort()
    // The client's own timeout ends with the headers of the answer; this one with its last byte.
    const timer = setTimeout(end, patience.timeoutMs)
    stop.addEventListener('abort', end, { once: true })
    try {
      const body = { model, messages, response_format: { type: 'json_object' as const } }
      return jsonOf(await client.chat.completions.create(body, { signal: request.signal }))
    } catch (error) {
      if (request.signal.aborted) throw new Unreachable(`no answer within ${patience.timeoutMs / 1000} s`)
      throw error
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', end)
    }
  }

  /** With retries; a bad reply has one. */
  async function insist<T>(messages: Message[], read: (value: unknown) => T, stop: AbortSignal): Promise<T> {
    let bad = 0
    for (let retry = 0; ; ) {
      try {
        return read(await attempt(messages, stop))
      } catch (error) {
        stop.throwIfAborted()
        if (error instanceof BadReply || error instanceof SyntaxError) {
          if (++bad <= 1) continue
          const why = error.message.replace(/\s+/g, ' ').trim().slice(0, 200)
          throw use.failed(`${who} answered twice with something that is not ${use.noun}: ${why}. ` +
            `Try again, or set a model that answers with JSON as ${use.modelVariable}.`, true)
        }
        const explained = explain(error, who, apiKey, use)
        const pause = explained.pauseMs ?? patience.pauseMs * 2 ** retry * (1 - Math.random() / 4)
        if (!explained.isPassing || retry >= patience.retries || pause > LONGEST_PAUSE_MS) throw explained.failure
        retry += 1
        await sleep(pause, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
      }
    }
  }

  return {
    async ask(messages, read, signal) {
      signal?.throwIfAborted()
      if (closed) throw use.closed()
      const stop = new AbortController()
      const end = () => stop.abort(signal?.reason)
      signal?.addEventListener('abort', end, { once: true })
      running.add(stop)
      try {
        return await insist(messages, read, stop.signal)
      } finally {
        running.delete(stop)
        signal?.removeEventListener('abort', end)
      }
    },
    close() {
      closed = true
      for (const stop of running) stop.abort(use.closed())
    },
  }
}

/** Data inside a fence longer than any in it, so that nothing in it can pass for the prompt. */
export function fenced(text: string): string {
  let longest = 2
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length)
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

/** The JSON value of a reply's text. Throws BadReply where there is none. */
function jsonOf(reply: unknown): unknown {
  const content = (reply as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content
  if (typeof content !== 'string') throw new BadReply('it has no message with text')
  if (content.length > LONGEST_REPLY) throw new BadReply('it is longer than a megabyte')
  // Some models put it into a fence, whatever they are told.
  const json = /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(content)?.[1] ?? content
  try {
    return JSON.parse(json)
  } catch {
    throw new BadReply('its text is not JSON')
  }
}
