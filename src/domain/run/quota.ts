// Quotas: the tokens that the runs of a participant, and of a tenant, may use in one day (UTC). A call that begins below
// its quota runs to its end, so the sum may exceed the quota by the calls that run at the time.

import { QuotaExceeded } from '../../errors.ts'
import { readQuotas, type Quota } from '../../store/sql/run/token-usage.ts'
import type { Platform } from '../platform.ts'

const isUsedUp = (quota: Quota): quota is { limit: number; used: number } =>
  quota.limit !== null && quota.used >= quota.limit

/** @throws QuotaExceeded if the participant or the tenant has used its tokens of today */
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
