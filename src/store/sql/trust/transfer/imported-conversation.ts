// Writes an imported conversation in the steps of an import. Until the last step nobody sees it: it has the visibility
// MEMBERS, no participants, no key and an empty journal head, so that no list, search or background task finds it. It
// expires unless the import is continued.

import type { Tx } from '../../../db/db.ts'
import type { ConversationVisibility } from '../../../generated/enums.ts'
import { sql } from '../../kernel/sql.ts'
import { CONVERSATION, ENTRY, names, PARTICIPANT, recordOf, SHARED_STATE, SUMMARY, TURN, values } from './columns.ts'

type Values = Record<string, unknown>

/** The fields of a conversation that are set by the last step only. */
const LATE = new Set(['key', 'keyScope', 'visibility', 'automaticTitle', 'expiresAt', 'legalHold'])
const EARLY = CONVERSATION.filter(({ key }) => !LATE.has(key))
const LATE_COLUMNS = CONVERSATION.filter(({ key }) => LATE.has(key))

/** A conversation of an import, and the salt of its terms. */
export type NewConversation = Values & { id: string; salt: number }

/**
 * Writes conversations that nobody sees. Returns the ids that were written; the others are used already, in another
 * tenant, or since the caller read the conversations.
 * @param stageSeconds seconds after which they expire unless the import completes them
 */
export async function insertConversations(
  tx: Tx,
  tenant: string,
  conversations: readonly NewConversation[],
  stageSeconds: number,
): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>(sql`
    INSERT INTO conversation (${names(EARLY)}, tenant, visibility, key_scope, automatic_title, expires_at)
    SELECT ${values(EARLY)}, ${tenant}::text, 'MEMBERS', x.id, false, now() + make_interval(secs => ${stageSeconds}::integer)
    FROM jsonb_to_recordset(${JSON.stringify(conversations)}::jsonb) AS x(${recordOf(EARLY)})
    ORDER BY x.id ON CONFLICT (id) DO NOTHING RETURNING id`)
  const written = new Set(rows.map(({ id }) => id))
  const salts = conversations.filter(({ id }) => written.has(id))
  await tx.$executeRaw`
    INSERT INTO journal (conversation_id, tenant, visibility, salt)
    SELECT x.id, ${tenant}::text, 'MEMBERS', x.salt
    FROM unnest(${salts.map(({ id }) => id)}::text[], ${salts.map(({ salt }) => salt)}::integer[]) AS x(id, salt)`
  return [...written]
}

/** An object of the conversation. */
type In = Values & { conversationId: string }

/** Writes entries of journals. */
export async function insertEntries(tx: Tx, entries: readonly In[]): Promise<void> {
  if (entries.length === 0) return
  await tx.$executeRaw(sql`
    INSERT INTO entry (conversation_id, ${names(ENTRY)})
    SELECT x."conversationId", ${values(ENTRY)}
    FROM jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS x("conversationId" text, ${recordOf(ENTRY)})`)
}

/** A version of a turn, with its salted terms and its cues, both absent unless it is committed. */
export type ImportedTurn = In & { id: string; seq: number; terms?: readonly number[]; cues?: number }

/**
 * Writes versions of turns, and marks the versions that they supersede. Returns the id of one that is used already, and
 * then writes nothing; null if all were written.
 */
export async function insertTurns(tx: Tx, turns: readonly ImportedTurn[]): Promise<string | null> {
  if (turns.length === 0) return null
  const [used] = await tx.$queryRaw<{ id: string }[]>`
    SELECT t.id FROM turn t WHERE t.id = ANY (${turns.map(({ id }) => id)}::text[]) LIMIT 1`
  if (used) return used.id
  await tx.$executeRaw(sql`
    INSERT INTO turn (conversation_id, seq, ${names(TURN)}, terms, cues)
    SELECT x."conversationId", x.seq, ${values(TURN)}, x.terms, x.cues
    FROM jsonb_to_recordset(${JSON.stringify(turns)}::jsonb)
      AS x("conversationId" text, seq integer, ${recordOf(TURN)}, terms integer[], cues smallint)`)
  const newer = turns.filter(({ supersedes }) => supersedes != null)
  if (newer.length > 0) {
    await tx.$executeRaw`
      UPDATE turn o SET superseded_by = n.id
      FROM jsonb_to_recordset(${JSON.stringify(newer)}::jsonb) AS n(id text, supersedes text, "conversationId" text)
      WHERE o.id = n.supersedes AND o.conversation_id = n."conversationId"`
  }
  return null
}

