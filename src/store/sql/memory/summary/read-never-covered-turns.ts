// Reads the turns that are never summarised: turns with an audience, open turns and aborted turns. A named statement of
// pg, with positional rows: each page of a summarised history runs it (`npm run bench -- context`).

import type { Pool } from '../../../db/tenant-pool.ts'
import { raw, sql } from '../../kernel/sql.ts'
import { TURN_COLUMNS, turnOf, type TurnRow } from '../../turn/turn-columns.ts'
import { newest, VIEWER, views, visible } from '../../kernel/visible.ts'

const STATEMENT = sql`
  SELECT ${TURN_COLUMNS}
  FROM (${views(VIEWER, raw('c.id = $3::text'))}) v
  JOIN turn t ON t.conversation_id = v.id
  WHERE t.root_seq <= $4::integer AND t.root_seq < $5::integer
    AND (t.audience IS NOT NULL OR t.status <> 'COMMITTED') AND ${visible()} AND ${newest()}
  ORDER BY t.root_seq DESC LIMIT $6::integer`.text

/**
 * Turns that are never summarised and that the viewer sees, with position up to `through` and below `before`. Newest
 * first, at most `limit`. Uses the partial index turn_uncovered.
 */
export async function readNeverCoveredTurns(
  pool: Pool,
  viewer: { tenant: string; actor: string },
  conversationId: string,
  { through, before, limit }: { through: number; before: number; limit: number },
): Promise<TurnRow[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: viewer.tenant,
    rowMode: 'array',
    name: 'read-never-covered-turns',
    text: STATEMENT,
    values: [viewer.tenant, viewer.actor, conversationId, through, before, limit],
  })
  return rows.map(turnOf)
}
