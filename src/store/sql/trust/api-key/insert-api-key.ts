// Inserts an API key, unless the tenant has an unrevoked key with the same name (index api_key_name).

import type { Tx } from '../../../db/db.ts'
import { API_KEY_COLUMNS, type ApiKeyRow } from './api-key-columns.ts'

export type NewApiKey = Pick<
  ApiKeyRow,
  'id' | 'tenant' | 'name' | 'actor' | 'kind' | 'rights' | 'conversations' | 'expiresAt'
> & { secretHash: Buffer }

/** Returns the key; null if the name is taken. */
export async function insertApiKey(db: Tx, key: NewApiKey): Promise<ApiKeyRow | null> {
  const { id, tenant, name, actor, kind, rights, conversations, expiresAt, secretHash } = key
  const [row = null] = await db.$queryRaw<ApiKeyRow[]>`
    INSERT INTO api_key (id, tenant, name, actor, kind, rights, conversations, expires_at, secret_hash)
    VALUES (${id}::text, ${tenant}::text, ${name}::text, ${actor}::text, ${kind}::participant_kind,
            ${rights}::text[], ${conversations}::text[], ${expiresAt}::timestamptz, ${secretHash}::bytea)
    ON CONFLICT (tenant, name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING ${API_KEY_COLUMNS}`
  return row
}
