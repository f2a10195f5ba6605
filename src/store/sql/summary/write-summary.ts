// Calls the SQL functions that write and revoke summaries (prisma/functions/write_summary.sql,
// take_back_summaries.sql). Invariant: a conversation's current summaries are consecutive from its oldest turn on and
// cover each turn once.

import type { Db, Tx } from '../../db.ts'

type WrittenSummary = {
  tenant: string
  conversationId: string
  id: string
  level: number
  /** Root seq of the last turn it covers. */
  to: number
  content: string
  tokens: number
  model: string
  /** Ids of the conversation's current summaries as they were read, oldest first. */
  current: readonly string[]
  /** Ids of the current summaries that it replaces. */
  replaces: readonly string[]
  /** Ids of the turns it also covers, in order; empty for a summary of summaries. */
  turns: readonly string[]
}

type SummaryOutcome = { outcome: 'written'; seq: number } | { outcome: 'moved' | 'missing'; seq: null }

/**
 * Writes the summary. 'moved': the conversation changed since it was read. 'missing': the conversation does not exist.
 */
export async function writeSummary(db: Db, summary: WrittenSummary): Promise<SummaryOutcome> {
  const rows = await db.$queryRaw<[SummaryOutcome]>`
    SELECT outcome, seq FROM write_summary(
      ${summary.tenant}::text, ${summary.conversationId}::text, ${summary.id}::text, ${summary.level}::integer,
      ${summary.to}::integer, ${summary.content}::text, ${summary.tokens}::integer, ${summary.model}::text,
      ${summary.current}::text[], ${summary.replaces}::text[], ${summary.turns}::text[])`
  return rows[0]
}

/**
 * Marks the summaries that cover the changed turn, or a later one, as stale; the summaries that they replaced are
 * current again if they end before the turn. Runs in the transaction that changes the turn, under the conversation's
 * lock.
 */
export async function takeBackSummaries(tx: Tx, conversationId: string, rootSeq: number): Promise<void> {
  await tx.$executeRaw`SELECT take_back_summaries(${conversationId}::text, ${rootSeq}::integer)`
}
