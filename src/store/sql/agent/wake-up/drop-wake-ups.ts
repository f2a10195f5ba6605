// Ends the wake-ups of a participant without an answer.

import type { Tx } from '../../../db/db.ts'
import type { WakeUpDrop } from '../../../generated/enums.ts'

/** Ends all pending wake-ups of the participant. The transaction has locked the journal. Uses the index wake_up_due. */
export async function dropWakeUps(tx: Tx, conversationId: string, actor: string, reason: WakeUpDrop): Promise<void> {
  await tx.$executeRaw`
    UPDATE wake_up SET dropped_reason = ${reason}::wake_up_drop
    WHERE conversation_id = ${conversationId}::text AND actor = ${actor}::text
      AND answered_at IS NULL AND dropped_reason IS NULL`
}
