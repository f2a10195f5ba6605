// Reads the candidate facts for a context: facts of the conversation, and facts about its users from any conversation.

import type { Db } from '../../db.ts'
import { FACT_COLUMNS, type FactRow } from '../fact/fact-columns.ts'
import { factVisible, hasSourceIn } from '../visible.ts'
import { named, sql } from '../sql.ts'

/**
 * Active facts that the viewer sees, most recently observed first, at most `limit`. Reads all facts of the conversation
 * and of the users. Uses the indexes fact_source_conversation and fact_user.
 */
export async function readContextFacts(
  db: Db,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  userIds: readonly string[],
  limit: number,
): Promise<FactRow[]> {
  const rows = await db.of(viewer.tenant).$queryRaw<FactRow[]>`
      ${named('read-context-facts')}
      SELECT ${FACT_COLUMNS} FROM fact f
      WHERE (${hasSourceIn(sql`${conversationId}::text`)} OR f.tenant = ${viewer.tenant}::text AND f.user_id = ANY (${userIds}::text[]))
        AND f.superseded_at IS NULL AND ${factVisible(viewer)}
      ORDER BY f.observed_at DESC, f.id DESC LIMIT ${limit}::integer`
  return rows
}
