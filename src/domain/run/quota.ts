// Checks quotas: the maximum number of tokens that the runs of a participant, and of a tenant, may use in a day (UTC).
// A call that starts below the quota is not interrupted, so concurrent calls may exceed the quota.

import { QuotaExceeded } from '../../errors.ts'
import { readQuotas, type Quota } from '../../store/sql/run/token-usage.ts'
import type { Platform } from '../platform.ts'

const isUsedUp = (quota: Quota): quota is { limit: number; used: number } =>
  quota.limit !== null && quota.used >= quota.limit

/** @throws QuotaExceeded if the participant or the tenant has used up its quota of the day */
export async function requireQuota(
  { pool }: Pick<Platform, 'pool'>,
  tenant: string,
  conversationId: string,
  actor: string,
): Promise<void> {
  const quotas = await readQuotas(pool, tenant, conversationId, actor)
  if (isUsedUp(quotas.participant)) {
    throw new QuotaExceeded(`The participant ${JSON.stringify(actor)}`, quotas.participant, quotas.resetsAt)
  }
  if (isUsedUp(quotas.tenant)) throw new QuotaExceeded('The tenant', quotas.tenant, quotas.resetsAt)
}
