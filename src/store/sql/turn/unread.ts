// The turns that a participant has not read: committed turns by other actors in the participant's view, each in its
// newest version, whose position is after the participant's read mark or whose first version was committed after it.
// Every list and count of unread turns uses these fragments.

import { raw, sql, type Sql } from '../kernel/sql.ts'
import { newest, visible } from '../kernel/visible.ts'

/**
 * The turns that participant `p` has not read, as a subquery. Uses the indexes turn_place and entry_committed: the
 * second part reads the streaming turns that were opened before the read mark, and committed after it.
 */
export const unreadTurns = (p = 'p'): Sql => {
  const isUnread = sql`${raw(`t.actor <> ${p}.actor AND t.status = 'COMMITTED'`)} AND ${visible('t', p)} AND ${newest('t', p)}`
  return sql`(
    SELECT t.* FROM turn t
    WHERE ${raw(`t.conversation_id = ${p}.conversation_id AND t.root_seq > ${p}.last_read_seq`)} AND ${isUnread}
    UNION ALL
    SELECT t.* FROM entry e
    JOIN turn c ON c.id = e.turn_id AND c.conversation_id = e.conversation_id
    JOIN turn t ON t.conversation_id = c.conversation_id AND t.root_seq = c.root_seq
    WHERE ${raw(`e.conversation_id = ${p}.conversation_id AND e.kind = 'COMMITTED' AND e.seq > ${p}.last_read_seq
    AND c.seq = c.root_seq AND c.root_seq <= ${p}.last_read_seq`)} AND ${isUnread})`
}

/**
 * Whether participant `p` has unread turns in the conversation of journal `j`; null if not. A subquery with LIMIT,
 * which the planner cannot turn into a join of all turns: it runs for one conversation at a time, until the page is
 * full.
 */
export const hasUnread = (p: string, j: string): Sql => sql`(
  ${raw(`${j}.last_seq > ${p}.last_read_seq`)} AND (SELECT true FROM ${unreadTurns(p)} t LIMIT 1))`
