// Calls the SQL functions that write summaries and take them back (prisma/functions/write_summary.sql, take_back_summaries.sql). Each keeps this: a
// conversation's current summaries follow on one another from its oldest turn on, and cover each turn once.

import type { Db, Tx } from '../../db.ts'

type WrittenSummary = {
  tenant: string
  conversationId: string
  id: string
  level: number
  /** The place of the last turn it covers. */
  to: number
  content: string
  tokens: number
  model: string
  /** The conversation's current summaries as they were read, oldest first. */
  current: readonly string[]
  /** Those of them that it takes the place of. */
  replaces: readonly string[]
  /** The turns it covers besides, in order; none for a summary of summaries. */
  turns: readonly string[]
}

type SummaryOutcome = { outcome: 'written'; seq: number } | { outcome: 'moved' | 'missing'; seq: null }

/** The entry's seq; or why nothing was written: the conversation changed since it was read, or does not exist. */
export async function writeSummary(db: Db, summary: WrittenSummary): Promise<SummaryOutcome> {
  const rows = await db.$queryRaw<[SummaryOutcome]>`
    SELECT outcome, seq FROM write_summary(
      ${summary.tenant}::text, ${summary.conversationId}::text, ${summary.id}::text, ${summary.level}::integer,
      ${summary.to}::integer, ${summary.content}::text, ${summary.tokens}::integer, ${summary.model}::text,
      ${summary.current}::text[], ${summary.replaces}::text[], ${summary.turns}::text[])`
  return rows[0]
}

/**
 * Takes back the summaries that reach the place, because another version stands there now; those before it that they
 * replaced are current again. Under the conversation's lock, in the transaction that writes the version.
 */
export async function takeBackSummaries(tx: Tx, conversationId: string, rootSeq: number): Promise<void> {
  await tx.$executeRaw`SELECT take_back_summaries(${conversationId}::text, ${rootSeq}::integer)`
}
