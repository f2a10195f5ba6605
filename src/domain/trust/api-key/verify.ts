// Verifies the tokens of API keys against the database, and records when a key was used.

import type { Pool } from '../../../store/db/tenant-pool.ts'
import { auditRecord, type AuditRecord } from '../../kernel/audit/line.ts'
import type { Log, Platform } from '../../kernel/platform.ts'
import type { Principal } from '../../kernel/rights/principal.ts'
import { markApiKeyUsed } from '../../../store/sql/trust/api-key/mark-api-key-used.ts'
import type { FoundApiKey } from '../../../store/sql/trust/api-key/find-api-keys.ts'
import { createLookUp } from './look-up.ts'
import { credentialOf, principalOf, type Token, type TokenProblem } from './token.ts'

/** Minimum time between two updates of a key's `lastUsedAt`, ms. */
const USE_MS = 60_000

type Deps = Pick<Platform, 'clock' | 'reads'> & { pool: Pool; log: Log }

/** The result for a token that authenticates no principal. */
export type RefusedToken = {
  problem: TokenProblem
  /** Record of the use for the audit log, if the token belongs to a revoked or expired key; otherwise null. */
  record: AuditRecord | null
}
export type VerifyToken = (token: Token) => Promise<Principal | RefusedToken>

const wasUsedRecently = ({ lastUsedAt }: FoundApiKey, now: number) =>
  lastUsedAt !== null && now - lastUsedAt.getTime() < USE_MS

/** Returns the audit record for the use of a revoked or expired key. */
const useOfEnded = ({ tenant, actor, id }: FoundApiKey, problem: TokenProblem): AuditRecord => ({
  ...auditRecord({ tenant, actor }, 'authenticate', [id], {
    outcome: 'DENIED',
    details: { reason: problem.toLowerCase() },
  }),
  credential: credentialOf(id),
})

/**
 * Returns a function that verifies a token by one indexed look-up. It rejects with Unavailable if too many look-ups
 * wait, or with the error of the database.
 */
export function createVerifier({ clock, reads, pool, log }: Deps): VerifyToken {
  const lookUp = createLookUp(reads.pool)
  return async (token) => {
    const key = await lookUp(token)
    const now = clock.Date.now()
    const principal = principalOf(key, now)
    if (typeof principal === 'string') {
      return { problem: principal, record: key && principal !== 'UNKNOWN' ? useOfEnded(key, principal) : null }
    }
    if (key && !wasUsedRecently(key, now)) {
      markApiKeyUsed(pool, key).catch((err: unknown) => log.warn({ err }, 'could not record the use of an API key'))
    }
    return principal
  }
}
