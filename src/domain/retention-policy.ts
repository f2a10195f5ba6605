// The retention policy of a conversation: whether the content of its summarised turns is kept, and when the
// conversation expires. Tenants have defaults for new conversations.

import { z } from 'zod'
import { InvalidInput } from '../errors.ts'
import { Retention } from '../store/generated/enums.ts'
import type { Tx } from '../store/db.ts'
import { time } from './input.ts'
import type { Platform } from './platform.ts'

/** Maximum value of `ttlSeconds`, in seconds: about 68 years. */
export const MAX_TTL_SECONDS = 2_147_483_647

const ttl = z.int().min(1, 'must be at least 1').max(MAX_TTL_SECONDS, `must be at most ${MAX_TTL_SECONDS}`)

/** Fields of the inputs that create and update a conversation. */
export const retentionInput = {
  retention: z.enum(Retention).nullish(),
  ttlSeconds: ttl.nullish(),
  expiresAt: time.nullish(),
}
type Given = z.output<z.ZodObject<typeof retentionInput>>

/**
 * Returns the columns to write; omitted fields are not changed. Null restores retention FULL, or removes the expiry.
 * @throws InvalidInput for both ttlSeconds and expiresAt, and for AUDIT_ONLY without INTEGRITY_KEY
 */
export function retentionColumns(
  deps: Pick<Platform, 'integrityKeys'>,
  { retention, ttlSeconds, expiresAt }: Given,
  createdAt: Date,
): { retention?: Retention; expiresAt?: Date | null } {
  if (ttlSeconds != null && expiresAt != null) {
    throw InvalidInput.at('expiresAt', 'must not be given together with ttlSeconds')
  }
  requireKey(deps, retention)
  const expiry = ttlSeconds == null ? (expiresAt ?? ttlSeconds) : new Date(createdAt.getTime() + ttlSeconds * 1000)
  return {
    ...(retention !== undefined && { retention: retention ?? 'FULL' }),
    ...((ttlSeconds !== undefined || expiresAt !== undefined) && { expiresAt: expiry ?? null }),
  }
}

/**
 * Checks that the server has the key that the retention needs.
 * @throws InvalidInput for AUDIT_ONLY without a key: the text of a short turn can be guessed from a plain hash
 */
export function requireKey(
  { integrityKeys }: Pick<Platform, 'integrityKeys'>,
  retention: Retention | null | undefined,
): void {
  if (retention === 'AUDIT_ONLY' && !integrityKeys) {
    throw InvalidInput.at('retention', 'AUDIT_ONLY needs the server setting INTEGRITY_KEY')
  }
}

/** Reads the tenant's defaults for new conversations. */
const readDefaults = async (db: Tx, tenant: string): Promise<{ retention: Retention; ttlSeconds: number | null }> =>
  (await db.tenantSettings.findFirst({ where: { tenant }, select: { retention: true, ttlSeconds: true } })) ?? {
    retention: 'FULL',
    ttlSeconds: null,
  }

/** Returns the columns of a new conversation: the given ones, and the tenant's defaults for the others. */
export async function retentionOfNew(
  deps: Platform,
  tenant: string,
  given: Given,
  createdAt: Date,
): Promise<{ retention?: Retention; expiresAt?: Date | null }> {
  const isExpiryGiven = given.ttlSeconds !== undefined || given.expiresAt !== undefined
  if (given.retention !== undefined && isExpiryGiven) return retentionColumns(deps, given, createdAt)
  const defaults = await readDefaults(deps.db.of(tenant), tenant)
  return retentionColumns(
    deps,
    {
      retention: given.retention === undefined ? defaults.retention : given.retention,
      ...(isExpiryGiven ? given : { ttlSeconds: defaults.ttlSeconds }),
    },
    createdAt,
  )
}
