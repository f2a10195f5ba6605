// The options of a run: the input of the caller, and the options that are stored with the run until it ends.

import { z } from 'zod'
import { MAX_INSTRUCTIONS, STEERING } from '../definition/agent-settings.ts'
import { MAX_TOKENS } from '../../kernel/call-defaults.ts'
import { contextOptions, NEEDS_RECALL } from '../../memory/context/options.ts'
import { between, json, text } from '../../kernel/input.ts'
import { toolDefinitions } from '../definition/tool-definition.ts'

/** Maximum and default number of calls of the provider in one run. */
export const ROUNDS = { default: 8, max: 64 }

const TOOL_CHOICES = ['AUTO', 'NONE', 'REQUIRED'] as const

const contextInput = z
  .object({ ...contextOptions, tokenBudget: between(1, MAX_TOKENS).nullish() })
  .refine(...NEEDS_RECALL)

/** The options that a caller may set, and that are stored with the run. */
export const optionFields = {
  instructions: text(MAX_INSTRUCTIONS).nullish(),
  tools: toolDefinitions.nullish(),
  toolChoice: z.enum(TOOL_CHOICES).nullish(),
  maxTokens: between(1, MAX_TOKENS).nullish(),
  maxRounds: between(1, ROUNDS.max).nullish(),
  reasoning: z.boolean().nullish(),
  steering: z.enum(STEERING).nullish(),
  context: contextInput.nullish(),
  agentContext: json.nullish(),
}
const runOptions = z.object(optionFields)
export type RunOptions = z.output<typeof runOptions>

/** Returns the stored options of a run; an empty object if an erasure has deleted them. */
export const optionsOf = ({ options }: { options: unknown }): RunOptions => runOptions.parse(options)

/** Returns the options to store with a run, without any other fields. */
export const storedOptions = (given: RunOptions): RunOptions =>
  Object.fromEntries(Object.keys(optionFields).map((key) => [key, given[key as keyof RunOptions] ?? undefined]))
