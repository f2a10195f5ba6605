// Reads and moves the extraction watermark of a conversation, and reads the turns after it, by the key of entry
// (conversation_id, seq). The reads are for jobs, so they are not limited to a view or a tenant.

import type { Scope } from '../../../db/scope.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ParticipantKind, Role } from '../../../generated/enums.ts'
import { COMPLETES } from '../../turn/journal/completes.ts'
import { AUTHOR_KIND } from '../../turn/read-author-kinds.ts'

/** `through` is the seq of the last processed entry, 0 for none; `lastSeq` is the seq of the newest entry. */
type ExtractionProgress = { tenant: string; through: number; lastSeq: number }

/** The conversation's progress; null if the conversation does not exist. */
export async function readExtractionProgress(
  db: Db,
  scope: Scope,
  conversationId: string,
): Promise<ExtractionProgress | null> {
  const rows = await db.of(scope).$queryRaw<
    ExtractionProgress[]
  >`SELECT j.tenant, coalesce(p.extracted_through, 0) AS through, j.last_seq AS "lastSeq"
           FROM journal j LEFT JOIN conversation_progress p ON p.conversation_id = j.conversation_id
           WHERE j.conversation_id = ${conversationId}::text`
  return rows[0] ?? null
}

/** The entries of a conversation with seq in (after, through]. */
export type EntrySpan = { conversationId: string; after: number; through: number }

/** Seq of the `n`th entry after `after` that completed a turn (APPENDED or COMMITTED); null if there are fewer. */
export async function findNthTurn(
  db: Db,
  tenant: string,
  { conversationId, after }: Pick<EntrySpan, 'conversationId' | 'after'>,
  n: number,
): Promise<number | null> {
  const rows = await db.of(tenant).$queryRaw<{ seq: number }[]>`SELECT e.seq FROM entry e
           WHERE e.conversation_id = ${conversationId}::text AND e.seq > ${after}::integer AND e.kind IN ('APPENDED', 'COMMITTED')
           ORDER BY e.seq OFFSET ${n}::integer - 1 LIMIT 1`
  return rows[0]?.seq ?? null
}

/** Seq of the entry that completed the turn version; null if there is none. */
export async function findCompletion(
  db: Db,
  tenant: string,
  { conversationId, id, seq }: { conversationId: string; id: string; seq: number },
): Promise<number | null> {
  const rows = await db.of(tenant).$queryRaw<{ seq: number }[]>`SELECT e.seq FROM entry e
           WHERE e.conversation_id = ${conversationId}::text AND e.seq >= ${seq}::integer AND e.turn_id = ${id}::text
             AND ${COMPLETES}
           ORDER BY e.seq LIMIT 1`
  return rows[0]?.seq ?? null
}

/** A turn that extraction has not processed. */
export type UnreadTurn = {
  id: string
  seq: number
  position: number
  actor: string
  /** The participant's display name; null if not set. */
  displayName: string | null
  /** The kind of the author when it wrote the turn. */
  kind: ParticipantKind
  role: Role
  audience: string[] | null
  text: string
  createdAt: Date
  /** Time at which the server received the turn, if it was imported; otherwise null. */
  importedAt: Date | null
}

/** Committed turns with entries in the span, in order of entry, without versions superseded since. */
export async function readUnreadTurns(
  db: Db,
  tenant: string,
  { conversationId, after, through }: EntrySpan,
): Promise<UnreadTurn[]> {
  const rows = await db.of(tenant).$queryRaw<
    UnreadTurn[]
  >`SELECT t.id, t.seq, t.root_seq AS "position", t.actor, p.display_name AS "displayName",
                  ${AUTHOR_KIND} AS kind, t.role,
                  t.audience, t.text, t.created_at AS "createdAt", t.imported_at AS "importedAt"
           FROM entry e
           JOIN turn t ON t.id = e.turn_id AND t.conversation_id = ${conversationId}::text AND t.status = 'COMMITTED'
                     AND t.superseded_by IS NULL
           JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
           WHERE e.conversation_id = ${conversationId}::text AND e.seq > ${after}::integer AND e.seq <= ${through}::integer
             AND ${COMPLETES}
           ORDER BY e.seq`
  return rows
}

/**
 * Moves the watermark from `after` to `through` and counts the extraction. Returns false if the watermark is no longer
 * at `after`. The caller has locked the conversation.
 */
export async function advanceExtraction(tx: Tx, { conversationId, after, through }: EntrySpan): Promise<boolean> {
  const moved = await tx.$executeRaw`
    INSERT INTO conversation_progress AS p (conversation_id, extracted_through, extractions)
    SELECT ${conversationId}::text, ${through}::integer, 1
    ON CONFLICT (conversation_id) DO UPDATE
    SET extracted_through = ${through}::integer, extractions = p.extractions + 1
    WHERE p.extracted_through = ${after}::integer`
  return moved === 1
}
