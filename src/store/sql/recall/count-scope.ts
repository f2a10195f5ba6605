// How many turns conversations hold, by the counters of their journals (primary key). Not narrowed to a view: the count
// chooses how to search, never what is found.

import type { Db } from '../../db.ts'
import { named } from '../sql.ts'

/** Public committed turns of those conversations together. */
export async function countScope(db: Db, conversationIds: readonly string[]): Promise<number> {
  const rows = await db.$queryRaw<[{ turns: number }]>`${named('count-scope')}
    SELECT coalesce(sum(j.turn_count), 0)::double precision AS turns
    FROM journal j WHERE j.conversation_id = ANY (${conversationIds}::text[])`
  return rows[0].turns
}