export type ImportedCall = In & { callId: string; turnId: string; name: string }
export type ImportedResult = In & { callId: string; callPosition: number; turnId: string; approvalId?: string }

/** Writes the tool calls and tool results of imported turns. */
export async function insertToolParts(
  tx: Tx,
  { calls, results }: { calls: readonly ImportedCall[]; results: readonly ImportedResult[] },
): Promise<void> {
  if (calls.length > 0) {
    await tx.$executeRaw`
      INSERT INTO tool_call (conversation_id, call_id, turn_id, name)
      SELECT x."conversationId", x."callId", x."turnId", x.name
      FROM jsonb_to_recordset(${JSON.stringify(calls)}::jsonb)
        AS x("conversationId" text, "callId" text, "turnId" text, name text)
      ON CONFLICT DO NOTHING`
  }
  if (results.length > 0) {
    await tx.$executeRaw`
      INSERT INTO tool_result (conversation_id, call_id, call_position, turn_id, approval_id)
      SELECT x."conversationId", x."callId", x."callPosition", x."turnId", x."approvalId"
      FROM jsonb_to_recordset(${JSON.stringify(results)}::jsonb)
        AS x("conversationId" text, "callId" text, "callPosition" integer, "turnId" text, "approvalId" text)
      ON CONFLICT DO NOTHING`
  }
}

/** Writes summaries. Returns the id of one that is used already; null if all were written. */
export async function insertSummaries(tx: Tx, summaries: readonly (In & { id: string })[]): Promise<string | null> {
  if (summaries.length === 0) return null
  const rows = await tx.$queryRaw<{ id: string }[]>(sql`
    INSERT INTO summary (conversation_id, seq, ${names(SUMMARY)})
    SELECT x."conversationId", x.seq, ${values(SUMMARY)}
    FROM jsonb_to_recordset(${JSON.stringify(summaries)}::jsonb) AS x("conversationId" text, seq integer, ${recordOf(SUMMARY)})
    ON CONFLICT (id) DO NOTHING RETURNING id`)
  const written = new Set(rows.map(({ id }) => id))
  return summaries.find(({ id }) => !written.has(id))?.id ?? null
}

/** Writes participants. From then on, these participants see the conversation, so all its turns must be written. */
export async function insertParticipants(tx: Tx, participants: readonly In[]): Promise<void> {
  if (participants.length === 0) return
  await tx.$executeRaw(sql`
    INSERT INTO participant (conversation_id, ${names(PARTICIPANT)})
    SELECT x."conversationId", ${values(PARTICIPANT)}
    FROM jsonb_to_recordset(${JSON.stringify(participants)}::jsonb) AS x("conversationId" text, ${recordOf(PARTICIPANT)})`)
}

const STATE_WITHOUT_VALUE = SHARED_STATE.filter(({ key }) => key !== 'value')

/** Writes shared state. As json, whose objects keep the order of their keys. */
export async function insertSharedStates(tx: Tx, states: readonly In[]): Promise<void> {
  if (states.length === 0) return
  const given = states.map((state) => ({ ...state, bytes: Buffer.byteLength(JSON.stringify(state.value ?? null)) }))
  await tx.$executeRaw(sql`
    INSERT INTO shared_state (conversation_id, value, bytes, first_version, ${names(STATE_WITHOUT_VALUE)})
    SELECT x."conversationId", coalesce(x.value, 'null'), x.bytes, x.version, ${values(STATE_WITHOUT_VALUE)}
    FROM json_to_recordset(${JSON.stringify(given)}::json)
      AS x("conversationId" text, value json, bytes integer, ${recordOf(STATE_WITHOUT_VALUE)})`)
}

export type JournalHead = {
  conversationId: string
  lastSeq: number
  updatedAt: string
  agentTurns?: number
  extractedThrough?: number
}

/**
 * Sets the heads of journals, their counters, and how far facts were extracted. Participants may append from then on.
 */
