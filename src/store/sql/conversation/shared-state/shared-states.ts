// Reads and writes one key of the shared state inside a transaction that has locked the journal, and the changes of keys,
// each of which belongs to a journal entry.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Tx } from '../../../db/db.ts'
import { named, sql } from '../../kernel/sql.ts'
import { STATE_COLUMNS, type SharedStateRow, type StateKey } from './read-shared-states.ts'

/** A state, and the actors who have changed it: the first one created it. */
export type StoredState = { state: SharedStateRow; writers: string[] }

/** The state of the key, regardless of views; null if there is none. */
export async function readStoredState(tx: Tx, { conversationId, key }: StateKey): Promise<StoredState | null> {
  const rows = await tx.$queryRaw<(SharedStateRow & { writers: string[] })[]>`
    ${named('read-stored-state')}
    SELECT ${STATE_COLUMNS}, s.writers FROM shared_state s
    WHERE s.conversation_id = ${conversationId}::text AND s.key = ${key}::text`
  if (!rows[0]) return null
  const { writers, ...state } = rows[0]
  return { state, writers }
}

/** The version of the newest change of a key that may have been deleted; 0 without one. */
export async function readNewestVersion(tx: Tx, { conversationId, key }: StateKey): Promise<number> {
  const rows = await tx.$queryRaw<{ version: number }[]>`
    ${named('read-newest-state-version')}
    SELECT c.version FROM shared_state_change c
    WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text ORDER BY c.version DESC LIMIT 1`
  return rows[0]?.version ?? 0
}

/** The number of other keys of the conversation, the size of their values, and that of the key; null if it is new. */
type StateUsage = { otherKeys: number; otherBytes: number; bytes: number | null }

/** How much of its limits the state of the conversation uses. Sizes are in bytes of JSON. */
export async function readStateUsage(tx: Tx, { conversationId, key }: StateKey): Promise<StateUsage> {
  const [usage] = await tx.$queryRaw<[StateUsage]>`
    ${named('read-state-usage')}
    SELECT (count(*) FILTER (WHERE s.key <> ${key}::text))::integer AS "otherKeys",
           coalesce(sum(s.bytes) FILTER (WHERE s.key <> ${key}::text), 0)::integer AS "otherBytes",
           max(s.bytes) FILTER (WHERE s.key = ${key}::text) AS bytes
    FROM shared_state s WHERE s.conversation_id = ${conversationId}::text`
  return usage
}

/** `printed`: the value as JSON. `actor`: one of the writers, who makes the change. */
export type WrittenState = StateKey
  & Pick<SharedStateRow, 'version' | 'schema' | 'audience'> & { printed: string; actor: string; writers: string[] }

/** Writes the state of the key, and returns it. */
export async function writeState(tx: Tx, given: WrittenState): Promise<SharedStateRow> {
  const { conversationId, key, version, schema, audience, printed, actor, writers } = given
  const [row] = await tx.$queryRaw<[SharedStateRow]>`
    ${named('write-state')}
    INSERT INTO shared_state AS s (conversation_id, key, value, version, first_version, schema, audience, bytes, writers,
                                   updated_by, created_at, updated_at)
    SELECT ${conversationId}::text, ${key}::text, ${printed}::json, ${version}::integer, ${version}::integer,
           ${schema === null ? null : JSON.stringify(schema)}::json, ${audience}::text[],
           ${Buffer.byteLength(printed)}::integer, ${writers}::text[], ${actor}::text, t.at, t.at
    FROM (SELECT clock_timestamp() AS at) t
    ON CONFLICT (conversation_id, key) DO UPDATE
    SET value = excluded.value, version = excluded.version, schema = excluded.schema, bytes = excluded.bytes,
        writers = excluded.writers, updated_by = excluded.updated_by, updated_at = excluded.updated_at
    RETURNING ${STATE_COLUMNS}`
  return row
}

/** Marks the participants as addressed: from then on they are told apart when views are compared. */
export async function markAddressed(tx: Tx, conversationId: string, audience: readonly string[]): Promise<void> {
  await tx.participant.updateMany({
    where: { conversationId, actor: { in: [...audience] }, addressed: false },
    data: { addressed: true },
  })
}

