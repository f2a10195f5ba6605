// Requests JSON from any server with OpenAI's POST /chat/completions. An unusable reply is requested once more; errors
// name the next step and never contain the key.

import { CallFailed } from '../ports/call-failed.ts'
import { createCalls, type Calls, type Endpoint, type Patience } from './calls.ts'

export type ChatSettings = Endpoint & { model: string }

/** Settings of a provider with prompts in files. */
export type PromptedSettings = ChatSettings & {
  /** Directory of the operator's prompts. */
  promptsDir?: string | undefined
}

/** Longer outages are left to the retries of the job queue. */
const PATIENCE: Patience = { timeoutMs: 60_000, retries: 2, pauseMs: 500 }
/** Maximum UTF-16 units of a reply; a longer one means that the model does not stop. */
const LONGEST_REPLY = 1024 * 1024

export type Message = { role: 'system' | 'user'; content: string }

/** An unusable reply; the request is worth repeating. */
export class BadReply extends Error {}

/** How a provider uses a chat model; for error texts. */
type ChatUse = {
  port: string
  /** The provider's name. */
  name: string
  /** The expected reply, for example "a summary". */
  noun: string
  /** The variable that names the model. */
  modelVariable: string
}

type Chat = Pick<Calls, 'check' | 'close'> & {
  /**
   * Returns the result of `read` for the JSON value in the model's reply. `read` throws BadReply for an unusable value.
   * @throws CallFailed, or the signal's reason after an abort
   */
  ask<T>(messages: Message[], read: (value: unknown) => T, signal?: AbortSignal): Promise<T>
}

export function createChat(settings: ChatSettings, use: ChatUse, patience: Patience = PATIENCE): Chat {
  const { model, baseUrl } = settings
  const { noun, modelVariable } = use
  const who = `openai:${model} at ${baseUrl}`
  const words = { who, noun, modelVariable, advice: `Check ${modelVariable}.`, divides: false }
  const calls = createCalls(settings, use, words, patience)

  async function askTwice<T>(messages: Message[], read: (value: unknown) => T, stop: AbortSignal): Promise<T> {
    const body = { model, messages, response_format: { type: 'json_object' as const } }
    for (let attempt = 1; ; attempt++) {
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
        if (attempt === 1) continue
        const why = error.message.replace(/\s+/g, ' ').trim().slice(0, 200)
        throw new CallFailed(
          `${who} answered twice with something that is not ${noun}: ${why}. `
            + `Try again, or set ${modelVariable} to a model that answers with JSON.`,
          true,
        )
      }
    }
  }

  return {
    check: calls.check,
    ask: (messages, read, signal) => calls.run((stop) => askTwice(messages, read, stop), signal),
    close: calls.close,
  }
}

/** Splits items into requests, in order: at most `most` items and `units` each, or one item that is larger. */
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

/** Puts data into a fence longer than any in it, so that no data can pass for the prompt. */
export function fenced(text: string): string {
  let longest = 2
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length)
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

/** Parses the JSON value in a reply's text. @throws BadReply */
function jsonOf(reply: unknown): unknown {
  const content = (reply as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message?.content
  if (typeof content !== 'string') throw new BadReply('it has no message with text')
  if (content.length > LONGEST_REPLY) throw new BadReply('it is longer than a megabyte')
  // Some models put the JSON into a fence despite the prompt.
  const json = /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(content)?.[1] ?? content
  try {
    return JSON.parse(json)
  } catch {
    throw new BadReply('its text is not JSON')
  }
}
