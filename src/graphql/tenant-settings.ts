// The settings of a tenant.

import type { RedactMode } from '../domain/redaction.ts'
import { MAX_TTL_SECONDS } from '../domain/retention-policy.ts'
import { MODE_LIFE_SECONDS } from '../domain/tenant-redaction.ts'
import { getTenantSettings, updateTenantSettings, type TenantSettings } from '../domain/tenant-settings.ts'
import { InvalidInput, NotAllowed } from '../errors.ts'
import { asField } from './as.ts'
import { builder } from './builder.ts'
import { orErrors, payload } from './result.ts'
import { RetentionEnum } from './retention-enum.ts'

const RedactModeEnum = builder.enumType('RedactMode', {
  description:
    'Data from which e-mail addresses, card, account and phone numbers, IP addresses, credentials and the values of the '
    + "operator's patterns are removed before the data is stored. The weakest mode comes first.",
  values: {
    OFF: { value: 'off', description: 'Nothing is redacted.' },
    FACTS: { value: 'facts', description: 'Facts are redacted.' },
    TURNS: { value: 'turns', description: 'Facts, turns, metadata, titles and display names are redacted.' },
  } satisfies Record<Uppercase<RedactMode>, { value: RedactMode; description: string }>,
})

const TenantSettingsType = builder
  .objectRef<TenantSettings>('TenantSettings')
  .implement({
    description:
      'Settings of a tenant: defaults for its new conversations, its quota of tokens, and its redaction mode.',
    fields: (t) => ({
      retention: t.field({
        type: RetentionEnum,
        description: 'Retention of the content of summarised turns in new conversations.',
        resolve: ({ retention }) => retention,
      }),
      ttlSeconds: t.exposeInt('ttlSeconds', {
        nullable: true,
        description: 'Seconds after its creation at which a new conversation is deleted. Null for never.',
      }),
      tokensPerDay: t.exposeInt('tokensPerDay', {
        nullable: true,
        description: 'Number of tokens that all runs of agents may use in one day (UTC). Null for no quota.',
      }),
      redact: t.field({
        type: RedactModeEnum,
        nullable: true,
        description: "The tenant's own redaction mode. Null for the server setting REDACT.",
        resolve: ({ redact }) => redact,
      }),
      redactInEffect: t.field({
        type: RedactModeEnum,
        description: 'The mode that applies: the stronger of `redact` and the server setting REDACT.',
        resolve: ({ redactInEffect }) => redactInEffect,
      }),
    }),
  })

builder.queryField('tenantSettings', (t) =>
  t.field({
    type: TenantSettingsType,
    description: "Returns the settings of the viewer's tenant.",
    resolve: (_, __, { reading, viewer, work }) => work.read(() => getTenantSettings(reading, viewer)),
  }),
)

const UpdateTenantSettingsPayload = payload<TenantSettings>('UpdateTenantSettings').implement({
  description: 'Result of updateTenantSettings.',
  fields: (t) => ({
    tenantSettings: t.field({
      type: TenantSettingsType,
      description: 'All settings after the update.',
      resolve: (settings) => settings,
    }),
  }),
})

const UpdateTenantSettingsInput = builder.inputType('UpdateTenantSettingsInput', {
  description: 'Input of updateTenantSettings. Omitted fields keep their values.',
  fields: (t) => ({
    retention: t.field({ type: RetentionEnum, description: 'Retention of new conversations. Null restores FULL.' }),
    ttlSeconds: t.int({
      description: `Seconds after its creation at which a new conversation is deleted; 1 to ${MAX_TTL_SECONDS}. Null for never.`,
    }),
    tokensPerDay: t.int({
      description:
        'Quota: number of tokens that all runs of agents may use in one day (UTC). At 0, no run starts. Null for no quota.',
    }),
    redact: t.field({
      type: RedactModeEnum,
      description:
        'Redaction mode, not weaker than the server setting REDACT. Applies in every process at '
        + `once, or within ${MODE_LIFE_SECONDS} s while Redis cannot be reached. A streaming turn keeps the mode with which it `
        + 'was opened. Null restores the server setting.',
    }),
    ...asField(t, 'Actor that updates the settings.'),
  }),
})

builder.mutationField('updateTenantSettings', (t) =>
  t.field({
    type: UpdateTenantSettingsPayload,
    description:
      "Updates settings of the viewer's tenant. Defaults apply to conversations that are created later. Needs the right "
      + '`operate`.',
    errors: orErrors('UpdateTenantSettings', [InvalidInput, NotAllowed]),
    args: { input: t.arg({ type: UpdateTenantSettingsInput, required: true, description: 'The settings to change.' }) },
    resolve: (_, { input: { as: _as, ...input } }, { deps, viewer }) => updateTenantSettings(deps, viewer, input),
  }),
)
