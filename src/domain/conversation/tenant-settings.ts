// The settings of a tenant: the defaults of its calls, the token quota, and the redaction mode.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import { withTransaction } from '../../store/db/tx.ts'
import { auditRecord } from '../kernel/audit/line.ts'
import { authorize } from '../kernel/rights/authorize.ts'
import { defaultsInEffect, MAX_HITS, MAX_TOKENS, STRATEGIES, type CallDefaults } from '../kernel/call-defaults.ts'
import { between, parse, share, tokensPerDay as tokensPerDayInput } from '../kernel/input.ts'
import type { Platform } from '../kernel/platform.ts'
import { REDACT_MODES, strongerMode, type RedactMode } from '../kernel/redaction.ts'
import { requireKey, retentionInput } from './retention-policy.ts'
import { readStoredSettings, type StoredSettings } from './tenant-cache.ts'
import type { Viewer } from '../kernel/view.ts'

/** What the tenant sets itself; null for the setting of the server, or for no quota. */
export type TenantSettings = Omit<StoredSettings, 'retention'> & {
  /** Retention of new conversations: the tenant's own, or that of the server. */
  retention: CallDefaults['retention']
  /** The stronger of the tenant's and the server's mode. */
  redactInEffect: RedactMode
  /** The tenant's defaults on top of those of the server. */
  defaultsInEffect: CallDefaults
}

type SettingsDeps = Pick<Platform, 'redaction' | 'defaults'>

function toSettings({ redaction, defaults }: SettingsDeps, own: StoredSettings): TenantSettings {
  const inEffect = defaultsInEffect(defaults.server, own)
  return {
    ...own,
    retention: inEffect.retention,
    redactInEffect: strongerMode(redaction.least, own.redact),
    defaultsInEffect: inEffect,
  }
}

/** Returns the settings of the viewer's tenant. @throws NotAllowed */
export async function getTenantSettings(
  deps: SettingsDeps & Pick<Platform, 'db'>,
  viewer: Viewer,
): Promise<TenantSettings> {
  authorize(viewer, 'getTenantSettings')
  return toSettings(deps, await readStoredSettings(deps.db.of(viewer.tenant), viewer.tenant))
}

const updateTenantSettingsInput = z.object({
  retention: retentionInput.retention,
  ttlSeconds: retentionInput.ttlSeconds,
  redact: z.enum(REDACT_MODES).nullish(),
  tokensPerDay: tokensPerDayInput.nullish(),
  tokenBudget: between(1, MAX_TOKENS).nullish(),
  contextStrategy: z.enum(STRATEGIES).nullish(),
  recallHits: between(1, MAX_HITS).nullish(),
  recallThreshold: share.nullish(),
})
export type UpdateTenantSettingsInput = z.input<typeof updateTenantSettingsInput>

/**
 * Updates the given settings. `retention` and `ttlSeconds` apply to conversations that are created later; the defaults of
 * contexts and recall apply to later calls. Null restores the server's default. `tokensPerDay` applies to later calls of providers; null removes the quota. `redact` applies to
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
  const parsed = parse(updateTenantSettingsInput, input)
  const { redact } = parsed
  requireKey(deps, parsed.retention)
  const { least } = deps.redaction
  if (redact != null && strongerMode(redact, least) !== redact) {
    throw InvalidInput.at('redact', `must not be weaker than the server's setting REDACT=${least}`)
  }
  const { tenant } = viewer
  const given = Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined))
  return withTransaction(deps.db, tenant, async (tx, afterCommit) => {
    await tx.tenantSettings.upsert({ where: { tenant }, create: { tenant, ...given }, update: given })
    const own = await readStoredSettings(tx, tenant)
    const details = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, value ?? 'none']))
    await deps.audit.append(tx, [auditRecord(viewer, 'updateTenantSettings', [], { details })])
    afterCommit(() => deps.redaction.changed(tenant))
    return toSettings(deps, own)
  })
}
