// Finds API keys by their ids, with the hashes of their secrets, to authenticate requests. It runs before the tenant of
// the request is known, so it is the only statement about keys that does not name a tenant.

import { SYSTEM } from '../../scope.ts'
import type { Pool } from '../../tenant-pool.ts'
import { sql } from '../sql.ts'
import { API_KEY_COLUMNS, type ApiKeyRow } from './api-key-columns.ts'

export type StoredApiKey = ApiKeyRow & {
  /** SHA-256 of the secret. */
  secretHash: Buffer
  /** SHA-256 of the secret before the last rotation, which is valid until `previousUntil`. Both null for none. */
  previousHash: Buffer | null
  previousUntil: Date | null
}

const BY_ID = sql`
  SELECT ${API_KEY_COLUMNS}, secret_hash AS "secretHash", previous_hash AS "previousHash",
         previous_until AS "previousUntil"
  FROM api_key WHERE id = ANY ($1::text[])`.text

/** Returns the keys that exist, in any order, by one look-up of the primary key for each id. */
export async function findApiKeys(pool: Pool, ids: readonly string[]): Promise<StoredApiKey[]> {
  return (await pool.query<StoredApiKey>({ scope: SYSTEM, name: 'find-api-keys', text: BY_ID, values: [ids] })).rows
}
