// The settings of a tenant.

import { HITS, MAX_HITS, MAX_TOKENS, type CallDefaults } from '../../domain/kernel/call-defaults.ts'
import type { RedactMode } from '../../domain/kernel/redaction.ts'
import { MAX_TTL_SECONDS } from '../../domain/conversation/retention-policy.ts'
import { SETTINGS_LIFE_SECONDS } from '../../domain/conversation/tenant-cache.ts'
import {
  getTenantSettings,
  updateTenantSettings,
  type TenantSettings,
} from '../../domain/conversation/tenant-settings.ts'
import { InvalidInput, NotAllowed } from '../../errors.ts'
import { asField } from '../kernel/view/named.ts'
import { builder } from '../kernel/builder.ts'
import { ContextStrategyEnum } from '../memory/context.ts'
import { orErrors, payload } from '../kernel/errors.ts'
import { RetentionEnum } from '../trust/retention.ts'

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

const CallDefaultsType = builder
  .objectRef<CallDefaults>('CallDefaults')
  .implement({
    description:
      "Values of calls that omit them: the tenant's own on top of those of the server settings. A value of the call replaces "
      + 'both.',
    fields: (t) => ({
      tokenBudget: t.exposeInt('tokenBudget', {
        description: '`tokenBudget` of a context, and of the context of a run.',
      }),
      contextStrategy: t.field({
        type: ContextStrategyEnum,
        description: '`strategy` of a context, and of the context of a run.',
        sharing: 'SHAREABLE',
        resolve: ({ contextStrategy }) => contextStrategy,
      }),
      recallHits: t.exposeInt('recallHits', {
        nullable: true,
        description: `\`k\` of recall, and of the recall of a context. Null for ${HITS.recall}, and ${HITS.context} in a context.`,
      }),
      recallThreshold: t.exposeFloat('recallThreshold', {
        description: '`threshold` of recall, and of the recall of a context.',
      }),
      retention: t.field({
        type: RetentionEnum,
        description: 'Retention of the content of summarised turns in new conversations.',
        sharing: 'SHAREABLE',
        resolve: ({ retention }) => retention,
      }),
      ttlSeconds: t.exposeInt('ttlSeconds', {
        nullable: true,
        description: 'Seconds after its creation at which a new conversation is deleted. Null for never.',
      }),
    }),
  })

const TenantSettingsType = builder
  .objectRef<TenantSettings>('TenantSettings')
  .implement({
    description:
      'Settings of a tenant: defaults of its calls and its new conversations, its quota of tokens, and its redaction mode.',
    fields: (t) => ({
      retention: t.field({
        type: RetentionEnum,
        description:
          "Retention of the content of summarised turns in new conversations: the tenant's own, or that of the server setting "
          + 'RETENTION.',
        sharing: 'SHAREABLE',
        resolve: ({ retention }) => retention,
      }),
      ttlSeconds: t.exposeInt('ttlSeconds', {
        nullable: true,
        description:
          'Seconds after its creation at which a new conversation is deleted. Null for the server setting '
          + 'CONVERSATION_TTL_SECONDS.',
      }),
      tokenBudget: t.exposeInt('tokenBudget', {
        nullable: true,
        description: "The tenant's own default `tokenBudget`. Null for the server setting CONTEXT_TOKEN_BUDGET.",
      }),
      contextStrategy: t.field({
        type: ContextStrategyEnum,
        nullable: true,
        description: "The tenant's own default `strategy` of contexts. Null for the server setting CONTEXT_STRATEGY.",
        sharing: 'SHAREABLE',
        resolve: ({ contextStrategy }) => contextStrategy,
      }),
      recallHits: t.exposeInt('recallHits', {
        nullable: true,
        description: "The tenant's own default `k` of recall. Null for the server setting RECALL_HITS.",
      }),
      recallThreshold: t.exposeFloat('recallThreshold', {
        nullable: true,
        description: "The tenant's own default `threshold` of recall. Null for the server setting RECALL_THRESHOLD.",
      }),
      defaultsInEffect: t.field({
        type: CallDefaultsType,
        description: "The defaults that apply: the tenant's own, or else those of the server.",
        sharing: 'SHAREABLE',
        resolve: ({ defaultsInEffect }) => defaultsInEffect,
      }),
      tokensPerDay: t.exposeInt('tokensPerDay', {
        nullable: true,
        description: 'Number of tokens that all runs of agents may use in one day (UTC). Null for no quota.',
      }),
      redact: t.field({
        type: RedactModeEnum,
        nullable: true,
        description: "The tenant's own redaction mode. Null for the server setting REDACT.",
        sharing: 'SHAREABLE',
        resolve: ({ redact }) => redact,
      }),
      redactInEffect: t.field({
        type: RedactModeEnum,
        description: 'The mode that applies: the stronger of `redact` and the server setting REDACT.',
        sharing: 'SHAREABLE',
        resolve: ({ redactInEffect }) => redactInEffect,
      }),
    }),
  })

builder.queryField('tenantSettings', (t) =>
  t.field({
    verb: 'getTenantSettings',
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
      sharing: 'SHAREABLE',
      resolve: (settings) => settings,
    }),
  }),
})

const UpdateTenantSettingsInput = builder.inputType('UpdateTenantSettingsInput', {
  description: 'Input of updateTenantSettings. Omitted fields keep their values.',
  fields: (t) => ({
    retention: t.field({
      type: RetentionEnum,
      description: 'Retention of new conversations. Null restores the server setting RETENTION.',
    }),
    ttlSeconds: t.int({
      description: `Seconds after its creation at which a new conversation is deleted; 1 to ${MAX_TTL_SECONDS}. Null restores the server setting CONVERSATION_TTL_SECONDS.`,
    }),
    tokenBudget: t.int({
      description: `Default \`tokenBudget\` of contexts and runs; 1 to ${MAX_TOKENS.toLocaleString('en-US')}. Null restores the server setting CONTEXT_TOKEN_BUDGET.`,
    }),
    contextStrategy: t.field({
      type: ContextStrategyEnum,
      description: 'Default `strategy` of contexts and runs. Null restores the server setting CONTEXT_STRATEGY.',
    }),
    recallHits: t.int({
      description: `Default \`k\` of recall and of the recall of contexts; 1 to ${MAX_HITS}. Null restores the server setting RECALL_HITS.`,
    }),
    recallThreshold: t.float({
      description:
        'Default `threshold` of recall and of the recall of contexts; 0 to 1. Null restores the server setting RECALL_THRESHOLD.',
    }),
    tokensPerDay: t.int({
      description:
        'Quota: number of tokens that all runs of agents may use in one day (UTC). At 0, no run starts. Null for no quota.',
    }),
    redact: t.field({
      type: RedactModeEnum,
      description:
        'Redaction mode, not weaker than the server setting REDACT. Applies in every process at '
        + `once, or within ${SETTINGS_LIFE_SECONDS} s while Redis cannot be reached. A streaming turn keeps the mode with which it `
        + 'was opened. Null restores the server setting.',
    }),
    ...asField(t, 'Actor that updates the settings.'),
  }),
})

builder.mutationField('updateTenantSettings', (t) =>
  t.field({
    type: UpdateTenantSettingsPayload,
    description: "Updates settings of the viewer's tenant. Defaults apply to conversations that are created later.",
    errors: orErrors('UpdateTenantSettings', [InvalidInput, NotAllowed]),
    args: { input: t.arg({ type: UpdateTenantSettingsInput, required: true, description: 'The settings to change.' }) },
    resolve: (_, { input: { as: _as, ...input } }, { deps, viewer }) => updateTenantSettings(deps, viewer, input),
  }),
)
