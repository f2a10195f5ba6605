// The options of a context that a caller sets, in buildContext and for the contexts of a run.

import { z } from 'zod'
import { between, count, share, text } from '../../kernel/input.ts'
import { MAX_HITS, STRATEGIES } from '../../kernel/call-defaults.ts'
import { MAX_QUERY } from '../recall/recall.ts'

/**
 * Maximum and default of `recentTurns`. A window that is trimmed in steps has up to twice as many turns. The maximum
 * limits the work for a large budget and short turns.
 */
export const MAX_RECENT_TURNS = 2_500

/** The fields of the input. Also refine the object with NEEDS_RECALL. */
export const contextOptions = {
  recentTurns: between(0, MAX_RECENT_TURNS).nullish(),
  semanticRecall: z
    .object({
      k: between(1, MAX_HITS).nullish(),
      threshold: share.nullish(),
      scope: z.enum(['CONVERSATION', 'OWNER', 'TENANT']).nullish(),
    })
    .nullish(),
  includeFacts: z.boolean().nullish(),
  includeProfile: z.boolean().nullish(),
  includeSharedState: z.boolean().nullish(),
  sinceSeq: count.nullish(),
  query: text(MAX_QUERY).min(1, 'must not be empty').nullish(),
  strategy: z.enum(STRATEGIES).nullish(),
  store: z.boolean().nullish(),
}

type Searching = { query?: unknown; semanticRecall?: unknown; includeFacts?: unknown }

/** Arguments of `refine`: a query is used only to recall turns and facts. */
export const NEEDS_RECALL = [
  ({ query, semanticRecall, includeFacts }: Searching): boolean =>
    query == null || semanticRecall != null || includeFacts === true,
  { path: ['query'], message: 'requires semanticRecall or includeFacts, which search for this query' },
] satisfies Parameters<z.ZodObject['refine']>
