// The turns that a participant has not read: the newest versions, in its view, of committed turns by other actors, with a
// position after its read mark. Every list and count of unread turns uses these fragments.

import { raw, sql, type Sql } from '../sql.ts'
import { newest, visible } from '../visible.ts'

/** Whether participant `p` has not read turn `t`. Uses the index turn_place. */
export const isUnread = (p = 'p', t = 't'): Sql => sql`(
  ${raw(`${t}.conversation_id = ${p}.conversation_id AND ${t}.root_seq > ${p}.last_read_seq AND ${t}.actor <> ${p}.actor
  AND ${t}.status = 'COMMITTED'`)} AND ${visible(t, p)} AND ${newest(t, p)})`

/**
 * Whether participant `p` has unread turns in the conversation of journal `j`; null if not. A subquery with LIMIT, which
 * the planner cannot turn into a join of all turns: it runs for one conversation at a time, until the page is full.
 */
export const hasUnread = (p: string, j: string): Sql => sql`(
  ${raw(`${j}.last_seq > ${p}.last_read_seq`)} AND (SELECT true FROM turn t WHERE ${isUnread(p)} LIMIT 1))`
