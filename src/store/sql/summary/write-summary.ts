// Calls the SQL functions that write summaries and take them back (prisma/functions/write_summary.sql, take_back_summaries.sql). Each keeps this: a
// conversation's current summaries follow on one another from its oldest turn on, and cover each turn once.

import type { Pool } from 'pg'
import type { Tx } from '../../db.ts'

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

/** The entry's seq; or why nothing was written: the conversation has moved, or is not there. */
export async function writeSummary(
  pool: Pool,
  summary: WrittenSummary,
): Promise<{ outcome: 'written'; seq: number } | { outcome: 'moved' | 'missing'; seq: null }> {
  const { rows } = await pool.query({
    name: 'write-summary',
    text: `SELECT outcome, seq FROM write_summary(
             $1::text, $2::text, $3::text, $4::integer, $5::integer, $6::text, $7::integer, $8::text, $9::text[],
             $10::text[], $11::text[])`,
    values: [
      summary.tenant,
      summary.conversationId,
      summary.id,
      summary.level,
      summary.to,
      summary.content,
      summary.tokens,
      summary.model,
      summary.current,
      summary.replaces,
      summary.turns,
    ],
  })
  return rows[0]
}

/**
 * Takes back the summaries that reach the place, because another version stands there now; those before it that they
 * replaced are current again. Under the conversation's lock, in the transaction that writes the version.
 */
export async function takeBackSummaries(tx: Tx, conversationId: string, rootSeq: number): Promise<void> {
  await tx.$executeRaw`SELECT take_back_summaries(${conversationId}::text, ${rootSeq}::integer)`
}