export async function writeJournalHeads(tx: Tx, heads: readonly JournalHead[]): Promise<void> {
  if (heads.length === 0) return
  const given = JSON.stringify(heads)
  await tx.$executeRaw`
    UPDATE journal j
    SET last_seq = x."lastSeq", updated_at = x."updatedAt", agent_turns = coalesce(x."agentTurns", 0),
        turn_count = n.turns, token_count = n.tokens
    FROM jsonb_to_recordset(${given}::jsonb)
      AS x("conversationId" text, "lastSeq" integer, "updatedAt" timestamptz, "agentTurns" integer)
    CROSS JOIN LATERAL (
      SELECT count(*)::integer AS turns, coalesce(sum(t.token_count), 0) AS tokens FROM turn t
      WHERE t.conversation_id = x."conversationId" AND t.status = 'COMMITTED' AND t.audience IS NULL
        AND t.superseded_by IS NULL) n
    WHERE j.conversation_id = x."conversationId"`
  await tx.$executeRaw`
    SELECT count_summarized(x.id) FROM unnest(${heads.map(({ conversationId }) => conversationId)}::text[]) AS x(id)
    WHERE EXISTS (SELECT FROM summary s WHERE s.conversation_id = x.id)`
  await tx.$executeRaw`
    INSERT INTO conversation_progress (conversation_id, extracted_through)
    SELECT x."conversationId", x."extractedThrough"
    FROM jsonb_to_recordset(${given}::jsonb) AS x("conversationId" text, "extractedThrough" integer)
    WHERE x."extractedThrough" > 0`
}

/** The fields of a conversation that `publishConversations` sets. */
export type LateFields = {
  id: string
  key?: string
  keyScope?: string
  visibility: ConversationVisibility
  automaticTitle?: boolean
  expiresAt?: string
  legalHold?: boolean
  /** Whether an automatic title is removed, because it may quote a turn that was erased. */
  dropsTitle: boolean
}

/** Makes conversations visible. Call it last, when their participants are written. */
export async function publishConversations(tx: Tx, conversations: readonly LateFields[]): Promise<void> {
  if (conversations.length === 0) return
  const given = JSON.stringify(conversations)
  await tx.$executeRaw(sql`
    UPDATE conversation c
    SET key = x.key, key_scope = coalesce(x."keyScope", ''), visibility = x.visibility,
        automatic_title = coalesce(x."automaticTitle", true), expires_at = x."expiresAt",
        legal_hold = coalesce(x."legalHold", false),
        title = CASE WHEN x."dropsTitle" AND c.title_seq IS NOT NULL THEN NULL ELSE c.title END,
        title_tried = CASE WHEN x."dropsTitle" AND c.title_seq IS NOT NULL THEN 0 ELSE c.title_tried END,
        title_from = CASE WHEN NOT x."dropsTitle" THEN c.title_from END,
        title_seq = CASE WHEN NOT x."dropsTitle" THEN c.title_seq END
    FROM jsonb_to_recordset(${given}::jsonb) AS x(id text, ${recordOf(LATE_COLUMNS)}, "dropsTitle" boolean)
    WHERE c.id = x.id`)
  await tx.$executeRaw`
    UPDATE journal j
    SET visibility = x.visibility, responding = EXISTS (
      SELECT FROM participant p WHERE p.conversation_id = x.id AND p.respond <> 'NEVER')
    FROM jsonb_to_recordset(${given}::jsonb) AS x(id text, visibility conversation_visibility)
    WHERE j.conversation_id = x.id`
}

/** Deletes a conversation that an import has not completed, with everything in it. */
export async function deleteStagedConversation(tx: Tx, conversationId: string): Promise<void> {
  await tx.$executeRaw`DELETE FROM conversation WHERE id = ${conversationId}::text`
}

/** A stored conversation that an import may conflict with. `importId`: the unfinished import that is writing it. */
export type StoredConversation = {
  id: string
  lastSeq: number
  createdAt: Date
  key: string | null
  keyScope: string
  importId: string | null
}

/** The tenant's conversations with these ids, or with these keys. Uses the primary key, and the unique index of keys. */
export async function findStored(
  tx: Tx,
  tenant: string,
  conversations: readonly { id: string; key?: string; keyScope?: string }[],
): Promise<StoredConversation[]> {
  if (conversations.length === 0) return []
  return tx.$queryRaw<StoredConversation[]>`
    WITH x AS (
      SELECT x.id, x.key, coalesce(x."keyScope", '') AS scope
      FROM jsonb_to_recordset(${JSON.stringify(conversations)}::jsonb) AS x(id text, key text, "keyScope" text))
    SELECT c.id, j.last_seq AS "lastSeq", c.created_at AS "createdAt", c.key, c.key_scope AS "keyScope",
           (SELECT i.id FROM transfer i WHERE i.tenant = ${tenant}::text AND i.conversation_id = c.id
              AND i.state = 'RUNNING' AND i.direction = 'IMPORT') AS "importId"
    FROM conversation c JOIN journal j ON j.conversation_id = c.id
    WHERE c.tenant = ${tenant}::text AND c.id IN (
      SELECT x.id FROM x UNION
      SELECT o.id FROM x JOIN conversation o ON o.tenant = ${tenant}::text AND o.key = x.key AND o.key_scope = x.scope)`
}
