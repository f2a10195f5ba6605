// Counts the turns of conversations by the counters of their journals (primary key). Not limited to a view, because the
// count determines only the search method, never the turns that are found.

import type { Db } from '../../../db/db.ts'
import { named } from '../../kernel/sql.ts'

/** Total number of committed turns without audience in the conversations. */
export async function countScope(db: Db, tenant: string, conversationIds: readonly string[]): Promise<number> {
  const rows = await db.of(tenant).$queryRaw<[{ turns: number }]>`${named('count-scope')}
    SELECT coalesce(sum(j.turn_count), 0)::double precision AS turns
    FROM journal j WHERE j.conversation_id = ANY (${conversationIds}::text[])`
  return rows[0].turns
}
