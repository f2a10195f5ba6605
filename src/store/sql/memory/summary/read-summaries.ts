// Reads summaries with the viewer's windows on their conversations: the current ones (index summary_current), or by id.
// domain/memory/summary/summary.ts limits them to a view, because visibility depends on consecutive summaries.

import type { Db } from '../../../db/db.ts'
import { readOf, type Read } from '../../../db/read.ts'
import { named, parameter, raw, sql, type Sql } from '../../kernel/sql.ts'
import { among, howMany, VIEWER, views, type HowMany } from '../../kernel/visible.ts'
import type { Viewer } from '../../../db/scope.ts'

export type SummaryRow = {
  id: string
  conversationId: string
  /** 0 for a summary of turns, 1 for a summary of level-0 summaries, and so on. */
  level: number
  /** Positions of the first and the last turn that the summary covers. */
  fromPosition: number
  toPosition: number
  /** Greatest seq of the turn versions that the summary covers. */
  newestSeq: number
  /** Number of turns that the summary covers. */
  turns: number
  content: string
  tokenCount: number
  model: string | null
  createdAt: Date
}

/** SELECT list of the summary aliased `s`. */
export const SUMMARY_COLUMNS: Sql = raw(`
  s.id, s.conversation_id AS "conversationId", s.level, s.from_seq AS "fromPosition", s.to_seq AS "toPosition",
  s.newest_seq AS "newestSeq", s.turns, s.content, s.token_count AS "tokenCount", s.model, s.created_at AS "createdAt"`)

export type SummaryWithWindows = SummaryRow & { windows: number[] }

// Uses pg's named statements, because every context runs this read in a batch with others (`npm run bench -- context`).
const current = (name: string, conversations: HowMany) => ({
  name,
  text: sql`
    SELECT ${SUMMARY_COLUMNS}, v.windows
    FROM (${views(VIEWER, among(parameter(3), conversations))}) v
    JOIN summary s ON s.conversation_id = v.id AND s.superseded_by IS NULL AND NOT s.stale
    ORDER BY s.conversation_id, s.from_seq`.text,
})
const CURRENT = { one: current('read-current-summary', 'one'), many: current('read-current-summaries', 'many') }

/** The current summaries of the given conversations that the viewer sees, by conversation, oldest first. */
export const currentSummariesRead = (viewer: Viewer, conversationIds: readonly string[]): Read<SummaryWithWindows[]> =>
  readOf(
    { ...CURRENT[howMany(conversationIds)], values: [viewer.tenant, viewer.actor, conversationIds] },
    (rows: SummaryWithWindows[]) => rows,
  )

/**
 * The summaries among the ids whose conversations the viewer sees, unordered. Superseded summaries are included, stale
 * ones are not. Uses the primary key.
 */
export async function readSummaries(db: Db, viewer: Viewer, ids: readonly string[]): Promise<SummaryWithWindows[]> {
  const rows = await db.of(viewer.tenant).$queryRaw<SummaryWithWindows[]>`
      ${named('read-summaries')}
      SELECT ${SUMMARY_COLUMNS}, v.windows
      FROM summary s
      CROSS JOIN LATERAL (${views(viewer, raw('c.id = s.conversation_id'))}) v
      WHERE s.id = ANY (${ids}::text[]) AND NOT s.stale`
  return rows
}
