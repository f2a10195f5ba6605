// The compaction policy of a conversation: triggers, strategy and summarizer, with their defaults.

import { z } from 'zod'
import { InvalidInput } from '../../errors.ts'
import type { Summarizer } from '../../providers/ports/summarizer.ts'
import { CompactionStrategy } from '../../store/generated/enums.ts'
import type { Platform } from '../kernel/platform.ts'
import { name } from '../kernel/input.ts'

/** The policy in effect: every default is resolved. */
export type CompactionPolicy = {
  /** Number of unsummarised turns that triggers compaction. */
  triggerTurns: number
  /** Token count of unsummarised turns that triggers compaction. */
  triggerTokens: number
  /** Model name of a configured summarizer. */
  summarizerModel: string
  strategy: CompactionStrategy
}

const positive = z.int().min(1, 'must be at least 1').max(2_147_483_647, 'must be below 2³¹')

export const policyInput = z.object({
  triggerTurns: positive.nullish(),
  triggerTokens: positive.nullish(),
  summarizerModel: name.nullish(),
  strategy: z.enum(CompactionStrategy).nullish(),
})

/** The policy as stored; a null model means the server's default. */
export type StoredPolicy = Omit<CompactionPolicy, 'summarizerModel'> & { summarizerModel: string | null }

export const DEFAULTS: StoredPolicy = {
  triggerTurns: 50,
  triggerTokens: 8000,
  summarizerModel: null,
  strategy: 'ROLLING',
}

type Models = Pick<Platform, 'summarizers'>

/**
 * Returns the columns to write. Null restores the default of one field or of the whole policy; omitted fields are not
 * changed.
 * @throws InvalidInput for a model without a configured summarizer
 */
export function policyColumns(
  { summarizers }: Models,
  input: z.output<typeof policyInput> | null | undefined,
  path = 'compaction',
) {
  if (input === undefined) return {}
  const given = input ?? { triggerTurns: null, triggerTokens: null, summarizerModel: null, strategy: null }
  const { summarizerModel } = given
  if (summarizerModel != null && !summarizers.byModel.has(summarizerModel)) {
    const models = [...summarizers.byModel.keys()].join(', ')
    throw InvalidInput.at(
      `${path}.summarizerModel`,
      `is ${JSON.stringify(summarizerModel)}; the configured models are ${models}`,
    )
  }
  const or = <T>(value: T | null | undefined, fallback: T) => (value === null ? fallback : value)
  return {
    triggerTurns: or(given.triggerTurns, DEFAULTS.triggerTurns),
    triggerTokens: or(given.triggerTokens, DEFAULTS.triggerTokens),
    summarizerModel,
    compactionStrategy: or(given.strategy, DEFAULTS.strategy),
  }
}

/** Returns the summarizer of the model; the server's default if `model` is null or no longer configured. */
export const summarizerFor = ({ summarizers }: Models, model: string | null): Summarizer =>
  (model !== null && summarizers.byModel.get(model)) || summarizers.default

/** Returns the policy in effect for a stored policy. */
export const policyOf = (models: Models, stored: StoredPolicy): CompactionPolicy => ({
  triggerTurns: stored.triggerTurns,
  triggerTokens: stored.triggerTokens,
  strategy: stored.strategy,
  summarizerModel: stored.summarizerModel ?? models.summarizers.default.model,
})
