// Verifies the tokens of API keys against the database, and records when a key was used.

import type { Pool } from '../../store/tenant-pool.ts'
import type { Log, Platform } from '../platform.ts'
import type { Principal } from '../principal.ts'
import { markApiKeyUsed } from '../../store/sql/api-key/mark-api-key-used.ts'
import type { StoredApiKey } from '../../store/sql/api-key/find-api-keys.ts'
import { createLookUp } from './look-up.ts'
import { principalOf, type Token, type TokenProblem } from './token.ts'

/** Minimum time between two records of a key's use, ms. */
const USE_MS = 60_000

type Deps = Pick<Platform, 'reads'> & { pool: Pool; log: Log }

export type VerifyToken = (token: Token) => Promise<Principal | TokenProblem>

const wasUsedRecently = ({ lastUsedAt }: StoredApiKey, now: number) =>
  lastUsedAt !== null && now - lastUsedAt.getTime() < USE_MS

/**
 * Returns a function that verifies a token by one indexed look-up. It rejects with Unavailable if too many wait, or
 * with the error of the database.
 */
export function createVerifier({ reads, pool, log }: Deps): VerifyToken {
  const lookUp = createLookUp(reads.pool)
  return async (token) => {
    const key = await lookUp(token.keyId)
    const now = Date.now()
    const principal = principalOf(key, token.secretHash, now)
    if (key && typeof principal !== 'string' && !wasUsedRecently(key, now)) {
      markApiKeyUsed(pool, key).catch((err: unknown) => log.warn({ err }, 'the use of an API key was not recorded'))
    }
    return principal
  }
}
