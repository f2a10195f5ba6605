// The settings of a tenant: the defaults of new conversations, the token quota, and the redaction mode.

import { z } from 'zod'
import { InvalidInput } from '../errors.ts'
import type { Tx } from '../store/db.ts'
import type { Retention } from '../store/generated/enums.ts'
import { withTransaction } from '../store/tx.ts'
import { auditRecord } from './audit/line.ts'
import { authorize } from './authorize.ts'
import { parse, tokensPerDay as tokensPerDayInput } from './input.ts'
import type { Platform } from './platform.ts'
import { REDACT_MODES, strongerMode, type RedactMode } from './redaction.ts'
import { requireKey, retentionInput } from './retention-policy.ts'
import type { Viewer } from './view.ts'

export type TenantSettings = {
  retention: Retention
  ttlSeconds: number | null
  /** Tokens that all runs of the tenant may use in one day (UTC); null for no quota. */
  tokensPerDay: number | null
  /** The tenant's own mode; null for the server's. */
  redact: RedactMode | null
  /** The stronger of the tenant's and the server's mode. */
  redactInEffect: RedactMode
}

async function readSettings(
  db: Tx,
  tenant: string,
  { redaction }: Pick<Platform, 'redaction'>,
): Promise<TenantSettings> {
  const row = await db.tenantSettings.findFirst({ where: { tenant } })
  const redact = (row?.redact ?? null) as RedactMode | null
  return {
    retention: row?.retention ?? 'FULL',
    ttlSeconds: row?.ttlSeconds ?? null,
    tokensPerDay: row?.tokensPerDay ?? null,
    redact,
    redactInEffect: strongerMode(redaction.least, redact),
  }
}

/** Returns the settings of the viewer's tenant. @throws NotAllowed */
export async function getTenantSettings(
  deps: Pick<Platform, 'db' | 'redaction'>,
  viewer: Viewer,
): Promise<TenantSettings> {
  authorize(viewer, 'getTenantSettings')
  return readSettings(deps.db.of(viewer.tenant), viewer.tenant, deps)
}

const updateTenantSettingsInput = z.object({
  retention: retentionInput.retention,
  ttlSeconds: retentionInput.ttlSeconds,
  redact: z.enum(REDACT_MODES).nullish(),
  tokensPerDay: tokensPerDayInput.nullish(),
})
export type UpdateTenantSettingsInput = z.input<typeof updateTenantSettingsInput>

/**
 * Updates the given settings. `retention` and `ttlSeconds` apply to conversations that are created later; null restores
 * FULL, or no expiry. `tokensPerDay` applies to later calls of providers; null removes the quota. `redact` applies to
 * all later writes, except those of open streaming turns; null restores the server's mode.
 * @throws InvalidInput for AUDIT_ONLY without INTEGRITY_KEY, and for a `redact` weaker than the server's
 * @throws NotAllowed
 */
export async function updateTenantSettings(
  deps: Platform,
  viewer: Viewer,
  input: UpdateTenantSettingsInput,
): Promise<TenantSettings> {
  authorize(viewer, 'updateTenantSettings')
  const { retention, ttlSeconds, redact, tokensPerDay } = parse(updateTenantSettingsInput, input)
  requireKey(deps, retention)
  const { least } = deps.redaction
  if (redact != null && strongerMode(redact, least) !== redact) {
    throw InvalidInput.at('redact', `must not be weaker than the server's setting REDACT=${least}`)
  }
  const { tenant } = viewer
  const given = {
    ...(retention !== undefined && { retention: retention ?? 'FULL' }),
    ...(ttlSeconds !== undefined && { ttlSeconds }),
    ...(redact !== undefined && { redact }),
    ...(tokensPerDay !== undefined && { tokensPerDay }),
  }
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    await tx.tenantSettings.upsert({ where: { tenant }, create: { tenant, ...given }, update: given })
    const settings = await readSettings(tx, tenant, deps)
    const details = {
      retention: settings.retention,
      ttlSeconds: settings.ttlSeconds ?? 'none',
      redact: settings.redact ?? 'none',
      tokensPerDay: settings.tokensPerDay ?? 'none',
    }
    await deps.audit.append(tx, [auditRecord(viewer, 'updateTenantSettings', [], { details })])
    afterCommit(() => deps.redaction.changed(tenant))
    return settings
  })
}
