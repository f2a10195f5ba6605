// What is done about conversations and users when their thresholds are crossed. Each does one run, for exactly `n` turns, and
// moves the watermark in the transaction of the effect: so a run counts once, whoever else tries at the same time.
// False: fewer than `n` turns are left, or somebody else did it.

import type { BackgroundDeps } from './deps.ts'
import { extractNext } from '../fact/extract.ts'
import { reconcileDue } from '../fact/reconcile-facts.ts'
import { refreshProfileDue } from '../profile/refresh.ts'

export type Verbs = {
  /** Reads the oldest `n` turns of the conversation that were not read for facts. @throws ProviderFailed */
  extractNext(deps: BackgroundDeps, conversationId: string, n: number, signal: AbortSignal): Promise<boolean>
  /** Refreshes the user's profile. @throws ProviderFailed */
  refreshProfileDue(
    deps: BackgroundDeps,
    tenant: string,
    userId: string,
    n: number,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Reconciles what is known of the user. @throws ProviderFailed */
  reconcileDue(deps: BackgroundDeps, tenant: string, userId: string, n: number, signal: AbortSignal): Promise<boolean>
}

export const VERBS: Verbs = { extractNext, refreshProfileDue, reconcileDue }
