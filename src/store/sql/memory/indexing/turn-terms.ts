// Reads the turns that are not in the term index and writes their terms. Such turns are older than the index; a
// migration that changes the tokenizer removes all turns from it. The terms are computed between the two statements.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'

type UnindexedTurn = {
  id: string
  actor: string
  text: string
  createdAt: Date
  /** Salt of the conversation's terms. */
  salt: number
}

/**
 * At most `limit` turns of any tenant without terms, in order of id, with at most `characters` of their searched
 * text. Uses
 * the partial index turn_unindexed, which is empty when every turn is indexed.
 */
export async function readUnindexedTurns(db: Db, limit: number, characters: number): Promise<UnindexedTurn[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    UnindexedTurn[]
  >`SELECT t.id, t.actor, left(searched_text(t.text, t.parts), ${characters}::integer) AS text,
                  t.created_at AS "createdAt", j.salt
           FROM (SELECT * FROM turn WHERE terms IS NULL AND status = 'COMMITTED' ORDER BY id LIMIT ${limit}::integer) t
           JOIN journal j ON j.conversation_id = t.conversation_id
           ORDER BY t.id`
  return rows
}

export type TurnTerms = { id: string; terms: number[]; cues: number }

/**
 * Writes the salted terms and the cues of turns that have none yet. Returns the number of turns. Skips turns that
 * another transaction has locked, so that processes indexing the same turns cannot block each other.
 */
export async function writeTerms(db: Db, turns: readonly TurnTerms[]): Promise<number> {
  const rowCount = await db.of(SYSTEM).$executeRaw`UPDATE turn t SET terms = x.terms, cues = x.cues
           FROM jsonb_to_recordset(${JSON.stringify(turns)}::jsonb) AS x(id text, terms integer[], cues smallint)
           WHERE t.id = x.id AND t.id IN (
             SELECT l.id FROM turn l
             WHERE l.id = ANY (${turns.map(({ id }) => id)}::text[]) AND l.terms IS NULL AND l.status = 'COMMITTED'
             FOR UPDATE SKIP LOCKED)`
  return rowCount
}
