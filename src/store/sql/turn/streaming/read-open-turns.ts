// Reads the open turns of a conversation with their content so far, by the index stream_conversation. A named statement
// of pg: every new subscription runs it (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'
import { sql } from '../../kernel/sql.ts'
import { TURN_COLUMNS, type TurnRow } from '../turn-columns.ts'
import { contentSoFar, type OpenContent, type OpenPart } from './open-content.ts'

const STATEMENT = sql`
  SELECT ${TURN_COLUMNS}, ${contentSoFar('t.id', { text: 'textSoFar', parts: 'partsSoFar' })}
  FROM stream s JOIN turn t ON t.id = s.turn_id AND t.conversation_id = $1::text
  WHERE s.conversation_id = $1::text ORDER BY t.seq`.text

/** The open turns and their content so far, in order of opening. `turn.text` is empty until the turn is closed. */
export async function readOpenTurns(
  pool: Pool,
  tenant: string,
  conversationId: string,
): Promise<({ turn: TurnRow } & OpenContent)[]> {
  const { rows } = await pool.query<TurnRow & { textSoFar: string; partsSoFar: OpenPart[] }>({
    scope: tenant,
    name: 'read-open-turns',
    text: STATEMENT,
    values: [conversationId],
  })
  return rows.map(({ textSoFar: text, partsSoFar: parts, ...turn }) => ({ turn, text, parts }))
}
