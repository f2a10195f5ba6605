// The state of a client's connection, and the reports of failures that no caller receives.

import type { ColloquyError } from './errors.ts'
import type { Turn } from '../generated.ts'
import { isRetryable } from './retry.ts'

/** `connecting` until the server first answers; `disconnected` until it answers again, and after `close`. */
export type ConnectionState = 'connecting' | 'connected' | 'disconnected'

export type ReportOptions = {
  /**
   * Called when the state of the connection changes, or the code of the reason for `disconnected`. The reason is
   * undefined for other states, and after `close`.
   */
  onConnection?(state: ConnectionState, reason?: ColloquyError): void
  /**
   * Called with failures that no caller receives: of calls that are retried, of live values, and of `answer`, with the
   * turn. Called once per cause; for calls that are retried, once per code until the connection was lost and is
   * restored. Defaults to a warning on the console.
   */
  onError?(error: unknown, turn?: Turn): void
}

/** Codes of failures in which no usable server answered. */
const UNUSABLE = new Set(['NETWORK', 'TIMEOUT', 'UNAVAILABLE', 'BAD_RESPONSE', 'BAD_URL', 'UNAUTHENTICATED'])
/** Maximum number of causes that are remembered. Above it, all are forgotten. */
const MAX_CAUSES = 1_000

const warn = (error: unknown, turn?: Turn): void =>
  console.warn(turn ? `Colloquy, turn ${turn.id}:` : 'Colloquy:', error)

export type Reports = ReturnType<typeof createReports>

export function createReports({ onConnection, onError = warn }: ReportOptions) {
  /** The state, and the code of its reason. */
  let current = ''
  let isClosed = false
  /** The causes reported: `retried` since the connection was last restored, `permanent` since the start. */
  const retried = new Set<string>()
  const permanent = new Set<string>()

  function change(state: ConnectionState, reason?: ColloquyError): void {
    const next = `${state} ${reason?.code ?? ''}`
    if (isClosed || next === current) return
    if (state === 'connected') retried.clear()
    current = next
    onConnection?.(state, reason)
  }

  function report(error: unknown, turn?: Turn): void {
    const isTemporary = isRetryable(error)
    const causes = isTemporary ? retried : permanent
    const cause = `${turn?.id} ${isTemporary ? (error as ColloquyError).code : error}`
    if (isClosed || causes.has(cause)) return
    if (causes.size === MAX_CAUSES) causes.clear()
    causes.add(cause)
    onError(error, turn)
  }

  return {
    report,
    started: () => current || change('connecting'),
    answered: () => change('connected'),
    /** Nothing is reported after it. */
    closed() {
      change('disconnected')
      isClosed = true
    },
    /** Records a failed attempt of a call. The caller receives the failure if the call is not retried. */
    failed(error: ColloquyError, isRetried: boolean): void {
      if (UNUSABLE.has(error.code)) change('disconnected', error)
      else change('connected')
      if (isRetried) report(error)
    },
  }
}
