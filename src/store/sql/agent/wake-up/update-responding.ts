// Updates journal.responding, which lets turns in conversations without responding participants skip the wake-ups.

import type { Tx } from '../../../db/db.ts'

/**
 * Sets `responding` to whether turns may wake up any present or former participant. Former ones count, because an actor
 * who joins again keeps its `respond`. If `responding` changes, the count of consecutive turns by agents starts at 0.
 * The transaction has locked the journal. Uses the index participant_responding.
 */
export async function updateResponding(tx: Tx, conversationId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE journal j SET responding = x.responding, agent_turns = 0
    FROM (SELECT EXISTS (SELECT FROM participant p
                         WHERE p.conversation_id = ${conversationId}::text AND p.respond <> 'NEVER') AS responding) x
    WHERE j.conversation_id = ${conversationId}::text AND j.responding <> x.responding`
}
