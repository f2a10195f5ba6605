// Extractors for the tests of background jobs, and SQL queries that count the runs of each job.

import type { Deps } from '../../src/domain/deps.ts'
import type { FactExtractor } from '../../src/providers/ports/fact-extractor.ts'
import { sql } from './sql.ts'

/** Replaces `extract` of the fact extractor. `extract` gets the one that it replaces. */
export function withExtractor<D extends Pick<Deps, 'factServices'>>(
  deps: D,
  extract: (...given: [...Parameters<FactExtractor['extract']>, FactExtractor]) => ReturnType<FactExtractor['extract']>,
): D {
  const { extractor } = deps.factServices
  const replaced: FactExtractor = { ...extractor, extract: (turns, options) => extract(turns, options, extractor) }
  return { ...deps, factServices: { ...deps.factServices, extractor: replaced } }
}

/** Resolves with the rejection of a call that ends only when the signal is aborted. */
export const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))

/** Number of runs of each job in a tenant. */
export type Runs = {
  /**
   * By conversation id: the number of turns in each level-0 summary, by ascending seq, and the number of extractions.
   */
  conversations: Record<string, { summaries: number[]; extractions: number }>
  /** By user id: the number of counted turns, and the number of refreshes of the profile. */
  users: Record<string, { turns: number; profilings: number }>
}

export async function readRuns({ pool }: Pick<Deps, 'pool'>, tenant: string): Promise<Runs> {
  const { rows: conversations } = await sql(pool).query(
    `SELECT c.id, coalesce(p.extractions, 0) AS extractions,
            ARRAY(SELECT s.turns FROM summary s WHERE s.conversation_id = c.id AND s.level = 0
                  ORDER BY s.seq) AS summaries
     FROM conversation c LEFT JOIN conversation_progress p ON p.conversation_id = c.id WHERE c.tenant = $1`,
    [tenant],
  )
  const { rows: users } = await sql(pool).query(
    'SELECT user_id AS id, turns, profilings FROM user_progress WHERE tenant = $1',
    [tenant],
  )
  const byId = (rows: { id: string }[]) => Object.fromEntries(rows.map(({ id, ...rest }) => [id, rest as never]))
  return { conversations: byId(conversations), users: byId(users) }
}

/**
 * Returns the expected number of turns in each summary of a ROLLING conversation of `turns` turns that is compacted
 * after every `every` turns.
 */
export const summariesOf = (turns: number, every: number): number[] =>
  Array.from({ length: Math.floor(turns / every) }, (_, i) => (i + 1) * every)
