// Reads the journal after a cursor: entries with the turns they concern, by the primary key (conversation_id, seq).
// Not narrowed to a view: domain/view.ts does that for each viewer. Named statements of pg: every subscription reads
// the journal after each wake-up (`npm run bench -- fan-out`).

import type { Pool } from 'pg'
import type { EntryKind } from '../../generated/enums.ts'
import type { FactRow } from '../fact/fact-columns.ts'
import { sql } from '../sql.ts'
import { SUMMARY_COLUMNS, type SummaryRow } from '../summary/read-summaries.ts'
import { TURN_COLUMNS, type TurnRow } from '../turn/turn-columns.ts'

export type JournalRow = {
  seq: number
  kind: EntryKind
  at: Date
  /** The participant who joined or left; null for other entries. */
  actor: string | null
  /** The turn that the entry concerns; null for none. */
  turn: TurnRow | null
  /** The replaced version, for SUPERSEDED; otherwise null. */
  replaced: TurnRow | null
  /** The new summary, for SUMMARIZED; otherwise null. */
  summary: SummaryRow | null
  /** The changed facts, for FACTS_CHANGED, one item for each source in the conversation; otherwise empty. */
  facts: FactVisibility[]
}

/** The columns of a conversation's fact that determine who sees it. */
export type FactVisibility = { id: string; seq: number; rootSeq: number } & Pick<FactRow, 'audience'>

const READ_JOURNAL = sql`
  SELECT e.seq AS "entrySeq", e.kind, e.at, e.actor AS "entryActor", e.summary_id AS "summaryId",
         e.fact_ids AS "factIds", t.supersedes, ${TURN_COLUMNS}
  FROM entry e LEFT JOIN turn t ON t.id = e.turn_id
  WHERE e.conversation_id = $2::text AND e.seq > $3::integer
    AND (SELECT true FROM conversation c WHERE c.id = $2::text AND c.tenant = $1::text)
  ORDER BY e.seq LIMIT $4::integer`.text

/** Up to `limit` entries with seq above `after`, in order. Empty if the tenant has no such conversation. */
export async function readJournal(
  pool: Pool,
  tenant: string,
  conversationId: string,
  after: number,
  limit: number,
): Promise<JournalRow[]> {
  type Flat = TurnRow & {
    entrySeq: number
    kind: EntryKind
    at: Date
    entryActor: string | null
    summaryId: string
    factIds: string[]
    supersedes: string
  }
  const { rows } = await pool.query<Flat>({
    name: 'read-journal',
    text: READ_JOURNAL,
    values: [tenant, conversationId, after, limit],
  })
  const replacedIds = rows.filter((row) => row.kind === 'SUPERSEDED').map((row) => row.supersedes)
  const summaryIds = rows.filter((row) => row.kind === 'SUMMARIZED').map((row) => row.summaryId)
  const summaries = summaryIds.length ? await summariesById(pool, summaryIds) : null
  const replaced = replacedIds.length ? await turnsById(pool, replacedIds) : null
  const changedIds = rows.flatMap((row) => row.factIds ?? [])
  const facts = changedIds.length ? await factsById(pool, conversationId, changedIds) : null
  return rows.map(({ entrySeq, kind, at, entryActor, summaryId, factIds, supersedes, ...turn }) => ({
    seq: entrySeq,
    kind,
    at,
    actor: entryActor,
    turn: turn.id ? turn : null,
    replaced: replaced?.get(supersedes) ?? null,
    summary: summaries?.get(summaryId) ?? null,
    facts: (factIds ?? []).flatMap((id) => facts?.get(id) ?? []),
  }))
}

async function turnsById(pool: Pool, ids: readonly string[]): Promise<Map<string, TurnRow>> {
  const { rows } = await pool.query<TurnRow>({
    name: 'journal-turns',
    text: sql`SELECT ${TURN_COLUMNS} FROM turn t WHERE t.id = ANY ($1::text[])`.text,
    values: [ids],
  })
  return new Map(rows.map((turn) => [turn.id, turn]))
}

async function summariesById(pool: Pool, ids: readonly string[]): Promise<Map<string, SummaryRow>> {
  const { rows } = await pool.query<SummaryRow>({
    name: 'journal-summaries',
    text: sql`SELECT ${SUMMARY_COLUMNS} FROM summary s WHERE s.id = ANY ($1::text[])`.text,
    values: [ids],
  })
  return new Map(rows.map((summary) => [summary.id, summary]))
}

/** Where the facts are asserted in the conversation, by fact. A fact with several sources there has several. */
async function factsById(
  pool: Pool,
  conversationId: string,
  ids: readonly string[],
): Promise<Map<string, FactVisibility[]>> {
  const { rows } = await pool.query<FactVisibility>({
    name: 'journal-facts',
    text: `SELECT s.fact_id AS id, s.seq, s.root_seq AS "rootSeq", s.audience FROM fact_source s
           WHERE s.fact_id = ANY ($1::text[]) AND s.conversation_id = $2::text`,
    values: [ids, conversationId],
  })
  const facts = new Map<string, FactVisibility[]>()
  for (const fact of rows) facts.set(fact.id, [...(facts.get(fact.id) ?? []), fact])
  return facts
}

/** The seq of the newest entry; 0 without entries, null if the tenant has no such conversation. */
export async function readLastSeq(pool: Pool, tenant: string, conversationId: string): Promise<number | null> {
  const { rows } = await pool.query<{ seq: number }>({
    name: 'read-last-seq',
    text: 'SELECT last_seq AS seq FROM journal WHERE conversation_id = $2 AND tenant = $1',
    values: [tenant, conversationId],
  })
  return rows[0]?.seq ?? null
}
