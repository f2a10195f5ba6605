// Ways to append a turn with `pg` alone, which the benchmarks compare with the server: one call of the SQL function
// append_turns per turn, and minimal statements that assign the seq and insert the turn and its entry, for one turn or
// for one turn in each of several conversations.

import type { Pool } from '../../src/store/db/tenant-pool.ts'
import { newId } from '../../src/domain/kernel/id.ts'
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
  const turn = { id: newId('turn'), actor, role: 'USER', status: 'COMMITTED' as const, text: TEXT, tokens: TOKENS }
  const [row] = await appendTurns(pool, [{ conversationId, tenant, viewer: 'speaker', turns: [turn] }], { wait: true })
  return { id: row!.id, seq: row!.seq }
}

const PLAIN = {
  name: 'plain-append',
  text: `
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + 1, turn_count = turn_count + 1, token_count = token_count + $5,
                         updated_at = now()
      WHERE conversation_id = $2 RETURNING last_seq),
    entries AS (
      INSERT INTO entry (conversation_id, seq, kind, turn_id) SELECT $2, last_seq, 'APPENDED', $1 FROM head)
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count)
    SELECT $1, $2, last_seq, last_seq, $3, 'USER', 'COMMITTED', $4, $5 FROM head RETURNING id, seq`,
}

/** Updates the counters, and inserts the turn and its entry, without views, checks and index terms. */
export async function insertTurn(pool: Pool, conversationId: string): Promise<AppendedTurn> {
  const { rows } = await pool.query<AppendedTurn>({
    scope: tenant,
    ...PLAIN,
    values: [newId('turn'), conversationId, actor, TEXT, TOKENS],
  })
  return rows[0]!
}

const PLAIN_BATCH = {
  name: 'plain-appends',
  text: `
    WITH head AS (
      UPDATE journal j SET last_seq = j.last_seq + 1, turn_count = j.turn_count + 1, token_count = j.token_count + $5,
                           updated_at = now()
      FROM unnest($1::text[], $2::text[]) AS i(id, conversation_id)
      WHERE j.conversation_id = i.conversation_id RETURNING i.id, j.conversation_id, j.last_seq),
    entries AS (
      INSERT INTO entry (conversation_id, seq, kind, turn_id)
      SELECT conversation_id, last_seq, 'APPENDED', id FROM head)
    INSERT INTO turn (id, conversation_id, seq, root_seq, actor, role, status, text, token_count)
    SELECT id, conversation_id, last_seq, last_seq, $3, 'USER', 'COMMITTED', $4, $5 FROM head RETURNING id, seq`,
}

/** Like insertTurn, but inserts one turn into each of the conversations, in one statement. */
export async function insertTurns(pool: Pool, conversationIds: readonly string[]): Promise<AppendedTurn[]> {
  const { rows } = await pool.query<AppendedTurn>({
    scope: tenant,
    ...PLAIN_BATCH,
    values: [conversationIds.map(() => newId('turn')), conversationIds, actor, TEXT, TOKENS],
  })
  return rows
}
