// Two ways to append a turn with `pg` alone, which the benchmarks compare with the server: one call of the SQL function
// append_turns per turn, and a minimal statement that assigns the seq and inserts the turn.

import type { Pool } from '../../src/store/tenant-pool.ts'
import { newId } from '../../src/domain/id.ts'
import { appendTurns } from '../../src/store/sql/turn/append-turns.ts'

/** The text of the turns that the benchmarks append. */
export const TEXT =
  'The launch moves to Thursday: the review of the billing change is not done, and Friday is a '
  + 'holiday in two of the three offices.'
/** Token count of TEXT. */
const TOKENS = 29
const [actor, tenant] = ['ada', 'default']

export type AppendedTurn = { id: string; seq: number }

/** Calls append_turns with one turn. The call waits for the conversation's lock. */
export async function appendByCall(pool: Pool, conversationId: string): Promise<AppendedTurn> {
  const turn = {
    id: newId('turn'),
    actor,
    kind: 'HUMAN',
    role: 'USER',
    status: 'COMMITTED' as const,
    text: TEXT,
    tokens: TOKENS,
    calls: [],
  }
  const [row] = await appendTurns(pool, [{ conversationId, tenant, viewer: 'speaker', turns: [turn] }], true)
  return { id: row!.id, seq: row!.seq }
}

const PLAIN = {
  name: 'plain-append',
  text: `
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + 1, turn_count = turn_count + 1, token_count = token_count + $5,
                         updated_at = now()
      WHERE conversation_id = $2 RETURNING last_seq)
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count)
    SELECT $1, $2, last_seq, last_seq, $3, 'USER', 'COMMITTED', $4, $5 FROM head RETURNING id, seq`,
}

/** Updates the counters and inserts the turn, but no journal entry, so the journal of the conversation gets gaps. */
export async function insertTurn(pool: Pool, conversationId: string): Promise<AppendedTurn> {
  const { rows } = await pool.query<AppendedTurn>({
    scope: tenant,
    ...PLAIN,
    values: [newId('turn'), conversationId, actor, TEXT, TOKENS],
  })
  return rows[0]!
}
