// The variables with the defaults of calls that omit a value: of contexts, of recall, and the retention of new
// conversations. Tenants replace them with updateTenantSettings.

import { z } from 'zod'
import { number, oneOf, share, whole } from '../runtime/fields.ts'

const MAX_TTL_SECONDS = 2_147_483_647

export const defaultVariables = {
  CONTEXT_TOKEN_BUDGET: whole(1, 2_000_000, 16_000).describe(
    'Token budget of contexts and runs without `tokenBudget`. Tenants replace this and the next five settings with '
      + '`updateTenantSettings`.',
  ),
  CONTEXT_STRATEGY: oneOf('SIMPLE', 'SUMMARIZATION', 'HYBRID')
    .prefault('HYBRID')
    .describe('Strategy of contexts and runs without `strategy`: `SIMPLE`, `SUMMARIZATION` or `HYBRID`.'),
  RECALL_HITS: number(1, 100)
    .optional()
    .describe('Number of hits of recall, and of the recall of contexts, without `k`. Unset: 10, and 5 in contexts.'),
  RECALL_THRESHOLD: share
    .prefault('0')
    .describe('Minimum relevance of hits of recall, and of the recall of contexts, without `threshold`, 0 to 1.'),
  RETENTION: oneOf('FULL', 'AUDIT_ONLY', 'EPHEMERAL')
    .prefault('FULL')
    .describe(
      'Retention of conversations that are created without `retention`: `FULL`, `AUDIT_ONLY` (requires `INTEGRITY_KEY`) or '
        + '`EPHEMERAL`.',
    ),
  CONVERSATION_TTL_SECONDS: number(1, MAX_TTL_SECONDS)
    .optional()
    .describe(
      'Seconds after which conversations that are created without `ttlSeconds` and `expiresAt` are deleted. Unset: never.',
    ),
}

type Values = z.output<z.ZodObject<typeof defaultVariables>>

export const callDefaultsOf = (env: Values) => ({
  tokenBudget: env.CONTEXT_TOKEN_BUDGET,
  contextStrategy: env.CONTEXT_STRATEGY,
  recallHits: env.RECALL_HITS ?? null,
  recallThreshold: env.RECALL_THRESHOLD,
  retention: env.RETENTION,
  ttlSeconds: env.CONVERSATION_TTL_SECONDS ?? null,
})
