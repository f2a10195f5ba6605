// The settings with which the panel builds a context, and the input of buildContext that follows from them.

import type { BuildContextInput, ContextStrategy, RecallScope } from '../../client/index.ts'
import { formatNumber } from '../kit/text.ts'

/**
 * `strategy`: null for the default of the tenant. `recall`: the scope of semantic recall; null for none. `query`: empty
 * for the newest turn of a user.
 */
export type Settings = {
  actor: string
  budget: number
  strategy: ContextStrategy | null
  facts: boolean
  profiles: boolean
  recall: RecallScope | null
  query: string
}

export const STRATEGIES: Record<ContextStrategy, string> = {
  HYBRID: 'Hybrid: summaries, pinned and recent turns',
  SUMMARIZATION: 'Summarization: summaries and recent turns',
  SIMPLE: 'Simple: pinned and recent turns',
}

export const SCOPES: Record<RecallScope, string> = {
  CONVERSATION: 'this conversation',
  OWNER: 'all conversations of its owner',
  TENANT: 'everything visible',
}

/** Whether a query has an effect. The server refuses one that has none. */
export const takesQuery = ({ facts, recall }: Settings): boolean => facts || recall !== null

export function inputOf(settings: Settings): BuildContextInput {
  const query = settings.query.trim()
  return {
    tokenBudget: settings.budget,
    strategy: settings.strategy,
    includeFacts: settings.facts,
    includeProfile: settings.profiles,
    semanticRecall: settings.recall && { scope: settings.recall },
    query: query === '' || !takesQuery(settings) ? null : query,
  }
}

/** Returns the settings in a line, without the participant. */
export function describe(settings: Settings): string {
  const { budget, strategy, facts, profiles, recall, query } = settings
  return [
    `${formatNumber(budget)} tokens`,
    strategy === null ? 'default strategy' : strategy.toLowerCase(),
    facts && 'facts',
    profiles && 'profiles',
    recall && `recall in ${SCOPES[recall]}`,
    takesQuery(settings) && query.trim() !== '' && `query “${query.trim()}”`,
  ]
    .filter(Boolean)
    .join(' · ')
}
