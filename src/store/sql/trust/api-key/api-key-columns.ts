// The columns of an API key that the API returns. Only find-api-keys.ts reads the hashes of its secrets.

import type { ParticipantKind } from '../../../generated/enums.ts'
import { raw } from '../../kernel/sql.ts'

export type ApiKeyRow = {
  id: string
  tenant: string
  name: string
  actor: string
  kind: ParticipantKind
  rights: string[]
  /** Ids of the only conversations that the key gives access to; null for all conversations of the tenant. */
  conversations: string[] | null
  /** 1 when created, one more after each rotation. */
  version: number
  createdAt: Date
  /** Null for never. */
  expiresAt: Date | null
  revokedAt: Date | null
  /** To the minute. Null if the key was never used. */
  lastUsedAt: Date | null
}

/** SELECT list of an API key, without its hashes. */
export const API_KEY_COLUMNS = raw(`id, tenant, name, actor, kind::text AS kind, rights, conversations, version,
  created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"`)
