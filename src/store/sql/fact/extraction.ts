// How far conversations have been read for facts, and what is to be read next: entries of the journal after a watermark, by the
// key of entry (conversation_id, seq). For jobs, so not narrowed to a view; in the tenant that is given.

import type { Db, Tx } from '../../db.ts'
import type { ParticipantKind, Role } from '../../generated/enums.ts'

/** `through`: the newest entry that was read; `lastSeq`: the newest there is. */
type ExtractionProgress = { tenant: string; through: number; lastSeq: number }

/** Null where there is no such conversation. */
export async function readExtractionProgress(db: Db, conversationId: string): Promise<ExtractionProgress | null> {
  const rows = await db.$queryRaw<
    ExtractionProgress[]
  >`SELECT j.tenant, coalesce(p.extracted_through, 0) AS through, j.last_seq AS "lastSeq"
           FROM journal j LEFT JOIN conversation_progress p ON p.conversation_id = j.conversation_id
           WHERE j.conversation_id = ${conversationId}::text`
  return rows[0] ?? null
}

/** The entry with which the `n`th turn after `after` was complete; null where there are not so many. */
export async function findNthTurn(db: Db, conversationId: string, after: number, n: number): Promise<number | null> {
  const rows = await db.$queryRaw<{ seq: number }[]>`SELECT e.seq FROM entry e
           WHERE e.conversation_id = ${conversationId}::text AND e.seq > ${after}::integer AND e.kind IN ('APPENDED', 'COMMITTED')
           ORDER BY e.seq OFFSET ${n}::integer - 1 LIMIT 1`
  return rows[0]?.seq ?? null
}

/** The entry with which that version of a turn, of the given seq, was complete; null where it is not. */
export async function findCompletion(
  db: Db,
  conversationId: string,
  turn: string,
  seq: number,
): Promise<number | null> {
  const rows = await db.$queryRaw<{ seq: number }[]>`SELECT e.seq FROM entry e
           WHERE e.conversation_id = ${conversationId}::text AND e.seq >= ${seq}::integer AND e.turn_id = ${turn}::text
             AND e.kind IN ('APPENDED', 'COMMITTED', 'SUPERSEDED')
           ORDER BY e.seq LIMIT 1`
  return rows[0]?.seq ?? null
}

/** A turn as far as extraction needs it. */
export type UnreadTurn = {
  id: string
  seq: number
  rootSeq: number
  actor: string
  /** The participant's own; null for none. */
  displayName: string | null
  kind: ParticipantKind
  role: Role
  audience: string[] | null
  text: string
  createdAt: Date
}

/** Committed turns whose entries lie in (after, through], less those that a newer version replaced since; in order. */
export async function readUnreadTurns(
  db: Db,
  conversationId: string,
  after: number,
  through: number,
): Promise<UnreadTurn[]> {
  const rows = await db.$queryRaw<
    UnreadTurn[]
  >`SELECT t.id, t.seq, t.root_seq AS "rootSeq", t.actor, p.display_name AS "displayName", p.kind, t.role,
                  t.audience, t.text, t.created_at AS "createdAt"
           FROM entry e
           JOIN turn t ON t.id = e.turn_id AND t.status = 'COMMITTED' AND t.superseded_by IS NULL
           JOIN participant p ON p.conversation_id = t.conversation_id AND p.actor = t.actor
           WHERE e.conversation_id = ${conversationId}::text AND e.seq > ${after}::integer AND e.seq <= ${through}::integer
             AND e.kind IN ('APPENDED', 'COMMITTED', 'SUPERSEDED')
           ORDER BY e.seq`
  return rows
}

/** Moves the watermark, and counts the reading; false where somebody else has moved it. Under the conversation's lock. */
export async function advanceExtraction(tx: Tx, conversationId: string, from: number, to: number): Promise<boolean> {
  const moved = await tx.$executeRaw`
    INSERT INTO conversation_progress AS p (conversation_id, extracted_through, extractions)
    SELECT ${conversationId}::text, ${to}::integer, 1
    ON CONFLICT (conversation_id) DO UPDATE
    SET extracted_through = ${to}::integer, extractions = p.extractions + 1
    WHERE p.extracted_through = ${from}::integer`
  return moved === 1
}
