// Reads a complete conversation for an export, whatever its viewers see: its settings, its journal with the turns and
// summaries, and its participants. The objects have the properties of columns.ts.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { TransferScope } from '../../../generated/enums.ts'
import { raw, sql, type Sql } from '../../kernel/sql.ts'
import { partsSoFar, textSoFar } from '../../turn/streaming/open-content.ts'
import { CONVERSATION, ENTRY, objectOf, PARTICIPANT, selectList, SHARED_STATE, SUMMARY, TURN } from './columns.ts'

export type ExportedObject = Record<string, unknown>
/** A conversation in the order of an export: by its creation time and id. */
export type ConversationPlace = { createdAt: Date; id: string }

/** The conversations of an export. `until`: its start; conversations that are created later are not exported. */
export type ConversationsOf = { tenant: string; scope: TransferScope; subject: string | null; until: Date }

// One branch for each of the two partial indexes conversation_newest_open and conversation_newest_members.
const nextOf = (visibility: string, condition: Sql) => sql`(
  SELECT c.id, c.created_at FROM conversation c
  WHERE c.tenant = $1::text AND c.visibility = ${raw(`'${visibility}'`)} AND c.created_at <= $2::timestamptz
    AND (c.created_at, c.id) > ($3::timestamptz, $4::text) AND ${condition}
    AND NOT EXISTS (SELECT FROM transfer i WHERE i.tenant = $1::text AND i.conversation_id = c.id
                                             AND i.state = 'RUNNING' AND i.direction = 'IMPORT')
  ORDER BY c.created_at, c.id LIMIT 1)`
const next = (condition: Sql) =>
  sql`
  SELECT n.id, n.created_at AS "createdAt"
  FROM (${nextOf('OPEN', condition)} UNION ALL ${nextOf('MEMBERS', condition)}) n
  ORDER BY n.created_at, n.id LIMIT 1`.text
const NEXT: Partial<Record<TransferScope, string>> = {
  OWNER: next(raw('c.owner = $5::text')),
  TENANT: next(raw('$5::text IS NULL')),
}
/**
 * The conversation after the place, in the order of creation; null after the last one. Omits conversations that an
 * unfinished import is writing.
 */
export async function readNextConversation(
  pool: Pool,
  { tenant, scope, subject, until }: ConversationsOf,
  after: ConversationPlace,
): Promise<ConversationPlace | null> {
  const { rows } = await pool.query<ConversationPlace>({
    scope: tenant,
    name: `export-next-${scope}`,
    text: NEXT[scope]!,
    values: [tenant, until, after.createdAt, after.id, subject],
  })
  return rows[0] ?? null
}

const SETTINGS = sql`
  SELECT ${selectList(CONVERSATION, 'c')}, j.last_seq, j.updated_at, j.agent_turns,
         coalesce((SELECT g.extracted_through FROM conversation_progress g WHERE g.conversation_id = c.id), 0)
  FROM conversation c JOIN journal j ON j.conversation_id = c.id
  WHERE c.tenant = $1::text AND c.id = $2::text`.text

/** The settings of a conversation, and the head of its journal; null if the tenant has no such conversation. */
export async function readConversationSettings(
  pool: Pool,
  tenant: string,
  conversationId: string,
): Promise<(ExportedObject & { lastSeq: number }) | null> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-conversation',
    rowMode: 'array',
    text: SETTINGS,
    values: [tenant, conversationId],
  })
  const [row] = rows
  if (!row) return null
  const [lastSeq, updatedAt, agentTurns, extractedThrough] = row.slice(CONVERSATION.length)
  return { ...objectOf(CONVERSATION, row), lastSeq: lastSeq as number, updatedAt, agentTurns, extractedThrough }
}

