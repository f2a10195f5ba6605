// The verbs that jobs run when a conversation or user crosses a threshold. Each call handles exactly `n` turns and
// moves the watermark in the transaction of the effect, so that concurrent runs count once. A verb returns false if
// fewer than `n` turns are left or another process was faster.

import type { BackgroundDeps } from './deps.ts'
import { extractNext } from '../fact/extract.ts'
import { reconcileDue } from '../fact/reconcile-facts.ts'
import { refreshProfileDue } from '../profile/refresh.ts'

export type Verbs = {
  /** Extracts facts from the oldest `n` turns that have not been read for facts. @throws ProviderFailed */
  extractNext(deps: BackgroundDeps, conversationId: string, n: number, signal: AbortSignal): Promise<boolean>
  /** Refreshes the user's profile. @throws ProviderFailed */
  refreshProfileDue(
    deps: BackgroundDeps,
    tenant: string,
    userId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Reconciles the facts about the user. @throws ProviderFailed */
  reconcileDue(deps: BackgroundDeps, tenant: string, userId: string, n: number, signal: AbortSignal): Promise<boolean>
}

export const VERBS: Verbs = { extractNext, refreshProfileDue, reconcileDue }
