// Checks quotas: the maximum number of tokens that the runs of a participant, and of a tenant, may use in a day (UTC). A
// call reserves its tokens before it begins, and begins only if the tokens that were used and those that calls in
// progress have reserved are below the quota. It is not interrupted, so the sum exceeds the quota by at most one call,
// unless calls take more tokens than they have reserved.

import { sleep } from '../../../runtime/clock.ts'
import { QuotaExceeded } from '../../../errors.ts'
import type { RunRow } from '../../../store/sql/agent/run/run-columns.ts'
import { readQuotas, reserveTokens, type Quota } from '../../../store/sql/agent/run/token-usage.ts'
import type { Platform } from '../../kernel/platform.ts'
import type { RunDeps } from './deps.ts'
import { RunLost } from './answer/failure.ts'

/** Number of tokens that a call without `maxTokens` reserves for its reply. */
const RESERVED_REPLY_TOKENS = 4096
/** Interval at which a call tries again to reserve its tokens, ms. */
const RETRY_MS = 250
/** The largest integer of Postgres. */
const MAX_INTEGER = 2_147_483_647

type Limited = Quota & { limit: number }
type Quotas = { participant: Quota; tenant: Quota; resetsAt: Date }

/** Returns the error for the quota of which `isExceeded` holds; null if there is none. */
function exceeded(
  actor: string,
  { participant, tenant, resetsAt }: Quotas,
  isExceeded: (quota: Limited) => boolean,
): QuotaExceeded | null {
  const test = (quota: Quota): quota is Limited => quota.limit !== null && isExceeded(quota as Limited)
  if (test(participant)) return new QuotaExceeded(`The participant ${JSON.stringify(actor)}`, participant, resetsAt)
  return test(tenant) ? new QuotaExceeded('The tenant', tenant, resetsAt) : null
}

const isUsedUp = ({ limit, used }: Limited) => used >= limit

/** @throws QuotaExceeded if the participant or the tenant has used up its quota of the day */
export async function requireQuota(
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  conversationId: string,
  actor: string,
): Promise<void> {
  const error = exceeded(actor, await readQuotas(pool, tenant, conversationId, actor), isUsedUp)
  if (error) throw error
}

/**
 * Reserves the tokens of the next call of the run. Waits while calls in progress have reserved the rest of a quota, for
 * at most `runLimits.stallMs`. The end of the call, or of the run, releases the tokens.
 * @param maxTokens maximum number of tokens of the reply; null if unknown
 * @throws QuotaExceeded if a quota is used up, or still reserved after that time
 * @throws RunLost if the run has ended or has another holder; or the signal's reason
 */
export async function reserveQuota(
  deps: Pick<RunDeps, 'clock' | 'pool' | 'streamLeaseMs' | 'runLimits'>,
  run: RunRow & { holder: string },
  { promptTokens, maxTokens }: { promptTokens: number; maxTokens: number | null },
  signal: AbortSignal,
): Promise<void> {
  const key = { tenant: run.tenant, runId: run.id, holder: run.holder, leaseMs: deps.streamLeaseMs }
  const tokens = Math.min(promptTokens + (maxTokens ?? RESERVED_REPLY_TOKENS), MAX_INTEGER)
  const until = deps.clock.performance.now() + deps.runLimits.stallMs
  for (;;) {
    const reservation = await reserveTokens(deps.pool, key, tokens)
    if (!reservation) throw new RunLost()
    if (reservation.begins) return
    const isLate = deps.clock.performance.now() >= until
    const error = exceeded(
      run.actor,
      reservation,
      (quota) => isUsedUp(quota) || (isLate && quota.used + quota.reserved >= quota.limit),
    )
    if (error) throw error
    await sleep(deps.clock, RETRY_MS, signal)
  }
}
