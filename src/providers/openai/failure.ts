// What went wrong between us and a server of OpenAI's kind: whether it may pass, how long to wait, and a text that
// names the cause and the next step, without the key.

import { APIConnectionError, APIError } from 'openai'
import { CallFailed } from '../ports/call-failed.ts'

/** What a provider asks a server for, in the words of its failures. */
export type Use = {
  /** Begins every message: the model, and the address of the server. */
  who: string
  /** What a reply should be, as in "embeddings". */
  noun: string
  /** The variable that names the model. */
  modelVariable: string
  /** The next step where nothing better is known. */
  advice: string
  /** Whether the provider sends less where the server finds a request too long. Then that is not tried again as it is. */
  divides: boolean
}

/** The request, or a text in it, is longer than the server takes. */
export class TooLong extends CallFailed {}

export type Explained = {
  failure: CallFailed
  /** The same request may succeed in a moment. */
  isPassing: boolean
  /** Milliseconds to wait, where the server says so. */
  pauseMs: number | null
}

/**
 * As servers say it: OpenAI and vLLM "maximum context length", Ollama "input length exceeds", TEI "must have less than
 * 512 tokens" and "batch size 64 > maximum allowed", llama.cpp "too large to process" (with a 500).
 */
const TOO_LONG = /context length|input length|max(imum)?[ _]|too (long|large|many)|less than \d+ tokens/i

/** No answer came. */
export class Unreachable extends Error {}

const CHECK_URL = 'Check OPENAI_BASE_URL: with most servers it ends in /v1.'

/** Something else answers at that address. */
export const wrongReply = ({ who, noun }: Use) =>
  new CallFailed(`${who} answered, but not with ${noun}. ${CHECK_URL}`, false)

const nextStep = (status: number, { modelVariable, advice }: Use): string =>
  status === 401 || status === 403
    ? 'Check OPENAI_API_KEY.'
    : status === 404
      ? `Check ${modelVariable}. ${CHECK_URL}`
      : status === 405
        ? CHECK_URL
        : advice

/** Explains what a request threw. What is no failure of the exchange is thrown again. */
export function explain(error: unknown, use: Use, apiKey: string | undefined): Explained {
  const { who } = use
  const quoted = (text: string) =>
    text
      .replaceAll(apiKey || '\0', '***')
      .replace(/\s+/g, ' ')
      .slice(0, 300)
  const lasting = (failure: CallFailed) => ({ failure, isPassing: false, pauseMs: null })
  // A reply that cannot be used is not asked for twice.
  if (error instanceof CallFailed) return lasting(error)
  if (error instanceof SyntaxError) return lasting(wrongReply(use))
  if (isConnection(error)) {
    const text = `${who} cannot be reached: ${quoted(causeOf(error))}. Check that it runs, and OPENAI_BASE_URL.`
    return { failure: new CallFailed(text, true), isPassing: true, pauseMs: null }
  }
  if (!(error instanceof APIError)) throw error
  const { status = 0, headers, code } = error
  const isPassing = status === 408 || status === 409 || status === 429 || status >= 500
  const isTooLong = status === 413 || ([400, 422, 500].includes(status) && TOO_LONG.test(error.message))
  const next = isPassing ? '' : ` ${nextStep(status, use)}`
  const text = `${who} answered ${quoted(error.message).replace(/\.?$/, '.')}${next}`
  return {
    failure: isTooLong ? new TooLong(text, isPassing) : new CallFailed(text, isPassing),
    // A quota that is used up comes as 429, too, and does not come back in a moment.
    isPassing: isPassing && code !== 'insufficient_quota' && !(isTooLong && use.divides),
    pauseMs: pauseOf(headers),
  }
}

/** Also where it broke after the headers: fetch then says "terminated", and why. */
const isConnection = (error: unknown) =>
  error instanceof Unreachable
  || error instanceof APIConnectionError
  || (error instanceof TypeError && error.cause instanceof Error)

/** Retry-After in seconds or as a date, or the finer retry-after-ms of OpenAI and Azure. */
function pauseOf(headers: Headers | undefined): number | null {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const after = headers?.get('retry-after') ?? ''
  const asked = /^\s*\d/.test(after) ? Number.parseFloat(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isNaN(asked) ? null : Math.max(0, asked)
}

/** The innermost cause: fetch says "fetch failed" and hides it. */
function causeOf(error: unknown): string {
  let inner = error as { message?: string; code?: string; cause?: unknown }
  while (inner?.cause instanceof Error) inner = inner.cause
  return inner?.message || inner?.code || String(error)
}
