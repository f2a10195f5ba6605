// Defines the error codes of failed runs, and converts any error into one of them. A message never contains the text of
// a provider or a tool, because that text may contain secrets.

import {
  BudgetTooSmall,
  DomainError,
  InvalidInput,
  NotAllowed,
  QuotaExceeded,
  StreamClosed,
} from '../../../../errors.ts'
import { ProviderCallFailed } from '../../../../providers/ports/provider-adapter.ts'
import { CallFailed } from '../../../../providers/ports/call-failed.ts'

export const RUN_ERRORS = [
  'PROVIDER_FAILED',
  'PROVIDER_STALLED',
  'REPLY_TOO_LONG',
  'INVALID_REPLY',
  'INVALID_TOOL_CALL',
  'TOO_MANY_ROUNDS',
  'TIME_LIMIT',
  'QUOTA_EXCEEDED',
  'BUDGET_TOO_SMALL',
  'AGENT_LEFT',
  'NOT_ALLOWED',
  'INTERRUPTED',
  'EXPIRED',
  'INTERNAL',
] as const
export type RunErrorCode = (typeof RUN_ERRORS)[number]

/** Ends a run as FAILED. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  readonly code: RunErrorCode
  constructor(code: RunErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Stops the execution of a run without changing its state, because another call or process has changed it. */
export class RunLost extends Error {
  override readonly name = 'RunLost'
}

/** Codes of failures that may be temporary. */
const RETRYABLE: ReadonlySet<string> = new Set<RunErrorCode>([
  'PROVIDER_STALLED',
  'TIME_LIMIT',
  'QUOTA_EXCEEDED',
  'INTERRUPTED',
  'INTERNAL',
])

/** Whether a new run with the same input may succeed. */
export const isRetryable = (code: string): boolean => RETRYABLE.has(code)

const ofProvider = (error: CallFailed): RunFailure => {
  const code = error instanceof ProviderCallFailed ? error.code : null
  if (code === 'STALLED') return new RunFailure('PROVIDER_STALLED', error.message)
  if (code === 'REPLY_TOO_LARGE') return new RunFailure('REPLY_TOO_LONG', error.message)
  return new RunFailure('PROVIDER_FAILED', error.message)
}

/** Converts an error into a failure of the run. An unexpected error becomes INTERNAL; the caller logs it. */
export function failureOf(error: unknown): RunFailure {
  if (error instanceof RunFailure) return error
  if (error instanceof CallFailed) return ofProvider(error)
  if (error instanceof QuotaExceeded) return new RunFailure('QUOTA_EXCEEDED', error.message)
  if (error instanceof BudgetTooSmall) return new RunFailure('BUDGET_TOO_SMALL', error.message)
  if (error instanceof NotAllowed) return new RunFailure('AGENT_LEFT', error.message)
  if (error instanceof StreamClosed) {
    return new RunFailure('INTERRUPTED', `The reply was closed while the run wrote it: it is ${error.status}.`)
  }
  if (error instanceof InvalidInput)
    return new RunFailure('INVALID_REPLY', `The reply cannot be stored: ${error.message}`)
  if (error instanceof DomainError) return new RunFailure('INTERNAL', error.message)
  return new RunFailure('INTERNAL', 'An unexpected error ended the run. The server has logged it.')
}
