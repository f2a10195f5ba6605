// Explains failed requests to OpenAI-compatible servers: whether the failure is transient, the pause before a retry,
// and a message with the cause and the next step. Messages are sent to clients and stored in jobs and logs, so they
// contain neither the address of the server nor sentences that it sent, which may quote turns or a part of the key.

import { APIConnectionError, APIError } from 'openai'
import { isTooLongFailure, isTransientStatus, pauseOf } from '../http-failure.ts'
import { CallFailed } from '../ports/call-failed.ts'

/** The operator's names for the settings of a provider. `model` is null if its servers have only one. */
export type SettingNames = { url: string; key: string; model: string | null }

/** The environment variables of a provider, except the one that selects the model. */
export const OPENAI_VARIABLES = { url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' }

/** The parts of error messages about a provider and its server. */
export type ErrorContext = {
  /** The names of the provider and its model. Every message begins with them. */
  label: string
  /** The expected reply, for example "embeddings". */
  noun: string
  /** The settings that error messages name. */
  settings: SettingNames
  /** What the operator should know about the URL. Defaults to a hint that most end in /v1. */
  urlHint?: string
  /** The next step for the operator, unless the HTTP status suggests another. */
  advice: string
  /** Whether the provider divides a request that is too long. If so, the request is not retried unchanged. */
  splitsRequests: boolean
}

/** The request, or a text in it, is longer than the server accepts. */
export class TooLong extends CallFailed {}

export type Explained = {
  failure: CallFailed
  /** Whether the same request may succeed shortly. */
  isTransient: boolean
  /** Pause that the server requests before a retry, ms; null if it requests none. */
  pauseMs: number | null
}

/** The server did not answer in time. Clients receive the message. */
export class Unreachable extends Error {}

const checkUrl = ({ settings, urlHint = 'with most servers it ends in /v1' }: ErrorContext) =>
  `Check ${settings.url}: ${urlHint}.`

/** Returns the error for a reply with an unexpected structure, which probably comes from a different service. */
export const wrongReply = (context: ErrorContext) =>
  new CallFailed(`${context.label} answered, but not with ${context.noun}. ${checkUrl(context)}`, false)

const nextStep = (status: number, context: ErrorContext): string =>
  status === 401 || status === 403
    ? `Check ${context.settings.key}.`
    : status === 404
      ? `${context.settings.model === null ? '' : `Check ${context.settings.model}. `}${checkUrl(context)}`
      : status === 405
        ? checkUrl(context)
        : context.advice

/** Matches identifiers chosen by the server. Other values are left out of messages, because they could be sentences. */
const IDENTIFIER = /^[\w.:-]{1,64}$/

/** Formats an error's identifiers, for example " (code model_not_found, request req_42)"; empty for none. */
function identifiersOf({ code, requestID }: APIError): string {
  const valid = Object.entries({ code, request: requestID }).filter(([, value]) => value && IDENTIFIER.test(value))
  return valid.length > 0 ? ` (${valid.map(([name, value]) => `${name} ${value}`).join(', ')})` : ''
}

/** Explains an error that a request threw. Rethrows an error that is unrelated to the request. */
export function explain(error: unknown, context: ErrorContext): Explained {
  const { label, settings } = context
  const permanent = (failure: CallFailed) => ({ failure, isTransient: false, pauseMs: null })
  // The server replied, so the caller decides whether to send the request again.
  if (error instanceof CallFailed) return permanent(error)
  if (error instanceof SyntaxError) return permanent(wrongReply(context))
  if (isConnection(error)) {
    const text = `${label} cannot be reached: ${causeOf(error)}. Check ${settings.url}, and that the server is running.`
    return { failure: new CallFailed(text, true), isTransient: true, pauseMs: null }
  }
  if (!(error instanceof APIError)) throw error
  const { status = 0, headers, code } = error
  const isTransient = isTransientStatus(status)
  const isTooLong = isTooLongFailure(status, error.message)
  const next = isTransient ? '' : ` ${nextStep(status, context)}`
  const reason = isTooLong ? ': the input is too long' : ''
  const text = `${label} answered with status ${status}${identifiersOf(error)}${reason}.${next}`
  return {
    failure: isTooLong ? new TooLong(text, isTransient) : new CallFailed(text, isTransient),
    // An exhausted quota also has status 429, but does not recover shortly.
    isTransient: isTransient && code !== 'insufficient_quota' && !(isTooLong && context.splitsRequests),
    pauseMs: pauseOf(headers),
  }
}

/** Whether the connection failed. If it broke after the headers, fetch throws TypeError "terminated" with a cause. */
const isConnection = (error: unknown) =>
  error instanceof Unreachable
  || error instanceof APIConnectionError
  || (error instanceof TypeError && error.cause instanceof Error)

/** Returns the code of the innermost cause, for example ECONNREFUSED. Its message would contain the address. */
function causeOf(error: unknown): string {
  if (error instanceof Unreachable) return error.message
  let inner = error as { code?: string; cause?: unknown }
  while (inner?.cause instanceof Error) inner = inner.cause
  return inner?.code && IDENTIFIER.test(inner.code) ? inner.code : 'the connection failed'
}
