// Turns that the index of words lacks: those of before it was there, and all of them after a migration that changes how
// words are taken. Read and written apart, since words are taken in between.

import type { Db } from '../../db.ts'

type UnindexedTurn = {
  id: string
  actor: string
  text: string
  /** Of its conversation: what its terms are mixed with. */
  salt: number
}

/**
 * At most `limit` turns without terms, of any tenant, in order of id; of each text at most `characters`. Through the
 * partial index turn_unindexed, which is empty when nothing is to do.
 */
export async function readUnindexedTurns(db: Db, limit: number, characters: number): Promise<UnindexedTurn[]> {
  const rows = await db.$queryRaw<
    UnindexedTurn[]
  >`SELECT t.id, t.actor, left(t.text, ${characters}::integer) AS text, j.salt
           FROM (SELECT * FROM turn WHERE terms IS NULL AND status = 'COMMITTED' ORDER BY id LIMIT ${limit}::integer) t
           JOIN journal j ON j.conversation_id = t.conversation_id
           ORDER BY t.id`
  return rows
}

export type TurnTerms = { id: string; terms: number[]; cues: number }

/**
 * Writes the (salted) terms and cues of those turns that still have none; how many. Who else writes them at the same
 * time is not waited for: so processes that index the same turns cannot block each other, in whatever order.
 */
export async function writeTerms(db: Db, turns: readonly TurnTerms[]): Promise<number> {
  const rowCount = await db.$executeRaw`UPDATE turn t SET terms = x.terms, cues = x.cues
           FROM jsonb_to_recordset(${JSON.stringify(turns)}::jsonb) AS x(id text, terms integer[], cues smallint)
           WHERE t.id = x.id AND t.id IN (
             SELECT l.id FROM turn l
             WHERE l.id = ANY (${turns.map(({ id }) => id)}::text[]) AND l.terms IS NULL AND l.status = 'COMMITTED'
             FOR UPDATE SKIP LOCKED)`
  return rowCount
}
