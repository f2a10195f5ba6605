// Finds the runs that wait for approval but have no pending approval, so that background work can continue them. Uses
// the indexes run_waiting_for_approval and approval_run.

import { SYSTEM } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import type { Subject } from '../../../jobs/job-queue.ts'
import { raw } from '../../kernel/sql.ts'

const DECIDED = raw(`r.state = 'WAITING_FOR_APPROVAL' AND NOT EXISTS (
  SELECT FROM approval a WHERE a.run_id = r.id AND a.state = 'PENDING')`)

/** Conversations with such a run, ascending, after the given id. */
export const readDueDecisions = (db: Db, after: string, limit: number): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT DISTINCT r.tenant, r.conversation_id AS key FROM run r
    WHERE ${DECIDED} AND r.conversation_id > ${after}::text ORDER BY r.conversation_id LIMIT ${limit}::integer`

/** The conversations with such a run among the given ones. */
export const readDueDecisionsAmong = (db: Db, conversationIds: readonly string[]): Promise<Subject[]> =>
  db.of(SYSTEM).$queryRaw<Subject[]>`
    SELECT DISTINCT r.tenant, r.conversation_id AS key FROM run r
    WHERE ${DECIDED} AND r.conversation_id = ANY (${conversationIds}::text[])`

/** Ids of such runs in the conversation, oldest first. */
export async function readDecidedRuns(db: Db, tenant: string, conversationId: string): Promise<string[]> {
  const rows = await db.of(tenant).$queryRaw<{ id: string }[]>`
    SELECT r.id FROM run r WHERE ${DECIDED} AND r.conversation_id = ${conversationId}::text ORDER BY r.created_at, r.id`
  return rows.map(({ id }) => id)
}
