// Reads the compaction state and policy of a conversation, and finds conversations that are due for compaction. Used
// by jobs, so not limited to a tenant. Uses the primary keys of journal and conversation.

import { SYSTEM, type Scope } from '../../../db/scope.ts'
import type { Db } from '../../../db/db.ts'
import type { CompactionStrategy } from '../../../generated/enums.ts'
import type { Subject } from '../../../jobs/job-queue.ts'
import { named, raw, sql } from '../../kernel/sql.ts'
import { SUMMARY_COLUMNS, type SummaryRow } from './read-summaries.ts'

export type CompactionRow = {
  conversationId: string
  tenant: string
  triggerTurns: number
  triggerTokens: number
  /** Null for the server's default summarizer. */
  summarizerModel: string | null
  strategy: CompactionStrategy
  /** Number of committed turns without audience that no current summary covers, and their token count. */
  turns: number
  tokens: number
  /** Position of the last covered turn; 0 for none. */
  through: number
}

const SELECT = raw(`
  SELECT c.id AS "conversationId", c.tenant, c.trigger_turns AS "triggerTurns", c.trigger_tokens AS "triggerTokens",
         c.summarizer_model AS "summarizerModel", c.compaction_strategy AS strategy,
         j.turn_count - j.summarized_turns AS turns, (j.token_count - j.summarized_tokens)::double precision AS tokens,
         j.summarized_through AS through
  FROM journal j JOIN conversation c ON c.id = j.conversation_id`)

/**
 * Condition that the policy allows compaction and either more than one turn is uncovered and a trigger of the policy is
 * exceeded, or at least `every` turns are uncovered. If `every` is 0, only the policy's triggers count.
 */
const due = (every: number) => sql`
  c.compaction_strategy <> 'NEVER' AND (
    j.turn_count - j.summarized_turns > 1 AND (j.turn_count - j.summarized_turns > c.trigger_turns
                                               OR j.token_count - j.summarized_tokens > c.trigger_tokens)
    OR ${every}::integer > 0 AND j.turn_count - j.summarized_turns >= ${every}::integer)`

/** The conversation's state; null if it does not exist. */
export async function readCompaction(db: Db, scope: Scope, conversationId: string): Promise<CompactionRow | null> {
  const rows = await db.of(scope).$queryRaw<CompactionRow[]>`
    ${named('read-compaction')} ${SELECT} WHERE j.conversation_id = ${conversationId}::text`
  return rows[0] ?? null
}

/** The given conversations that are due. `every` as in `due`. */
export async function readDueAmong(db: Db, conversationIds: readonly string[], every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<Subject[]>`
           ${named('read-due-compactions')}
           SELECT d.tenant, d."conversationId" AS key
           FROM (${SELECT} WHERE j.conversation_id = ANY (${conversationIds}::text[]) AND ${due(every)}) d`
  return rows
}

/** Due conversations with ids after `after`, in order of id, at most `limit`. Reads all journal heads. */
export async function readDue(db: Db, after: string, limit: number, every: number): Promise<Subject[]> {
  const rows = await db.of(SYSTEM).$queryRaw<
    Subject[]
  >`SELECT d.tenant, d."conversationId" AS key FROM (${SELECT} WHERE j.conversation_id > ${after}::text AND ${due(every)}) d
           ORDER BY d."conversationId" LIMIT ${limit}::integer`
  return rows
}

/** The conversation's current summaries, oldest first, not limited to a view. Uses the index summary_current. */
export async function readCurrentOf(db: Db, scope: Scope, conversationId: string): Promise<SummaryRow[]> {
  const rows = await db.of(scope).$queryRaw<SummaryRow[]>`
           ${named('read-current-of')}
           SELECT ${SUMMARY_COLUMNS} FROM summary s
           WHERE s.conversation_id = ${conversationId}::text AND s.superseded_by IS NULL AND NOT s.stale ORDER BY s.from_seq`
  return rows
}
