// Checks whether an actor is known in a tenant. The statement has no name, so that it is planned for each call: it is
// fastest to start either with the actor's participations (participant_actor) or with the tenant's conversations.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Viewer } from '../../../db/scope.ts'

/** Whether the actor is or was a participant of a conversation of the tenant, or owns one (conversation_owner). */
export async function isKnownActor(pool: Pool, { tenant, actor }: Viewer): Promise<boolean> {
  const { rows } = await pool.query<{ isKnown: boolean }>({
    scope: tenant,
    text: `SELECT EXISTS (SELECT FROM conversation c WHERE c.tenant = $1::text AND c.owner = $2::text)
         OR EXISTS (SELECT FROM participant p JOIN conversation c ON c.id = p.conversation_id AND c.tenant = $1::text
                    WHERE p.actor = $2::text) AS "isKnown"`,
    values: [tenant, actor],
  })
  return rows[0]!.isKnown
}
