// The limits of one GraphQL operation (src/graphql/kernel/limits/), and the rate limit of a viewer.

import { z } from 'zod'
import { choice, isLoopback, whole } from '../runtime/fields.ts'

const MiB = 1024 * 1024

export const operationVariables = {
  MAX_QUERY_TOKENS: whole(100, 1_000_000, 2000).describe('Maximum number of tokens of one GraphQL document.'),
  MAX_QUERY_DEPTH: whole(1, 100, 20).describe('Maximum number of nested levels of fields in one document.'),
  MAX_QUERY_FIELDS: whole(10, 100_000, 1000).describe(
    'Maximum number of fields that one document selects; a field of a fragment counts each time the fragment is used.',
  ),
  MAX_QUERY_ALIASES: whole(0, 10_000, 50).describe('Maximum number of aliases in one document.'),
  MAX_QUERY_DIRECTIVES: whole(0, 10_000, 50).describe('Maximum number of directives in one document.'),
  MAX_QUERY_REPEATS: whole(0, 10_000, 100).describe(
    'Maximum number of repeated fields and fragments in the selection sets of one document.',
  ),
  MAX_QUERY_VALUES: whole(100, 100_000_000, 100_000).describe(
    'Maximum number of values (objects, list items and leaves) of one answer, estimated from the page sizes before the operation runs, and counted while it runs.',
  ),
  MAX_ANSWER_BYTES: whole(1024, 1024 * MiB, 16 * MiB).describe(
    'Maximum size of the texts that one operation reads or returns, in bytes.',
  ),
  MAX_QUERY_SECONDS: whole(1, 3600, 30).describe('Seconds after which a query is stopped. Mutations are not stopped.'),
  INTROSPECTION: choice
    .optional()
    .describe(
      'Whether clients may query the schema, and whether error texts suggest names of the schema. Unset: only if `HOST` is a loopback address.',
    ),
  RATE_LIMIT_POINTS: whole(0, 1_000_000_000, 0).describe(
    'Number of points that each viewer may use per minute. Each query, mutation or subscription of an operation costs 1 point, and each 1,000 values that the operation can return cost 1 more; 0: no limit.',
  ),
}

const environment = z.object({ ...operationVariables, HOST: z.string() })

/** The limits of a parsed environment. */
export const operationLimitsOf = (env: z.output<typeof environment>) => ({
  tokens: env.MAX_QUERY_TOKENS,
  depth: env.MAX_QUERY_DEPTH,
  fields: env.MAX_QUERY_FIELDS,
  aliases: env.MAX_QUERY_ALIASES,
  directives: env.MAX_QUERY_DIRECTIVES,
  repeats: env.MAX_QUERY_REPEATS,
  values: env.MAX_QUERY_VALUES,
  answerBytes: env.MAX_ANSWER_BYTES,
  timeMs: env.MAX_QUERY_SECONDS * 1000,
  introspection: env.INTROSPECTION ?? isLoopback(env.HOST),
})
