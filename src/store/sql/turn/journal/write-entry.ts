// Writes a journal entry inside a transaction. The lock on the conversation lasts until the transaction ends, so
// entries are numbered without gaps.

import type { Tx } from '../../../db/db.ts'
import type { ConversationVisibility, EntryKind } from '../../../generated/enums.ts'
import { named } from '../../kernel/sql.ts'
import { journalVisible } from '../../kernel/visible.ts'

export type LockedJournal = { lastSeq: number; salt: number; visibility: ConversationVisibility }

/**
 * Locks the conversation against all other writers. Returns null, without a lock, if the viewer sees no such
 * conversation. A null actor, for jobs, sees every conversation of the tenant.
 */
export async function lockJournal(
  tx: Tx,
  viewer: { tenant: string; actor: string | null },
  conversationId: string,
): Promise<LockedJournal | null> {
  const rows = await tx.$queryRaw<LockedJournal[]>`
    ${named('lock-journal')}
    SELECT j.last_seq AS "lastSeq", j.salt, j.visibility
    FROM journal j WHERE j.conversation_id = ${conversationId}::text AND ${journalVisible(viewer)} FOR UPDATE OF j`
  return rows[0] ?? null
}

/**
 * Writes the next entry of a conversation and returns its seq. The transaction has locked the journal. The time of the
 * entry is not before the times of what the transaction has written before.
 */
export async function writeEntry(
  tx: Tx,
  conversationId: string,
  kind: EntryKind,
  about: { turnId?: string; actor?: string; factIds?: readonly string[]; runId?: string; approvalId?: string },
): Promise<number> {
  const [row] = await tx.$queryRaw<[{ seq: number }]>`
    ${named('write-entry')}
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + 1, updated_at = clock_timestamp() WHERE conversation_id = ${conversationId} RETURNING last_seq, updated_at)
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor, fact_ids, run_id, approval_id, at)
    SELECT ${conversationId}, head.last_seq, ${kind}::entry_kind, ${about.turnId ?? null}::text, ${about.actor ?? null}::text,
           ${about.factIds ?? null}::text[], ${about.runId ?? null}::text, ${about.approvalId ?? null}::text, head.updated_at
    FROM head RETURNING seq`
  return row.seq
}
