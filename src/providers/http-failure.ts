// Classifies failed replies of HTTP APIs for models: transient or permanent, too long or not, and the requested pause.

import type { ProviderFailureCode } from './ports/provider-adapter.ts'

/** Whether the same request may succeed later. */
export const isTransientStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500

/**
 * Matches messages about the length of the input: OpenAI and vLLM "maximum context length", Ollama "input length
 * exceeds", TEI "must have less than 512 tokens" and "batch size 64 > maximum allowed", and llama.cpp "too large to
 * process" with status 500.
 */
const TOO_LONG = /context length|input length|max(imum)?[ _]|too (long|large|many)|less than \d+ tokens/i

/** Whether the request, or a text in it, is longer than the server accepts. */
export const isTooLongFailure = (status: number, message: string): boolean =>
  status === 413 || ([400, 422, 500].includes(status) && TOO_LONG.test(message))

/** Reads the requested pause in ms from retry-after-ms (OpenAI, Azure) or Retry-After, in seconds or as a date. */
export function pauseOf(headers: Headers | undefined): number | null {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const after = headers?.get('retry-after') ?? ''
  const pause = /^\s*\d/.test(after) ? Number.parseFloat(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isNaN(pause) ? null : Math.max(0, pause)
}

/** Classifies a failed chat call. An exhausted quota has the status 429, like a rate limit, but is not transient. */
export function failureCodeOf(status: number, isTransient: boolean): ProviderFailureCode {
  if (status === 429) return isTransient ? 'RATE_LIMITED' : 'QUOTA_EXHAUSTED'
  return isTransient ? 'UNAVAILABLE' : 'REFUSED'
}
