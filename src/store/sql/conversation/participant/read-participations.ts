// Reads the windows of actors in conversations, by the primary key of participant. A named statement of pg:
// the inbox reads them for each batch of events (`npm run bench -- fan-out`).

import type { Pool } from '../../../db/tenant-pool.ts'

type Participation = {
  actor: string
  windows: number[]
  addressed: boolean
  /** Whether turns may wake up the participant. */
  isResponding: boolean
  /** Whether the participant is in the conversation, as its owner or an administrator. */
  mayApprove: boolean
}

/** Current and former participations of the actors, by conversation. A conversation without any has no key. */
export async function readParticipations(
  pool: Pool,
  tenant: string,
  conversationIds: readonly string[],
  actors: readonly string[],
): Promise<Map<string, Participation[]>> {
  const { rows } = await pool.query<Participation & { conversationId: string }>({
    scope: tenant,
    name: 'read-participations',
    text: `
      SELECT p.conversation_id AS "conversationId", p.actor, p.windows, p.addressed,
             p.respond <> 'NEVER' AS "isResponding",
             p.left_at IS NULL AND (p.administrator OR c.owner = p.actor) AS "mayApprove"
      FROM participant p JOIN conversation c ON c.id = p.conversation_id AND c.tenant = $1::text
      WHERE p.conversation_id = ANY ($2::text[]) AND p.actor = ANY ($3::text[])`,
    values: [tenant, conversationIds, actors],
  })
  const found = new Map<string, Participation[]>()
  for (const { conversationId, ...participation } of rows) {
    const list = found.get(conversationId)
    if (list) list.push(participation)
    else found.set(conversationId, [participation])
  }
  return found
}
