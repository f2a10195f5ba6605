// Revokes an API key, by its primary key.

import type { Tx } from '../../../db/db.ts'
import { API_KEY_COLUMNS, type ApiKeyRow } from './api-key-columns.ts'

/** Returns the key; null if it does not exist. Revoking a key again changes nothing. */
export async function revokeApiKey(db: Tx, tenant: string, id: string): Promise<ApiKeyRow | null> {
  const [row = null] = await db.$queryRaw<ApiKeyRow[]>`
    UPDATE api_key SET revoked_at = coalesce(revoked_at, now()), previous_hash = NULL, previous_until = NULL
    WHERE id = ${id}::text AND tenant = ${tenant}::text
    RETURNING ${API_KEY_COLUMNS}`
  return row
}
