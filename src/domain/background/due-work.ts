// Lists the functions that jobs call when a conversation or a user reaches a threshold. Each call handles exactly `n`
// turns, or none if it refreshes a profile because facts changed. It stores the number of handled turns in the
// transaction that writes the result, so that concurrent calls never handle a turn twice. It returns false if no work
// is due, or if another process did the work first.

import type { BackgroundDeps } from './deps.ts'
import { extractNext } from '../fact/extract.ts'
import { reconcileDue } from '../fact/reconcile-facts.ts'
import { refreshProfileDue } from '../profile/refresh.ts'

export type DueWork = {
  /** Extracts facts from the oldest `n` turns from which none were extracted yet. @throws ProviderFailed */
  extractNext(
    deps: BackgroundDeps,
    tenant: string,
    conversationId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Refreshes the user's profile once for the user's next `n` turns, or for changed facts. @throws ProviderFailed */
  refreshProfileDue(
    deps: BackgroundDeps,
    tenant: string,
    userId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Reconciles the facts about the user once for the user's next `n` turns. @throws ProviderFailed */
  reconcileDue(deps: BackgroundDeps, tenant: string, userId: string, n: number, signal: AbortSignal): Promise<boolean>
}

export const DUE_WORK: DueWork = { extractNext, refreshProfileDue, reconcileDue }
