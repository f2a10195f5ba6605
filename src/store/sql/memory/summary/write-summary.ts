// Calls the SQL functions that write and revoke summaries (prisma/functions/write_summary.sql,
// take_back_summaries.sql). Invariant: the current summaries of a conversation cover consecutive turns from the oldest
// one, and each turn once.

import type { Db, Tx } from '../../../db/db.ts'

type WrittenSummary = {
  tenant: string
  conversationId: string
  id: string
  level: number
  /** Position of the last turn that the summary covers. */
  to: number
  content: string
  tokens: number
  model: string
  /** Ids of the conversation's current summaries that the caller read, oldest first. */
  current: readonly string[]
  /** Ids of the current summaries that the new summary replaces. */
  replaces: readonly string[]
  /** Ids of the turns to cover that no current summary covers, in order; empty for a summary of summaries. */
  turns: readonly string[]
}

type SummaryOutcome = { outcome: 'written'; seq: number } | { outcome: 'moved' | 'missing'; seq: null }

/**
 * Writes the summary. 'moved': the conversation has changed since the caller read it. 'missing': the tenant has no such
 * conversation.
 */
export async function writeSummary(db: Db, summary: WrittenSummary): Promise<SummaryOutcome> {
  const rows = await db.of(summary.tenant).$queryRaw<[SummaryOutcome]>`
    SELECT outcome, seq FROM write_summary(
      ${summary.tenant}::text, ${summary.conversationId}::text, ${summary.id}::text, ${summary.level}::integer,
      ${summary.to}::integer, ${summary.content}::text, ${summary.tokens}::integer, ${summary.model}::text,
      ${summary.current}::text[], ${summary.replaces}::text[], ${summary.turns}::text[])`
  return rows[0]
}

/**
 * Marks summaries that cover the changed turn or a later one as stale. A summary that a stale one replaced becomes
 * current again if it ends before the changed turn. The caller has locked the conversation in the transaction that
 * changes the turn.
 */
export async function revokeSummaries(tx: Tx, conversationId: string, position: number): Promise<void> {
  await tx.$executeRaw`SELECT take_back_summaries(${conversationId}::text, ${position}::integer)`
}
