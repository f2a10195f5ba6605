// Statements that delete shared state, and what a user wrote into it. The transaction has locked the journal.

import type { Tx } from '../../../db/db.ts'
import type { SharedStateRow, StateKey } from '../../conversation/shared-state/read-shared-states.ts'

/**
 * Deletes a state that exists, and the content of its changes: patches, hashes, and values kept under a legal hold. Reads
 * only the changes since its creation. Returns its last version and its audience.
 */
export async function deleteState(
  tx: Tx,
  { conversationId, key }: StateKey,
): Promise<Pick<SharedStateRow, 'version' | 'audience'>> {
  const [{ firstVersion, ...deleted }] = await tx.$queryRaw<
    [Pick<SharedStateRow, 'version' | 'audience'> & { firstVersion: number }]
  >`
    DELETE FROM shared_state s WHERE s.conversation_id = ${conversationId}::text AND s.key = ${key}::text
    RETURNING s.version, s.audience, s.first_version AS "firstVersion"`
  await tx.$executeRaw`
    UPDATE shared_state_change c SET patch = NULL, replaced = NULL, client_hash = NULL
    WHERE c.conversation_id = ${conversationId}::text AND c.key = ${key}::text AND c.version >= ${firstVersion}::integer
      AND (c.patch IS NOT NULL OR c.replaced IS NOT NULL OR c.client_hash IS NOT NULL)`
  return deleted
}

/** `own`: keys that only the user has changed or sees. `changed`: other keys that the user has changed. */
export async function readKeysOfUser(
  tx: Tx,
  conversationId: string,
  user: string,
): Promise<{ own: string[]; changed: string[] }> {
  const rows = await tx.$queryRaw<{ key: string; isOwn: boolean }[]>`
    SELECT s.key, s.writers = ARRAY[${user}::text] OR coalesce(s.audience = ARRAY[${user}::text], false) AS "isOwn"
    FROM shared_state s
    WHERE s.conversation_id = ${conversationId}::text
      AND (${user}::text = ANY (s.writers) OR s.audience = ARRAY[${user}::text])
    ORDER BY s.key`
  const keysOf = (isOwn: boolean) => rows.filter((row) => row.isOwn === isOwn).map(({ key }) => key)
  return { own: keysOf(true), changed: keysOf(false) }
}

/**
 * Deletes the patches and hashes of the user's changes, and the values of the keys that were kept under a legal hold,
 * unless another actor who changed the key is still under one. Uses the indexes of patches, replaced values and client
 * ids, so it does not read all changes of the conversation. Returns the number of changes that had any.
 * @param keys the present keys that the user has changed; the changes of deleted keys have only client ids
 */
export const eraseChangesOf = (
  tx: Tx,
  conversationId: string,
  user: string,
  keys: readonly string[],
): Promise<number> =>
  tx.$executeRaw`
    WITH released AS MATERIALIZED (
      SELECT s.key FROM shared_state s
      WHERE s.conversation_id = ${conversationId}::text AND s.key = ANY (${keys}::text[]) AND NOT EXISTS (
        SELECT FROM held_user h WHERE h.tenant = s.tenant AND h.user_id = ANY (s.writers))
    ), found AS MATERIALIZED (
      SELECT c.seq FROM shared_state_change c
      WHERE c.conversation_id = ${conversationId}::text AND c.key = ANY (${keys}::text[]) AND c.actor = ${user}::text
        AND c.patch IS NOT NULL
      UNION
      SELECT c.seq FROM released r JOIN shared_state_change c ON c.key = r.key
      WHERE c.conversation_id = ${conversationId}::text AND c.replaced IS NOT NULL
      UNION
      SELECT c.seq FROM shared_state_change c
      WHERE c.conversation_id = ${conversationId}::text AND c.actor = ${user}::text AND c.client_id IS NOT NULL
        AND c.client_hash IS NOT NULL)
    UPDATE shared_state_change c
    SET patch = CASE WHEN c.actor <> ${user}::text THEN c.patch END,
        client_hash = CASE WHEN c.actor <> ${user}::text THEN c.client_hash END,
        replaced = CASE WHEN c.key NOT IN (SELECT r.key FROM released r) THEN c.replaced END
    FROM found f WHERE c.conversation_id = ${conversationId}::text AND c.seq = f.seq`
