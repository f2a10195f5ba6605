// Statements that delete shared state, and what a user wrote into it. The transaction has locked the journal.

import type { Tx } from '../../../db/db.ts'
import type { SharedStateRow, StateKey } from '../../conversation/shared-state/read-shared-states.ts'

/** Deletes a state that exists, and the patches and hashes of its changes. Returns its last version and its audience. */
export async function deleteState(
  tx: Tx,
  { conversationId, key }: StateKey,
): Promise<Pick<SharedStateRow, 'version' | 'audience'>> {
  await tx.$executeRaw`
    UPDATE shared_state_change c SET patch = NULL, client_hash = NULL
    WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text
      AND (c.patch IS NOT NULL OR c.client_hash IS NOT NULL)`
  const [deleted] = await tx.$queryRaw<[Pick<SharedStateRow, 'version' | 'audience'>]>`
    DELETE FROM shared_state s WHERE s.conversation_id = ${conversationId}::text AND s.key = ${key}::text
    RETURNING s.version, s.audience`
  return deleted
}

/** The actors who changed the key. */
export async function readWriters(tx: Tx, { conversationId, key }: StateKey): Promise<string[]> {
  const rows = await tx.$queryRaw<{ actor: string }[]>`
    SELECT DISTINCT c.actor FROM shared_state_change c
    WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text`
  return rows.map(({ actor }) => actor)
}

/** `own`: keys that only the user has changed or sees. `changed`: other keys that the user has changed. */
export async function readKeysOfUser(
  tx: Tx,
  conversationId: string,
  user: string,
): Promise<{ own: string[]; changed: string[] }> {
  const rows = await tx.$queryRaw<{ key: string; isOwn: boolean }[]>`
    SELECT s.key, coalesce(s.sole_writer = ${user}::text, false) OR coalesce(s.audience = ARRAY[${user}::text], false) AS "isOwn"
    FROM shared_state s
    WHERE s.conversation_id = ${conversationId}::text AND (
      s.sole_writer = ${user}::text OR s.audience = ARRAY[${user}::text] OR EXISTS (
        SELECT FROM shared_state_change c
        WHERE c.conversation_id = ${conversationId}::text AND c.key = s.key AND c.actor = ${user}::text))
    ORDER BY s.key`
  const keysOf = (isOwn: boolean) => rows.filter((row) => row.isOwn === isOwn).map(({ key }) => key)
  return { own: keysOf(true), changed: keysOf(false) }
}

/** Deletes the patches and hashes of the user's changes. Returns the number of changes that had any. */
export const erasePatchesOf = (tx: Tx, conversationId: string, user: string): Promise<number> =>
  tx.$executeRaw`
    UPDATE shared_state_change c SET patch = NULL, client_hash = NULL
    WHERE c.conversation_id = ${conversationId}::text AND c.actor = ${user}::text
      AND (c.patch IS NOT NULL OR c.client_hash IS NOT NULL)`
