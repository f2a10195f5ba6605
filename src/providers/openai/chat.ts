// Asks any server that speaks OpenAI's POST /chat/completions for JSON, and insists: on answers in time, on replies
// that can be read (a bad one is asked for once more), and on failures that say what to do. The key is in no message.

import { setTimeout as sleep } from 'node:timers/promises'
import { createCalls, createClient, inTime } from './client.ts'
import { explain, type Use } from './failure.ts'

export type ChatSettings = {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | undefined
  model: string
}

/** Of what has prompts in files. */
export type PromptedSettings = ChatSettings & {
  /** Where the operator's own prompts lie. */
  promptsDir?: string | undefined
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
type ChatUse<Failure extends Error> = Use<Failure> & {
  /** What rejects after close. */
  closed(): Failure
}

export const chatUse = <Failure extends Error>(
  Failed: new (message: string, retryable: boolean) => Failure,
  closed: () => Failure,
  noun: string,
  modelVariable: string,
): ChatUse<Failure> => ({
  failed: (message, retryable) => new Failed(message, retryable),
  isFailure: (error): error is Failure => error instanceof Failed,
  closed,
  noun,
  modelVariable,
  advice: `Check ${modelVariable}.`,
})

type Chat = {
  /** @throws the signal's reason, or what rejects after close: before anything is read or asked */
  check(signal?: AbortSignal): void
  /**
   * What `read` makes of the JSON value that the model answers with. `read` throws BadReply where it is no good.
   * @throws the failure of the use, or the reason of the signal that was aborted
   */
  ask<T>(messages: Message[], read: (value: unknown) => T, signal?: AbortSignal): Promise<T>
  /** Ends what runs; afterwards, ask rejects. May be called twice. */
  close(): void
}

export function createChat<Failure extends Error>(
  { model, baseUrl, apiKey }: ChatSettings,
  use: ChatUse<Failure>,
  patience: Patience = PATIENT,
): Chat {
  const who = `openai:${model} at ${baseUrl}`
  const client = createClient(baseUrl, apiKey)
  const calls = createCalls(use.closed)

  /** One request. Throws what the client throws, Unreachable, or BadReply. */
  const attempt = (messages: Message[], stop: AbortSignal): Promise<unknown> =>
    inTime(patience.timeoutMs, stop, async (signal) => {
      const body = { model, messages, response_format: { type: 'json_object' as const } }
      return jsonOf(await client.chat.completions.create(body, { signal }))
    })

  /** With retries; a bad reply has one. */
  async function insist<T>(messages: Message[], read: (value: unknown) => T, stop: AbortSignal): Promise<T> {
    let bad = 0
    for (let retry = 0; ;) {
      try {
        return read(await attempt(messages, stop))
      } catch (error) {
        stop.throwIfAborted()
        if (error instanceof BadReply || error instanceof SyntaxError) {
          if (++bad <= 1) continue
          const why = error.message.replace(/\s+/g, ' ').trim().slice(0, 200)
          throw use.failed(
            `${who} answered twice with something that is not ${use.noun}: ${why}. `
              + `Try again, or set a model that answers with JSON as ${use.modelVariable}.`,
            true,
          )
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
    check: calls.check,
    ask: (messages, read, signal) => calls.run((stop) => insist(messages, read, stop), signal),
    close: calls.close,
  }
}

/** The items in order, a list a request: of at most `units` together, or one that has more alone; `most` items each. */
export function requestsOf<T>(items: Iterable<T>, unitsOf: (item: T) => number, units: number, most = Infinity): T[][] {
  const requests: T[][] = []
  let taken = Infinity
  for (const item of items) {
    const own = unitsOf(item)
    taken += own
    if (taken > units || requests.at(-1)!.length === most) {
      requests.push([])
      taken = own
    }
    requests.at(-1)!.push(item)
  }
  return requests
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
