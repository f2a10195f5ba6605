// Requests JSON from any server with OpenAI's POST /chat/completions, and reads the files of prompts. After an unusable
// reply, the request is sent once more. Error messages name the next step and never contain the key.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CallFailed } from '../ports/call-failed.ts'
import { OPENAI_VARIABLES } from './failure.ts'
import { createCalls, type Calls, type Endpoint, type RetryPolicy } from './calls.ts'

export type ChatSettings = Endpoint & { model: string }

/** Settings of a provider whose prompts are files. */
export type PromptedSettings = ChatSettings & {
  /** Directory of the operator's prompts; undefined for the built-in ones. */
  promptsDir?: string | undefined
}

/** Retries only short outages, because the job queue retries after longer ones. */
const RETRY_POLICY: RetryPolicy = { timeoutMs: 60_000, retries: 2, pauseMs: 500 }
/** Maximum length of a reply, in UTF-16 units. A longer reply indicates that the model did not stop. */
const MAX_REPLY_UNITS = 1024 * 1024

export type Message = { role: 'system' | 'user'; content: string }

/** The reply is unusable, but a second request may get a usable one. */
export class BadReply extends Error {}

/** The parts of error messages about a chat model. */
type ChatErrorContext = {
  /** The kind of provider, for example "summarizer". */
  port: string
  /** The provider's name. */
  name: string
  /** The expected reply, for example "a summary". */
  noun: string
  /** The environment variable that selects the model. */
  modelVariable: string
}

type Chat = Pick<Calls, 'check' | 'close'> & {
  /**
   * Passes the JSON value in the model's reply to `read`, and returns the result of `read`. `read` throws BadReply for
   * an unusable value.
   * @throws CallFailed, or the signal's reason after an abort
   */
  ask<T>(messages: Message[], read: (value: unknown) => T, signal?: AbortSignal): Promise<T>
}

export function createChat(
  settings: ChatSettings,
  context: ChatErrorContext,
  retryPolicy: RetryPolicy = RETRY_POLICY,
): Chat {
  const { model } = settings
  const { noun, modelVariable } = context
  const label = `openai:${model}`
  const settingNames = { ...OPENAI_VARIABLES, model: modelVariable }
  const errorContext = { label, noun, settings: settingNames, advice: `Check ${modelVariable}.`, splitsRequests: false }
  const calls = createCalls(settings, context, errorContext, retryPolicy)

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
        // The reply is not quoted: it may contain turns.
        throw new CallFailed(
          `${label} answered twice with something that is not ${noun}. `
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

/**
 * Splits items into requests, in order. A request has at most `maxItems` items and `maxUnits` units. An item with more
 * than `maxUnits` units gets its own request.
 */
export function requestsOf<T>(
  items: Iterable<T>,
  unitsOf: (item: T) => number,
  maxUnits: number,
  maxItems = Infinity,
): T[][] {
  const requests: T[][] = []
  let total = Infinity
  for (const item of items) {
    const units = unitsOf(item)
    total += units
    if (total > maxUnits || requests.at(-1)!.length === maxItems) {
      requests.push([])
      total = units
    }
    requests.at(-1)!.push(item)
  }
  return requests
}

/** Encloses data in a fence that is longer than any fence in the data, so that the data cannot end the fence. */
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
  if (content.length > MAX_REPLY_UNITS) throw new BadReply(`it is longer than ${MAX_REPLY_UNITS} characters`)
  // Some models enclose the JSON in a fence despite the prompt.
  const json = /^\s*```\w*\n([\s\S]*?)\n```\s*$/.exec(content)?.[1] ?? content
  try {
    return JSON.parse(json)
  } catch {
    throw new BadReply('its text is not JSON')
  }
}

/**
 * Reads the prompt `<name>.md` from the operator's directory, or the built-in prompt if that file does not exist. Each
 * call reads the file again, so that edits take effect immediately.
 */
export async function readPrompt(name: string, directory?: string): Promise<string> {
  if (directory !== undefined) {
    try {
      return await readFile(join(directory, `${name}.md`), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return readFile(new URL(`./prompts/${name}.md`, import.meta.url), 'utf8')
}
