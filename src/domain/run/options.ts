// The options of a run: the input of the caller, and the options that are stored with the run until it ends.

import { z } from 'zod'
import { MAX_INSTRUCTIONS } from '../agent-settings.ts'
import { between, count, json, share, text } from '../input.ts'
import { MAX_HITS, MAX_RECENT_TURNS, MAX_TOKENS } from '../context/build.ts'
import { MAX_QUERY } from '../recall/recall.ts'
import { toolDefinitions } from '../tool-definition.ts'

/** Maximum and default number of calls of the provider in one run. */
export const ROUNDS = { default: 8, max: 64 }
/** Default token budget of a run's context. */
export const DEFAULT_TOKEN_BUDGET = 16_000

const TOOL_CHOICES = ['AUTO', 'NONE', 'REQUIRED'] as const

const contextOptions = z.object({
  tokenBudget: between(1, MAX_TOKENS).nullish(),
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
  sinceSeq: count.nullish(),
  query: text(MAX_QUERY).min(1, 'must not be empty').nullish(),
  strategy: z.enum(['SIMPLE', 'SUMMARIZATION', 'HYBRID']).nullish(),
})

/** The options that a caller may set, and that are stored with the run. */
export const optionFields = {
  instructions: text(MAX_INSTRUCTIONS).nullish(),
  tools: toolDefinitions.nullish(),
  toolChoice: z.enum(TOOL_CHOICES).nullish(),
  maxTokens: between(1, MAX_TOKENS).nullish(),
  maxRounds: between(1, ROUNDS.max).nullish(),
  context: contextOptions.nullish(),
  agentContext: json.nullish(),
}
const runOptions = z.object(optionFields)
export type RunOptions = z.output<typeof runOptions>

/** Returns the stored options of a run; an empty object if an erasure has deleted them. */
export const optionsOf = ({ options }: { options: unknown }): RunOptions => runOptions.parse(options)

/** Returns the options to store with a run, without any other fields. */
export const storedOptions = (given: RunOptions): RunOptions =>
  Object.fromEntries(Object.keys(optionFields).map((key) => [key, given[key as keyof RunOptions] ?? undefined]))