// The sums are computed on references to large values. Only the rows that are returned are read in full.
const ENTRIES = sql`
  SELECT ${selectList(ENTRY, 'e')}, ${selectList(TURN, 't')}, ${selectList(SUMMARY, 's')},
         CASE t.status WHEN 'STREAMING' THEN ${raw(textSoFar('t.id'))} END,
         CASE t.status WHEN 'STREAMING' THEN ${raw(partsSoFar('t.id'))} END
  FROM (
    SELECT z.*, sum(z.bytes) OVER (ORDER BY z.seq ROWS UNBOUNDED PRECEDING) - z.bytes AS before
    FROM (
      SELECT e.*, 512 + coalesce(octet_length(t.text) + coalesce(octet_length(t.parts::text), 0)
               + coalesce(octet_length(t.metadata::text), 0) + coalesce(octet_length(t.sources::text), 0), 0)
             + coalesce(cardinality(e.fact_ids), 0) * 32 AS bytes
      FROM entry e LEFT JOIN turn t ON t.id = e.turn_id AND t.conversation_id = $2::text AND t.seq = e.seq
      WHERE e.conversation_id = $2::text AND e.seq > $3::integer AND e.seq <= $4::integer
        AND EXISTS (SELECT FROM conversation c WHERE c.id = $2::text AND c.tenant = $1::text)
      ORDER BY e.seq LIMIT $5::integer) z) e
  LEFT JOIN turn t ON t.id = e.turn_id AND t.conversation_id = $2::text AND t.seq = e.seq
  LEFT JOIN summary s ON s.id = e.summary_id AND s.conversation_id = $2::text AND s.seq = e.seq
  WHERE e.before < $6::bigint
  ORDER BY e.seq`.text

/** The entries to read: those after `after` up to `through`. */
export type EntryRange = { conversationId: string; after: number; through: number; limit: number; bytes: number }

/**
 * Entries in order, each with the turn version that it wrote (`turn`) or the summary that it recorded (`summary`), in
 * their present state. At most `limit` entries, and no more after the one that reaches `bytes`. An open turn has the
 * text so far, and its parts are a list of OpenPart. Uses the primary keys of entry and turn.
 */
export async function readEntries(
  pool: Pool,
  tenant: string,
  { conversationId, after, through, limit, bytes }: EntryRange,
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-entries',
    rowMode: 'array',
    text: ENTRIES,
    values: [tenant, conversationId, after, through, limit, bytes],
  })
  return rows.map((row) => {
    const entry = objectOf(ENTRY, row)
    const turnAt = ENTRY.length
    if (row[turnAt] !== null) {
      delete entry.turnId
      const turn = objectOf(TURN, row, turnAt)
      const [text, parts] = row.slice(-2)
      return { ...entry, turn: text == null ? turn : { ...turn, text, ...(parts !== null && { parts }) } }
    }
    const summaryAt = turnAt + TURN.length
    if (row[summaryAt] === null) return entry
    delete entry.summaryId
    return { ...entry, summary: objectOf(SUMMARY, row, summaryAt) }
  })
}

const PARTICIPANTS = sql`
  SELECT ${selectList(PARTICIPANT, 'p')} FROM participant p
  WHERE p.conversation_id = $2::text AND p.actor COLLATE "C" > $3::text COLLATE "C"
    AND EXISTS (SELECT FROM conversation c WHERE c.id = $2::text AND c.tenant = $1::text)
  ORDER BY p.actor COLLATE "C" LIMIT $4::integer`.text

/** Present and former participants after the actor, in the order of the code points of their names. */
export async function readParticipantsAfter(
  pool: Pool,
  tenant: string,
  { conversationId, after, limit }: { conversationId: string; after: string; limit: number },
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-participants',
    rowMode: 'array',
    text: PARTICIPANTS,
    values: [tenant, conversationId, after, limit],
  })
  return rows.map((row) => objectOf(PARTICIPANT, row))
}

const STATES = sql`
  SELECT ${selectList(SHARED_STATE, 's')} FROM shared_state s
  WHERE s.conversation_id = $2::text AND s.tenant = $1::text ORDER BY s.key`.text

/** The shared state of a conversation, by key. A conversation has at most MAX_KEYS keys. */
export async function readSharedStatesOf(
  pool: Pool,
  tenant: string,
  conversationId: string,
): Promise<ExportedObject[]> {
  const { rows } = await pool.query<unknown[]>({
    scope: tenant,
    name: 'export-shared-states',
    rowMode: 'array',
    text: STATES,
    values: [tenant, conversationId],
  })
  return rows.map((row) => objectOf(SHARED_STATE, row))
}
