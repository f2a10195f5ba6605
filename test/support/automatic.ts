// Fake background jobs for conversations and users, which only advance the watermarks of the real jobs, and SQL queries
// that count the runs of each job.

import type { Deps } from '../../src/domain/deps.ts'
import type { DueWork } from '../../src/domain/background/due-work.ts'
import { sql } from './sql.ts'

/** The journal entries that count as turns. */
const TURNS = `kind IN ('APPENDED', 'COMMITTED')`

/**
 * Each run advances the watermark only if no other run has advanced it since the run read it, so that concurrent runs
 * are counted once.
 */
export const fakeDueWork: DueWork = {
  async extractNext({ pool }, _, conversationId, n) {
    await sql(pool).query(
      `INSERT INTO conversation_progress (conversation_id, tenant)
       SELECT c.id, c.tenant FROM conversation c WHERE c.id = $1 ON CONFLICT DO NOTHING`,
      [conversationId],
    )
    const {
      rows: [{ after }],
    } = await sql(pool).query(
      'SELECT extracted_through AS after FROM conversation_progress WHERE conversation_id = $1',
      [conversationId],
    )
    const {
      rows: [last],
    } = await sql(pool).query(
      `SELECT seq FROM entry WHERE conversation_id = $1 AND seq > $2 AND ${TURNS} ORDER BY seq OFFSET $3 LIMIT 1`,
      [conversationId, after, n - 1],
    )
    if (!last) return false
    const { rowCount } = await sql(pool).query(
      `UPDATE conversation_progress SET extracted_through = $3, extractions = extractions + 1
       WHERE conversation_id = $1 AND extracted_through = $2`,
      [conversationId, after, last.seq],
    )
    return rowCount === 1
  },
  async refreshProfileDue({ pool }, tenant, user, n) {
    const {
      rows: [row],
    } = await sql(pool).query(
      `SELECT turns, profiled_turns AS done FROM user_progress WHERE tenant = $1 AND user_id = $2`,
      [tenant, user],
    )
    if (!row || Math.floor(row.turns / n) === Math.floor(row.done / n)) return false
    const { rowCount } = await sql(pool).query(
      `UPDATE user_progress SET profiled_turns = profiled_turns + $3, profilings = profilings + 1
     WHERE tenant = $1 AND user_id = $2 AND profiled_turns = $4`,
      [tenant, user, n, row.done],
    )
    return rowCount === 1
  },
  reconcileNext: async () => false,
}

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
