// The retention policy of a conversation: whether the content of its summarised turns is kept, and when the
// conversation expires. Tenants and the server have defaults for new conversations.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { Retention } from '../../store/generated/enums.ts'
import { time } from '../kernel/input.ts'
import type { Platform } from '../kernel/platform.ts'

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

/** Reads the defaults for new conversations of the tenant: its own, or else those of the server. */
async function readDefaults({ db, defaults: { server } }: Platform, tenant: string) {
  const select = { retention: true, ttlSeconds: true } as const
  const own = await db.of(tenant).tenantSettings.findFirst({ where: { tenant }, select })
  return { retention: own?.retention ?? server.retention, ttlSeconds: own?.ttlSeconds ?? server.ttlSeconds }
}

/** Returns the columns of a new conversation: the given ones, and the defaults of the tenant for the others. */
export async function retentionOfNew(
  deps: Platform,
  tenant: string,
  given: Given,
  createdAt: Date,
): Promise<{ retention?: Retention; expiresAt?: Date | null }> {
  const isExpiryGiven = given.ttlSeconds !== undefined || given.expiresAt !== undefined
  if (given.retention !== undefined && isExpiryGiven) return retentionColumns(deps, given, createdAt)
  const defaults = await readDefaults(deps, tenant)
  return retentionColumns(
    deps,
    {
      retention: given.retention === undefined ? defaults.retention : given.retention,
      ...(isExpiryGiven ? given : { ttlSeconds: defaults.ttlSeconds }),
    },
    createdAt,
  )
}
