// The journal after a cursor: entries with the turns they are about, by the primary key (conversation_id, seq).
// Not narrowed to a view: that is done for each reader, by domain/view.ts.

import type { Pool } from 'pg'
import type { EntryKind } from '../generated/enums.ts'
import { SUMMARY_COLUMNS, type SummaryRow } from './read-summaries.ts'
import { TURN_COLUMNS, type TurnRow } from './turn-columns.ts'

export type JournalRow = {
  seq: number
  kind: EntryKind
  at: Date
  /** Who joined or left. */
  actor: string | null
  turn: TurnRow | null
  /** For SUPERSEDED, the version that was replaced. */
  replaced: TurnRow | null
  /** For SUMMARIZED. */
  summary: SummaryRow | null
}

/** Up to `limit` entries with seq above `after`, in order. Empty for an unknown room, or one of another tenant. */
export async function readJournal(
  pool: Pool, tenant: string, room: string, after: number, limit: number,
): Promise<JournalRow[]> {
  type Flat = TurnRow & { entrySeq: number; kind: EntryKind; at: Date; entryActor: string | null; summaryId: string; supersedes: string }
  const { rows } = await pool.query<Flat>({
    name: 'read-journal',
    text: `
      SELECT e.seq AS "entrySeq", e.kind, e.at, e.actor AS "entryActor", e.summary_id AS "summaryId", t.supersedes, ${TURN_COLUMNS}
      FROM entry e LEFT JOIN turn t ON t.id = e.turn_id
      WHERE e.conversation_id = $2::text AND e.seq > $3::integer
        AND (SELECT true FROM conversation c WHERE c.id = $2::text AND c.tenant = $1::text)
      ORDER BY e.seq LIMIT $4::integer`,
    values: [tenant, room, after, limit],
  })
  const ids = rows.filter((row) => row.kind === 'SUPERSEDED').map((row) => row.supersedes)
  const written = rows.filter((row) => row.kind === 'SUMMARIZED').map((row) => row.summaryId)
  const summaries = written.length ? await summariesById(pool, written) : null
  const replaced = ids.length ? await turnsById(pool, ids) : null
  return rows.map(({ entrySeq, kind, at, entryActor, summaryId, supersedes, ...turn }) => ({
    seq: entrySeq, kind, at, actor: entryActor,
    turn: turn.id ? turn : null,
    replaced: replaced?.get(supersedes) ?? null,
    summary: summaries?.get(summaryId) ?? null,
  }))
}

async function turnsById(pool: Pool, ids: readonly string[]): Promise<Map<string, TurnRow>> {
  const { rows } = await pool.query<TurnRow>({
    name: 'journal-turns', text: `SELECT ${TURN_COLUMNS} FROM turn t WHERE t.id = ANY ($1::text[])`, values: [ids],
  })
  return new Map(rows.map((turn) => [turn.id, turn]))
}

async function summariesById(pool: Pool, ids: readonly string[]): Promise<Map<string, SummaryRow>> {
  const { rows } = await pool.query<SummaryRow>({
    name: 'journal-summaries', text: `SELECT ${SUMMARY_COLUMNS} FROM summary s WHERE s.id = ANY ($1::text[])`, values: [ids],
  })
  return new Map(rows.map((summary) => [summary.id, summary]))
}

/** The newest entry's number, or null where the tenant has no such room (any more). */
export async function readLastSeq(pool: Pool, tenant: string, room: string): Promise<number | null> {
  const { rows } = await pool.query<{ seq: number }>({
    name: 'read-last-seq',
    text: 'SELECT last_seq AS seq FROM journal WHERE conversation_id = $2 AND tenant = $1',
    values: [tenant, room],
  })
  return rows[0]?.seq ?? null
}
