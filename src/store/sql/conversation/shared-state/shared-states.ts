// Reads and writes one key of the shared state inside a transaction that has locked the journal, and the changes of keys,
// each of which belongs to a journal entry.

import type { Pool } from '../../../db/tenant-pool.ts'
import type { Tx } from '../../../db/db.ts'
import { named, sql } from '../../kernel/sql.ts'
import { STATE_COLUMNS, type SharedStateRow, type StateKey } from './read-shared-states.ts'

/** The state of the key, regardless of views; null if there is none. */
export async function readStoredState(tx: Tx, { conversationId, key }: StateKey): Promise<SharedStateRow | null> {
  const rows = await tx.$queryRaw<SharedStateRow[]>`
    ${named('read-stored-state')}
    SELECT ${STATE_COLUMNS} FROM shared_state s
    WHERE s.conversation_id = ${conversationId}::text AND s.key = ${key}::text`
  return rows[0] ?? null
}

/** The number of other keys of the conversation, and the size of their values in bytes of JSON. */
export async function readStateUsage(
  tx: Tx,
  { conversationId, key }: StateKey,
): Promise<{ keys: number; bytes: number }> {
  const [usage] = await tx.$queryRaw<[{ keys: number; bytes: number }]>`
    ${named('read-state-usage')}
    SELECT count(*)::integer AS keys, coalesce(sum(s.bytes), 0)::integer AS bytes FROM shared_state s
    WHERE s.conversation_id = ${conversationId}::text AND s.key <> ${key}::text`
  return usage
}

/** `printed`: the value as JSON. */
export type WrittenState = StateKey
  & Pick<SharedStateRow, 'version' | 'schema' | 'audience'> & { printed: string; actor: string }

/** Writes the state of the key, and returns it. `sole_writer` becomes null once a second actor changes the key. */
export async function writeState(tx: Tx, given: WrittenState): Promise<SharedStateRow> {
  const { conversationId, key, version, schema, audience, printed, actor } = given
  const [row] = await tx.$queryRaw<[SharedStateRow]>`
    ${named('write-state')}
    INSERT INTO shared_state AS s (conversation_id, key, value, version, schema, audience, bytes, sole_writer, updated_by,
                                   created_at, updated_at)
    SELECT ${conversationId}::text, ${key}::text, ${printed}::json, ${version}::integer,
           ${schema === null ? null : JSON.stringify(schema)}::json, ${audience}::text[],
           ${Buffer.byteLength(printed)}::integer, ${actor}::text, ${actor}::text, t.at, t.at
    FROM (SELECT clock_timestamp() AS at) t
    ON CONFLICT (conversation_id, key) DO UPDATE
    SET value = excluded.value, version = excluded.version, schema = excluded.schema, bytes = excluded.bytes,
        sole_writer = CASE WHEN s.sole_writer = excluded.sole_writer THEN s.sole_writer END,
        updated_by = excluded.updated_by, updated_at = excluded.updated_at
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

/** `clientHash`: digest of the content of the call; null without a clientId. */
export type WrittenChange = StateChangeRow & { clientId: string | null; clientHash: string | null }

/** Writes the change, and drops the patches of the key's changes before the newest `kept`. */
export async function writeChange(tx: Tx, conversationId: string, given: WrittenChange, kept: number): Promise<void> {
  const { seq, key, version, actor, audience, deleted, patch, clientId, clientHash } = given
  await tx.$executeRaw`
    ${named('write-state-change')}
    INSERT INTO shared_state_change (conversation_id, seq, key, version, actor, audience, deleted, patch, client_id,
                                     client_hash)
    VALUES (${conversationId}::text, ${seq}::integer, ${key}::text, ${version}::integer, ${actor}::text,
            ${audience}::text[], ${deleted}::boolean, ${patch === null ? null : JSON.stringify(patch)}::json,
            ${clientId}::text, ${clientHash}::text)`
  if (version > kept) {
    await tx.$executeRaw`
      ${named('drop-old-patches')}
      UPDATE shared_state_change c SET patch = NULL
      WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text AND c.patch IS NOT NULL
        AND c.version <= ${version - kept}::integer`
  }
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
