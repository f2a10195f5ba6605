// Counts the turns of each user. Their number determines when automatic work about the user is due.
// All transactions lock in this order, to avoid deadlocks: journals, conversation_progress, facts, user_progress, profile_progress.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import type { Subject } from '../../../jobs/job-queue.ts'
import { AUTHOR_KIND } from '../../turn/read-author-kinds.ts'

type CountedTurns = {
  /** Users whose turns were counted, and users whose facts the counted entries changed. */
  users: Subject[]
  /** Conversations that another transaction has locked. None of their turns were counted. */
  busy: string[]
}

/**
 * Counts the turns after the conversations' watermarks and moves the watermarks to the journal heads, in one statement,
 * so that each turn is counted exactly once. A turn counts if it is complete (appended or committed) and its author was
 * a HUMAN when it wrote the turn. Turns with an audience count; newer versions of a turn do not. Skips conversations that are
 * being counted or whose facts are being extracted. Uses the key of entry.
 */
export async function countUserTurns(db: Db, conversationIds: readonly string[]): Promise<CountedTurns> {
  if (conversationIds.length === 0) return { users: [], busy: [] }
  // Locks the conversations against deletion, so that a deleted one is skipped instead of failing the statement.
  await db.of(SYSTEM).$executeRaw`
      WITH fresh AS MATERIALIZED (
        SELECT c.id, c.tenant FROM conversation c
        WHERE c.id = ANY (${conversationIds}::text[]) AND NOT EXISTS (SELECT FROM conversation_progress p WHERE p.conversation_id = c.id)
        ORDER BY c.id FOR KEY SHARE
      )
      INSERT INTO conversation_progress (conversation_id, tenant) SELECT f.id, f.tenant FROM fresh f ORDER BY f.id ON CONFLICT DO NOTHING`
  // The watermark is current, because it is locked, but the journal head is that of the snapshot. If the watermark is
  // not below the head, there is nothing to count.
  const rows = await db.of(SYSTEM).$queryRaw<CountedTurns[]>`
      WITH mark AS MATERIALIZED (
        SELECT p.conversation_id, p.counted_through AS after
        FROM conversation_progress p WHERE p.conversation_id = ANY (${conversationIds}::text[])
        ORDER BY p.conversation_id FOR NO KEY UPDATE SKIP LOCKED
      ), head AS MATERIALIZED (
        SELECT m.conversation_id, m.after, j.last_seq AS through, j.tenant
        FROM mark m JOIN journal j ON j.conversation_id = m.conversation_id WHERE j.last_seq > m.after
      ), moved AS (
        UPDATE conversation_progress p SET counted_through = h.through FROM head h WHERE p.conversation_id = h.conversation_id
      ), user_turns AS MATERIALIZED (
        SELECT h.tenant, t.actor, count(*) AS turns
        FROM head h
        JOIN entry e ON e.conversation_id = h.conversation_id AND e.seq > h.after AND e.seq <= h.through
                    AND e.kind IN ('APPENDED', 'COMMITTED')
        JOIN turn t ON t.id = e.turn_id AND t.conversation_id = e.conversation_id
        JOIN participant p ON p.conversation_id = h.conversation_id AND p.actor = t.actor
        WHERE ${AUTHOR_KIND} = 'HUMAN'
        GROUP BY h.tenant, t.actor
      ), counted AS (
        INSERT INTO user_progress AS u (tenant, user_id, turns)
        SELECT s.tenant, s.actor, s.turns FROM user_turns s ORDER BY s.tenant, s.actor
        ON CONFLICT (tenant, user_id) DO UPDATE SET turns = u.turns + excluded.turns
        RETURNING u.tenant, u.user_id AS key
      ), changed AS (
        SELECT f.tenant, f.user_id AS key
        FROM head h
        JOIN entry e ON e.conversation_id = h.conversation_id AND e.seq > h.after AND e.seq <= h.through
                    AND e.kind = 'FACTS_CHANGED'
        JOIN fact f ON f.id = ANY (e.fact_ids) AND f.user_id IS NOT NULL
      )
      SELECT coalesce((SELECT json_agg(c) FROM (SELECT * FROM counted UNION SELECT * FROM changed) c), '[]') AS users,
             ARRAY(SELECT p.conversation_id FROM conversation_progress p
                   WHERE p.conversation_id = ANY (${conversationIds}::text[])
                     AND p.conversation_id NOT IN (SELECT m.conversation_id FROM mark m)) AS busy`
  return rows[0]!
}

/**
 * Conversations of any tenant with uncounted entries and ids after `after`, in order of id, at most `limit`. Reads all
 * journal heads.
 */
export async function readUncounted(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    { conversationId: string }[]
  >`SELECT j.conversation_id AS "conversationId" FROM journal j
           LEFT JOIN conversation_progress p ON p.conversation_id = j.conversation_id
           WHERE j.conversation_id > ${after}::text AND j.last_seq > coalesce(p.counted_through, 0)
           ORDER BY j.conversation_id LIMIT ${limit}::integer`
  return rows.map(({ conversationId }) => conversationId)
}
