// Asks any server that speaks OpenAI's POST /chat/completions for JSON. A reply that cannot be read is asked for once
// more; failures name the next step. The key appears in no message.

import { CallFailed } from '../ports/call-failed.ts'
import { createCalls, type Calls, type Endpoint, type Patience } from './calls.ts'

export type ChatSettings = Endpoint & { model: string }

/** Of a provider that has prompts in files. */
export type PromptedSettings = ChatSettings & {
  /** Directory of the operator's own prompts. */
  promptsDir?: string | undefined
}

/** What lasts longer is left to the job queue. */
const PATIENCE: Patience = { timeoutMs: 60_000, retries: 2, pauseMs: 500 }
/** UTF-16 units of a reply. A longer one comes from a model that does not stop. */
const LONGEST_REPLY = 1024 * 1024

export type Message = { role: 'system' | 'user'; content: string }

/** A reply that is not what was asked for: worth asking again. */
export class BadReply extends Error {}

/** What a provider asks a chat model for. */
type ChatUse = {
  /** The port, and the provider's name. */
  port: string
  name: string
  /** What a reply should be, as in "a summary". */
  noun: string
  /** The variable that names the model. */
  modelVariable: string
}

type Chat = Pick<Calls, 'check' | 'close'> & {
  /**
   * Returns what `read` makes of the JSON value that the model answers with. `read` throws BadReply for a value that it
   * cannot use.
   * @throws CallFailed, or the reason of the signal that was aborted
   */
  ask<T>(messages: Message[], read: (value: unknown) => T, signal?: AbortSignal): Promise<T>
}

export function createChat(settings: ChatSettings, use: ChatUse, patience: Patience = PATIENCE): Chat {
  const { model, baseUrl } = settings
  const { noun, modelVariable } = use
  const who = `openai:${model} at ${baseUrl}`
  const words = { who, noun, modelVariable, advice: `Check ${modelVariable}.`, divides: false }
  const calls = createCalls(settings, use, words, patience)

  async function insist<T>(messages: Message[], read: (value: unknown) => T, stop: AbortSignal): Promise<T> {
    const body = { model, messages, response_format: { type: 'json_object' as const } }
    for (let bad = 1; ; bad++) {
      try {
        return await calls.request(async (client, signal) => {
          try {
            return read(jsonOf(await client.chat.completions.create(body, { signal })))
          } catch (error) {
            throw error instanceof SyntaxError ? new BadReply(error.message) : error
          }
        }, stop)
      } catch (error) {
        if (!(error instanceof BadReply)) throw error
        if (bad === 1) continue
        const why = error.message.replace(/\s+/g, ' ').trim().slice(0, 200)
        throw new CallFailed(
          `${who} answered twice with something that is not ${noun}: ${why}. `
            + `Try again, or set a model that answers with JSON as ${modelVariable}.`,
          true,
        )
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
  // Some models put it into a fence, whatever the prompt says.
  const json = /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(content)?.[1] ?? content
  try {
    return JSON.parse(json)
  } catch {
    throw new BadReply('its text is not JSON')
  }
}
