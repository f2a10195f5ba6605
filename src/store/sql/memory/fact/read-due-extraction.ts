// Finds conversations that are due for fact extraction. Used by jobs, so not limited to a tenant.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import { raw, sql } from '../../kernel/sql.ts'
import type { Subject } from '../../../jobs/job-queue.ts'

/**
 * Condition that extraction is enabled and at least `every` complete turns follow the watermark. Uses the key of entry.
 */
const due = (every: number) => sql`
  c.fact_extraction AND j.last_seq - coalesce(p.extracted_through, 0) >= ${every}::integer
  AND (SELECT count(*) FROM (
         SELECT FROM entry e
         WHERE e.conversation_id = c.id AND e.seq > coalesce(p.extracted_through, 0)
           AND e.kind IN ('APPENDED', 'COMMITTED')
         LIMIT ${every}::integer) e) = ${every}::integer`

const SELECT = raw(`
  SELECT c.tenant, c.id AS key
  FROM conversation c
  JOIN journal j ON j.conversation_id = c.id
  LEFT JOIN conversation_progress p ON p.conversation_id = c.id`)

/** The given conversations that are due. */
export async function readDueExtractionAmong(
  db: Db,
  conversationIds: readonly string[],
  every: number,
): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    Subject[]
  >`${SELECT} WHERE c.id = ANY (${conversationIds}::text[]) AND ${due(every)}`
  return rows
}

/** Due conversations with ids after `after`, in order of id, at most `limit`. Reads all conversations. */
export async function readDueExtraction(db: Db, after: string, limit: number, every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    Subject[]
  >`${SELECT} WHERE c.id > ${after}::text AND ${due(every)} ORDER BY c.id LIMIT ${limit}::integer`
  return rows
}
