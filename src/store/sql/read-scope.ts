// The rooms a search goes through. By primary key, or by the indexes conversation_owner and conversation_newest.

import type { Pool } from 'pg'

export type Scope = 'CONVERSATION' | 'OWNER' | 'TENANT'

/** A room, and its newest entry: it has no more turns than entries. */
export type ScopeRoom = { id: string; lastSeq: number }

const WHERE: Record<Scope, string> = {
  CONVERSATION: 'c.id = $2::text AND $3::text IS NOT NULL',
  OWNER: `c.owner = coalesce(
    (SELECT o.owner FROM conversation o WHERE o.id = $2::text AND o.tenant = $1::text), $3::text)`,
  TENANT: '($2::text IS NULL OR true) AND $3::text IS NOT NULL',
}

/** Rooms of the tenant: that one, those of its owner (without `room`, of `actor`), or all; in no order. */
export async function readScope(
  pool: Pool, { tenant, actor }: { tenant: string; actor: string }, scope: Scope, room: string | null,
): Promise<ScopeRoom[]> {
  const { rows } = await pool.query<ScopeRoom>({
    name: `read-scope-${scope.toLowerCase()}`,
    text: `SELECT c.id, j.last_seq AS "lastSeq"
           FROM conversation c JOIN journal j ON j.conversation_id = c.id
           WHERE c.tenant = $1::text AND ${WHERE[scope]}`,
    values: [tenant, room, actor],
  })
  return rows
}
