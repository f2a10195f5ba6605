// Writes a journal entry inside a transaction. The lock on the conversation lasts until the transaction ends, so
// entries are numbered without gaps.

import type { Tx } from '../../db.ts'
import type { EntryKind } from '../../generated/enums.ts'
import { named } from '../sql.ts'

/** Locks the conversation against all other writers. Null if the tenant has no such conversation. */
export async function lockJournal(
  tx: Tx,
  tenant: string,
  conversationId: string,
): Promise<{ lastSeq: number; salt: number } | null> {
  const rows = await tx.$queryRaw<{ lastSeq: number; salt: number }[]>`
    ${named('lock-journal')}
    SELECT last_seq AS "lastSeq", salt FROM journal WHERE conversation_id = ${conversationId} AND tenant = ${tenant} FOR UPDATE`
  return rows[0] ?? null
}

/** Writes the next entry of a conversation, whose journal the transaction has locked, and returns its seq. */
export async function writeEntry(
  tx: Tx,
  conversationId: string,
  kind: EntryKind,
  about: { turnId?: string; actor?: string; factIds?: readonly string[] },
): Promise<number> {
  const [row] = await tx.$queryRaw<[{ seq: number }]>`
    ${named('write-entry')}
    WITH head AS (
      UPDATE journal SET last_seq = last_seq + 1, updated_at = now() WHERE conversation_id = ${conversationId} RETURNING last_seq)
    INSERT INTO entry (conversation_id, seq, kind, turn_id, actor, fact_ids)
    SELECT ${conversationId}, head.last_seq, ${kind}::entry_kind, ${about.turnId ?? null}::text, ${about.actor ?? null}::text,
           ${about.factIds ?? null}::text[]
    FROM head RETURNING seq`
  return row.seq
}
