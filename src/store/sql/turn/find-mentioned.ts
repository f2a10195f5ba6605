// Calls the SQL function find_mentioned (prisma/functions/find_mentioned.sql).

import type { Tx } from '../../db/db.ts'

/** Returns the present participants that the names mention; null for none. The transaction has locked the journal. */
export async function findMentioned(
  tx: Tx,
  conversationId: string,
  names: readonly string[],
): Promise<string[] | null> {
  const rows = await tx.$queryRaw<[{ mentions: string[] | null }]>`
    SELECT find_mentioned(${conversationId}::text, ${names}::text[]) AS mentions`
  return rows[0].mentions
}
