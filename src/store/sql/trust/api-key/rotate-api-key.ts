// Replaces the secret of an API key, by its primary key. Atomic: of two concurrent rotations, one finds another
// version.

import type { Tx } from '../../../db/db.ts'
import { API_KEY_COLUMNS, type ApiKeyRow } from './api-key-columns.ts'

/**
 * Returns the key; null if it does not exist, is revoked, or has another version. The previous secret stays valid for
 * `overlapSeconds`; 0: it is no longer valid.
 */
export async function rotateApiKey(
  db: Tx,
  tenant: string,
  {
    id,
    version,
    secretHash,
    overlapSeconds,
  }: { id: string; version: number; secretHash: Buffer; overlapSeconds: number },
): Promise<ApiKeyRow | null> {
  const [row = null] = await db.$queryRaw<ApiKeyRow[]>`
    UPDATE api_key
    SET secret_hash = ${secretHash}::bytea, version = version + 1,
        previous_hash = CASE WHEN ${overlapSeconds}::integer > 0 THEN secret_hash END,
        previous_until = CASE WHEN ${overlapSeconds}::integer > 0
                              THEN now() + make_interval(secs => ${overlapSeconds}::integer) END
    WHERE id = ${id}::text AND tenant = ${tenant}::text AND version = ${version}::integer AND revoked_at IS NULL
    RETURNING ${API_KEY_COLUMNS}`
  return row
}
