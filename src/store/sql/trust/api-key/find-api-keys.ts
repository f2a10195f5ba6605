// Finds API keys by their ids and the hashes of their secrets (prisma/functions/find_api_keys.sql), to authenticate
// requests. The tenant of the request is not known yet, so the function runs as colloquy_system, and this statement as
// colloquy_app without a tenant.

import { NO_TENANT } from '../../../db/scope.ts'
import type { Pool } from '../../../db/tenant-pool.ts'
import type { ApiKeyRow } from './api-key-columns.ts'

/** The credentials that a client presents: the id of a key, and the SHA-256 of a secret. */
export type PresentedKey = { keyId: string; secretHash: Buffer }

/** A key whose secret was presented. Its expiry is that of the secret: after a rotation, the previous one ends earlier. */
export type FoundApiKey = Pick<
  ApiKeyRow,
  'id' | 'tenant' | 'actor' | 'kind' | 'rights' | 'conversations' | 'expiresAt' | 'revokedAt' | 'lastUsedAt'
>

/** Returns the key of each index of `presented` that exists and has the secret, by one look-up of the primary key. */
export async function findApiKeys(pool: Pool, presented: readonly PresentedKey[]): Promise<Map<number, FoundApiKey>> {
  const { rows } = await pool.query<FoundApiKey & { index: number }>({
    scope: NO_TENANT,
    name: 'find-api-keys',
    text: `SELECT place AS index, id, tenant, actor, kind, rights, conversations, expires_at AS "expiresAt",
                  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"
           FROM find_api_keys($1::text[], $2::bytea[])`,
    values: [presented.map(({ keyId }) => keyId), presented.map(({ secretHash }) => secretHash)],
  })
  return new Map(rows.map(({ index, ...key }) => [index, key]))
}
