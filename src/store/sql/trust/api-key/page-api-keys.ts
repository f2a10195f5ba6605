// Reads a page of a tenant's API keys, newest first, by the index api_key_created.

import type { Tx } from '../../../db/db.ts'
import { empty, raw, sql } from '../../kernel/sql.ts'
import { API_KEY_COLUMNS, type ApiKeyRow } from './api-key-columns.ts'

/** A position in the list. */
export type ApiKeyPosition = Pick<ApiKeyRow, 'createdAt' | 'id'>

type PageOfKeys = {
  /** Null for all keys. */
  id: string | null
  after: ApiKeyPosition | null
  before: ApiKeyPosition | null
  limit: number
  /** Whether the last keys between the positions are read, in reverse order, and not the first ones. */
  backwards: boolean
}

/** Revoked and expired keys are included. */
export function pageApiKeys(
  db: Tx,
  tenant: string,
  { id, after, before, limit, backwards }: PageOfKeys,
): Promise<ApiKeyRow[]> {
  const direction = raw(backwards ? 'ASC' : 'DESC')
  return db.$queryRaw<ApiKeyRow[]>`
    SELECT ${API_KEY_COLUMNS} FROM api_key
    WHERE tenant = ${tenant}::text
      ${id ? sql`AND id = ${id}::text` : empty}
      ${after ? sql`AND (created_at, id) < (${after.createdAt}::timestamptz, ${after.id}::text)` : empty}
      ${before ? sql`AND (created_at, id) > (${before.createdAt}::timestamptz, ${before.id}::text)` : empty}
    ORDER BY created_at ${direction}, id ${direction}
    LIMIT ${limit}::integer`
}
