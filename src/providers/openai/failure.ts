// What went wrong between us and a server of OpenAI's kind: whether it may pass, how long to wait, and a text that
// names the cause and the next step, without the key.

import { APIConnectionError, APIError } from 'openai'
import { EmbedderFailed } from '../ports/embedder.ts'

/** What was asked for, and how that fails. */
export type Use<Failure extends Error = Error> = {
  failed(message: string, retryable: boolean): Failure
  /** Whether it is such a failure already. */
  isFailure(error: unknown): error is Failure
  /** What should have come. */
  noun: string
  /** The variable that names the model. */
  modelVariable: string
  /** The next step where nothing better is known. */
  advice: string
}

const EMBEDDINGS: Use<EmbedderFailed> = {
  failed: (message, retryable) => new EmbedderFailed(message, retryable),
  isFailure: (error) => error instanceof EmbedderFailed,
  noun: 'embeddings',
  modelVariable: 'EMBEDDING_MODEL',
  advice: 'Check EMBEDDING_MODEL and EMBEDDING_DIMENSIONS.',
}

export type Explained<Failure extends Error = EmbedderFailed> = {
  failure: Failure
  /** The same request may succeed in a moment. */
  isPassing: boolean
  /** The request, or a text in it, is longer than the server takes. */
  isTooMuch: boolean
  /** Milliseconds to wait, where the server says so. */
  pauseMs: number | null
}

/**
 * As servers say it: OpenAI and vLLM "maximum context length", Ollama "input length exceeds", TEI "must have less than
 * 512 tokens" and "batch size 64 > maximum allowed", llama.cpp "too large to process" (with a 500).
 */
const TOO_MUCH = /context length|input length|max(imum)?[ _]|too (long|large|many)|less than \d+ tokens/i

/** No answer came. */
export class Unreachable extends Error {}

const CHECK_URL = 'Check OPENAI_BASE_URL: with most servers it ends in /v1.'

/** Something else answers at that address. */
const somethingElse = <Failure extends Error>(who: string, { failed, noun }: Use<Failure>) =>
  failed(`${who} answered, but not with ${noun}. ${CHECK_URL}`, false)
export const notEmbeddings = (who: string) => somethingElse(who, EMBEDDINGS)

const nextStep = (status: number, { modelVariable, advice }: Use): string =>
  status === 401 || status === 403
    ? 'Check OPENAI_API_KEY.'
    : status === 404
      ? `Check ${modelVariable}. ${CHECK_URL}`
      : status === 405
        ? CHECK_URL
        : advice

/** Explains what an attempt threw; `who` begins the text. What is no failure of the exchange is thrown again. */
export function explain(error: unknown, who: string, apiKey: string | undefined): Explained
export function explain<Failure extends Error>(
  error: unknown,
  who: string,
  apiKey: string | undefined,
  use: Use<Failure>,
): Explained<Failure>
export function explain(
  error: unknown,
  who: string,
  apiKey: string | undefined,
  use: Use = EMBEDDINGS,
): Explained<Error> {
  const said = (text: string) =>
    text
      .replaceAll(apiKey || '\0', '***')
      .replace(/\s+/g, ' ')
      .slice(0, 300)
  const lasting = (failure: Error) => ({ failure, isPassing: false, isTooMuch: false, pauseMs: null })
  // An answer that is no good is not asked for twice.
  if (use.isFailure(error)) return lasting(error)
  if (error instanceof SyntaxError) return lasting(somethingElse(who, use))
  if (isConnection(error)) {
    const text = `${who} cannot be reached: ${said(causeOf(error))}. Check that it runs, and OPENAI_BASE_URL.`
    return { failure: use.failed(text, true), isPassing: true, isTooMuch: false, pauseMs: null }
  }
  if (!(error instanceof APIError)) throw error
  const { status = 0, headers, code } = error
  const isPassing = status === 408 || status === 409 || status === 429 || status >= 500
  const isTooMuch = status === 413 || ([400, 422, 500].includes(status) && TOO_MUCH.test(error.message))
  const next = isPassing ? '' : ` ${nextStep(status, use)}`
  return {
    failure: use.failed(`${who} answered ${said(error.message).replace(/\.?$/, '.')}${next}`, isPassing),
    // A quota that is used up comes as 429, too, and does not come back in a moment.
    isPassing: isPassing && code !== 'insufficient_quota',
    isTooMuch,
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
