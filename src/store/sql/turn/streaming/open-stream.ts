// Opens the stream of a turn that a transaction has written: its lease and its writer. The SQL function append_turns
// opens the streams of new turns.

import type { Tx } from '../../../db/db.ts'
import { named } from '../../kernel/sql.ts'
import type { AppendLimits } from '../append-call.ts'

export type NewStream = {
  turnId: string
  conversationId: string
  tenant: string
  /** The principal that opens the turn. */
  viewer: string
  writerHash: string
  /** Duration of the lease, s; null for that of the server. */
  leaseSeconds: number | null
}

/**
 * Opens the stream, unless the conversation or the viewer has as many open turns as the limits allow. The transaction
 * has locked the journal. Uses the indexes stream_conversation and stream_viewer.
 */
export async function openStream(
  tx: Tx,
  { turnId, conversationId, tenant, viewer, writerHash, leaseSeconds }: NewStream,
  limits: AppendLimits,
): Promise<'opened' | 'open_in_conversation' | 'open_by_viewer'> {
  const [row] = await tx.$queryRaw<[{ outcome: 'opened' | 'open_in_conversation' | 'open_by_viewer' }]>`
    ${named('open-stream')}
    WITH checked AS (
      SELECT CASE
        WHEN (SELECT count(*) FROM stream s WHERE s.conversation_id = ${conversationId}::text)
             >= ${limits.openInConversation}::integer THEN 'open_in_conversation'
        WHEN (SELECT count(*) FROM stream s WHERE s.tenant = ${tenant}::text AND s.viewer = ${viewer}::text)
             >= ${limits.openByViewer}::integer THEN 'open_by_viewer'
        ELSE 'opened' END AS outcome
    ), opened AS (
      INSERT INTO stream (turn_id, conversation_id, tenant, viewer, writer_hash, lease_seconds)
      SELECT ${turnId}::text, ${conversationId}::text, ${tenant}::text, ${viewer}::text, ${writerHash}::text,
             ${leaseSeconds}::integer
      FROM checked c WHERE c.outcome = 'opened'
    )
    SELECT c.outcome FROM checked c`
  return row.outcome
}
