// Lists the functions that jobs call when a conversation or a user reaches a threshold, or when facts change. Each stores
// its progress in the transaction that writes the result, so that concurrent calls never handle a turn or a fact twice.
// A call with `n` that returns true handled exactly `n` turns, or none if it refreshed a profile because facts changed. A
// call returns false if no work is due, or if another process did the work first.

import type { Subject } from '../../store/job-queue.ts'
import type { BackgroundDeps } from './deps.ts'
import { extractNext } from '../fact/extract.ts'
import { reconcileNext } from '../fact/reconcile-due.ts'
import { refreshProfileDue } from '../profile/refresh.ts'

export type DueWork = {
  /** Extracts facts from the oldest `n` unread turns. @throws ProviderFailed */
  extractNext(
    deps: BackgroundDeps,
    tenant: string,
    conversationId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /**
   * Refreshes the user's profile if that is due: one refresh becomes due per `n` turns by the user, and whenever facts
   * about the user change. @throws ProviderFailed
   */
  refreshProfileDue(
    deps: BackgroundDeps,
    tenant: string,
    userId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Reconciles changed facts of the subject: a user, or a conversation with facts about no user. @throws ProviderFailed */
  reconcileNext(deps: BackgroundDeps, subject: Subject, signal: AbortSignal): Promise<boolean>
}

export const DUE_WORK: DueWork = { extractNext, refreshProfileDue, reconcileNext }