/** Those of the actors who are present participants. */
export async function readPresentAmong(
  tx: Tx,
  conversationId: string,
  actors: readonly string[],
): Promise<Set<string>> {
  const where = { conversationId, actor: { in: [...actors] }, leftAt: null }
  const found = await tx.participant.findMany({ where, select: { actor: true } })
  return new Set(found.map(({ actor }) => actor))
}

/** A change of a key, with the entry `seq`. */
export type StateChangeRow = {
  seq: number
  key: string
  version: number
  actor: string
  audience: string[] | null
  deleted: boolean
  /** Operations of RFC 6902 that change the value of the version before; null if they are not kept. */
  patch: unknown[] | null
}

/**
 * `clientHash`: digest of the content of the call; null without a clientId. `keepsReplaced`: whether a legal hold requires
 * to keep the value that the change replaces.
 */
export type WrittenChange = StateChangeRow & {
  clientId: string | null
  clientHash: string | null
  keepsReplaced: boolean
}

/** Writes the change. Call it before the value is replaced. */
export async function writeChange(tx: Tx, conversationId: string, given: WrittenChange): Promise<void> {
  const { seq, key, version, actor, audience, deleted, patch, keepsReplaced, clientId, clientHash } = given
  await tx.$executeRaw`
    ${named('write-state-change')}
    INSERT INTO shared_state_change (conversation_id, seq, key, version, actor, audience, deleted, patch, replaced,
                                     client_id, client_hash)
    VALUES (${conversationId}::text, ${seq}::integer, ${key}::text, ${version}::integer, ${actor}::text,
            ${audience}::text[], ${deleted}::boolean, ${patch === null ? null : JSON.stringify(patch)}::json,
            (SELECT s.value FROM shared_state s
             WHERE ${keepsReplaced}::boolean AND s.conversation_id = ${conversationId}::text AND s.key = ${key}::text),
            ${clientId}::text, ${clientHash}::text)`
}

/**
 * Drops the patches of the key's changes up to the version, and all values that changes replaced under a legal hold. Uses
 * the indexes shared_state_change_patch and shared_state_change_replaced.
 */
export async function dropOldContent(
  tx: Tx,
  { conversationId, key, version }: StateKey & { version: number },
): Promise<void> {
  if (version > 0) {
    await tx.$executeRaw`
      ${named('drop-old-patches')}
      UPDATE shared_state_change c SET patch = NULL
      WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text AND c.patch IS NOT NULL
        AND c.version <= ${version}::integer`
  }
  await tx.$executeRaw`
    ${named('drop-replaced-values')}
    UPDATE shared_state_change c SET replaced = NULL
    WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text AND c.replaced IS NOT NULL`
}

/** A change by the actor with this clientId. */
export type StateTwin = Pick<WrittenChange, 'seq' | 'key' | 'version' | 'clientHash'>

/** The change that an earlier call with the clientId made; null for none. Uses the index shared_state_change_client. */
export async function findChange(
  tx: Tx,
  { conversationId, actor, clientId }: { conversationId: string; actor: string; clientId: string },
): Promise<StateTwin | null> {
  const rows = await tx.$queryRaw<StateTwin[]>`
    ${named('find-state-change')}
    SELECT c.seq, c.key, c.version, c.client_hash AS "clientHash" FROM shared_state_change c
    WHERE c.conversation_id = ${conversationId}::text AND c.actor = ${actor}::text AND c.client_id = ${clientId}::text`
  return rows[0] ?? null
}

const OF_JOURNAL = sql`
  SELECT c.seq, c.key, c.version, c.actor, c.audience, c.deleted, c.patch FROM shared_state_change c
  WHERE c.conversation_id = $1::text AND c.seq = ANY ($2::integer[])`.text

/** The changes of the entries, by seq, for the journal; the caller applies the view of each reader. */
export async function readChangesOfJournal(
  pool: Pool,
  tenant: string,
  conversationId: string,
  seqs: readonly number[],
): Promise<Map<number, StateChangeRow>> {
  const { rows } = await pool.query<StateChangeRow>({
    scope: tenant,
    name: 'journal-state-changes',
    text: OF_JOURNAL,
    values: [conversationId, seqs],
  })
  return new Map(rows.map((row) => [row.seq, row]))
}
